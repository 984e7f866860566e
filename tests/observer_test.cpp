// The observer of a sweep: each line with its cotangent and what it passed on.
#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/errors.hpp"

namespace {

using namespace xtape;
using Values = std::vector<double>;

/// What an observer was told about one line.
struct Seen {
  std::int64_t line;
  double cotangent;
  std::vector<std::pair<std::int64_t, double>> passed;

  friend bool operator==(const Seen& a, const Seen& b) {
    return a.line == b.line && a.cotangent == b.cotangent && a.passed == b.passed;
  }
};

Sweep<double> watching(std::vector<Seen>& seen, Record record = Record::no) {
  return Sweep<double>(record, [&seen](std::int64_t line, In<double> cotangent,
                                       const std::vector<Contribution<double>>& passed) {
    Seen entry{line, cotangent.item(), {}};
    for (const auto& to : passed) entry.passed.emplace_back(to.line, to.cotangent.item());
    seen.push_back(entry);
  });
}

}  // namespace

TEST_CASE("an observer sees each line once from the target back") {
  Tape<double> tape;
  const auto x = tape.variable(2);  // line 0
  const auto square = x * x;        // 1
  const auto triple = 3 * x;        // 2
  const auto y = square + triple;   // 3
  std::vector<Seen> seen;
  CHECK(tape.gradient(y, x, watching(seen)).item() == 7);
  const std::vector<Seen> expected{
      {3, 1, {{1, 1}, {2, 1}}}, {2, 1, {{0, 3}}}, {1, 1, {{0, 2}, {0, 2}}}, {0, 7, {}}};
  CHECK(seen == expected);
}

TEST_CASE("an observed cotangent is the sum of what its paths contributed") {
  Tape<double> tape;
  const auto x = tape.variable(2);
  const auto y = exp(x);
  const auto z = x * y + y / x + y;
  std::map<std::int64_t, double> sums;
  std::map<std::int64_t, int> paths;
  bool equal = true;
  const Sweep<double> sweep(Record::no, [&](std::int64_t line, In<double> g, const auto& passed) {
    if (line != tape.line(z)) equal = equal && sums[line] == g.item();
    for (const auto& to : passed) {
      sums[to.line] += to.cotangent.item();
      ++paths[to.line];
    }
  });
  tape.gradient(z, x, sweep);
  CHECK(equal);
  CHECK(paths[tape.line(y)] == 3);  // x y, y / x, y
  CHECK(paths[tape.line(x)] == 3);  // x y, y / x, exp(x)
}

TEST_CASE("an observer sees contributions in the shape of their line") {
  Tape<double> tape;
  const auto b = tape.variable(Tensor<double>{{1}, {2}});
  const auto y = sum(b + Tensor<double>::zeros({3, 2, 4}));
  Shape passed_shape;
  const Sweep<double> sweep(Record::no, [&](std::int64_t, In<double>, const auto& passed) {
    for (const auto& to : passed)
      if (to.line == 0) passed_shape = to.cotangent.shape();
  });
  CHECK(tape.gradient(y, b, sweep).values() == Values{12, 12});
  CHECK(passed_shape == Shape{2, 1});
}

TEST_CASE("an observer does not see lines that carry no cotangent") {
  Tape<double> tape;
  const auto x = tape.variable(2);
  const auto aside = x * x;         // 1: the target does not depend on it
  const auto w = tape.variable(5);  // 2: not asked for
  const auto y = w * w * x;         // 3, 4
  static_cast<void>(aside);
  std::vector<Seen> seen;
  CHECK(tape.gradient(y, x, watching(seen)).item() == 25);
  const std::vector<Seen> expected{{4, 1, {{0, 25}}}, {0, 25, {}}};
  CHECK(seen == expected);
}

TEST_CASE("an observer of a vjp is given the seed at the target") {
  Tape<double> tape;
  const auto x = tape.variable(2);
  const auto y = x * 3;
  std::vector<Seen> seen;
  tape.vjp(y, 10, x, watching(seen));
  CHECK(seen == std::vector<Seen>{{1, 10, {{0, 30}}}, {0, 30, {}}});
}

TEST_CASE("a recorded sweep can be observed too") {
  Tape<double> tape;
  const auto x = tape.variable(2);
  const auto y = x * x * x;
  std::vector<Seen> seen;
  const auto slope = tape.gradient(y, x, watching(seen, Record::yes));
  CHECK(seen.size() == 3);
  CHECK(seen.back() == Seen{0, 12, {}});
  CHECK(tape.gradient(slope, x).item() == 12);
}

TEST_CASE("cotangents are constants to an observer of a sweep that is not recorded") {
  Tape<double> tape;
  const auto x = tape.variable(2);
  const auto y = x * x;
  bool recorded = false;
  const Sweep<double> sweep(Record::no, [&](std::int64_t, In<double> g, const auto&) {
    recorded = recorded || is_recorded(g * x);
  });
  tape.gradient(y, x, sweep);
  CHECK(!recorded);
  CHECK(tape.size() == 2);
}

TEST_CASE("an exception in an observer leaves the tape as it was") {
  Tape<double> tape;
  const auto x = tape.variable(3);
  const auto y = x * x;
  const Sweep<double> sweep(Record::no, [](std::int64_t, In<double>, const auto&) {
    throw std::runtime_error("seen enough");
  });
  CHECK(test::error_of<std::runtime_error>([&] { tape.gradient(y, x, sweep); }) == "seen enough");
  CHECK(is_recorded(x * x));
  CHECK(tape.gradient(y, x).item() == 6);
}

TEST_CASE("adjoints are dropped as the sweep passes their line") {
  // Every line makes a cotangent of its own; the observer holds each one and asks at the next line
  // whether anybody else still does.
  constexpr int kOps = 50;

  Tape<double> tape;
  const auto x = tape.variable(1);
  auto y = x * 1.5;
  for (int i = 1; i < kOps; ++i) y = y * 1.5;
  std::vector<Tensor<double>> held;
  int dropped = 0;
  const Sweep<double> sweep(Record::no, [&](std::int64_t, In<double> g, const auto&) {
    if (!held.empty()) dropped += held.back().raw()->references.load() == 1;
    held.push_back(g);
  });
  tape.gradient(y, x, sweep);
  CHECK(held.size() == kOps + 1);
  CHECK(dropped == kOps);
}

TEST_CASE("the adjoint of a line that was asked for is kept to the end") {
  Tape<double> tape;
  const auto x = tape.variable(2);
  const auto y = x * x;
  const auto z = y * 3;
  const auto [dz, dy, dx] = tape.gradient(z, z, y, x);
  CHECK(dz.item() == 1);
  CHECK(dy.item() == 3);
  CHECK(dx.item() == 12);
}

TEST_CASE("the observer sees the cotangent of every output of a joint op") {
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{1, 2});  // %0
  const auto parts = split(x, {1, 1}, 0);              // %1 and %2
  const auto target = sum(3 * parts[0]) + sum(5 * parts[1]);
  std::vector<double> seen(3, 0);
  std::vector<std::size_t> passed(3, 0);
  const Sweep<double> sweep(Record::no, [&](std::int64_t line, In<double> g, const auto& to) {
    if (line < 1 || line > 2) return;
    seen[static_cast<std::size_t>(line)] = g.item();
    passed[static_cast<std::size_t>(line)] = to.size();
  });
  tape.gradient(target, x, sweep);
  CHECK(seen[1] == 3);
  CHECK(seen[2] == 5);
  CHECK(passed[1] == 1);  // the op's first line passes on for all of them
  CHECK(passed[2] == 0);
}
