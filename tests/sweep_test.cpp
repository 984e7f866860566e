// The sweep: what gradient and vjp return, what they compute, and what they leave behind.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/errors.hpp"
#include "support/near.hpp"

namespace {

using namespace xtape;
using test::invalid;
using test::misuse;
using test::near;
using Values = std::vector<double>;

/// 2 x, counting the calls of its rule.
Tensor<double> counted(const Tensor<double>& x, int& calls) {
  return record<double>("counted", 2 * stop_gradient(x), {{x, [&calls](In<double> g) {
                                                             ++calls;
                                                             return 2 * g;
                                                           }}});
}

/// x, with a rule of the test's.
template <class Rule>
Tensor<double> with_rule(const Tensor<double>& x, Rule rule) {
  return record<double>("with_rule", stop_gradient(x), {{x, rule}});
}

}  // namespace

TEST_CASE("vjp is the gradient of the scalar product with the seed") {
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{1, 2, 3});
  const auto y = x * x;
  const Tensor<double> seed{1, 10, 100};
  CHECK(tape.vjp(y, seed, x).values() == Values{2, 40, 600});
  CHECK(tape.gradient(sum(y * seed), x).values() == Values{2, 40, 600});
  CHECK(tape.vjp(sum(y), 0.5, x).values() == Values{1, 2, 3});  // a number for a target of shape []
}

TEST_CASE("a seed must have exactly the shape of the target") {
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{1, 2, 3});
  CHECK(invalid([&] {
          tape.vjp(x * x, Tensor<double>{1, 1}, x);
        }) == "[vjp] seed f64[2] for target f64[3]: the shapes must be equal.");
  CHECK(invalid([&] { tape.vjp(x * x, 1, x); }) ==
        "[vjp] seed f64[] for target f64[3]: the shapes must be equal.");
  CHECK(invalid([&] { tape.vjp(sum(x), Tensor<double>{1}, x); }) ==
        "[vjp] seed f64[1] for target f64[]: the shapes must be equal.");
}

TEST_CASE("gradients come back in the form that they were asked in") {
  Tape<double> tape;
  const auto x = tape.variable(2), y = tape.variable(3);
  const std::vector<Tensor<double>> all_of_them{x, y};
  const auto z = x * x * y;
  using Pair = std::array<Tensor<double>, 2>;
  static_assert(std::is_same_v<decltype(tape.gradient(z, x)), Tensor<double>>);
  static_assert(std::is_same_v<decltype(tape.gradient(z, x, y)), Pair>);
  static_assert(std::is_same_v<decltype(tape.gradient(z, x, y, Record::yes)), Pair>);
  static_assert(
      std::is_same_v<decltype(tape.gradient(z, all_of_them)), std::vector<Tensor<double>>>);
  static_assert(std::is_same_v<decltype(tape.vjp(z, z, x, Record::yes)), Tensor<double>>);
  static_assert(std::is_same_v<decltype(std::move(tape).gradient(z, x, y)), Pair>);
  const auto g = tape.gradient(z, all_of_them);
  CHECK(g[0].item() == 12);
  CHECK(g[1].item() == 4);
  CHECK(tape.gradient(z, std::vector<Tensor<double>>{}).empty());
}

TEST_CASE("any line can be asked for, also the target and one line twice") {
  Tape<double> tape;
  const auto x = tape.variable(2);
  const auto y = x * x;
  const auto z = y * y;
  const auto [dz, dy, dx, again] = tape.gradient(z, z, y, x, x);
  CHECK(dz.item() == 1);
  CHECK(dy.item() == 8);
  CHECK(dx.item() == 32);
  CHECK(again.item() == 32);
}

TEST_CASE("gradients have exactly the shape of their variable") {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{1, 1}, Shape{3}, Shape{1, 3}, Shape{2, 1}}) {
    Tape<double> tape;
    const auto x = tape.variable(Tensor<double>::full(shape, 2));
    const auto y = sum(x * Tensor<double>{{1, 2, 3}, {4, 5, 6}});
    const auto g = tape.gradient(y, x);
    CHECK(g.shape() == shape);
    CHECK(sum(g).item() == 21);  // the sum of all factors, however they are shared out
  }
}

TEST_CASE("only rules between the variables and the target are called") {
  Tape<double> tape;
  int before = 0, aside = 0, constant = 0, between = 0, behind = 0;
  const auto x = tape.variable(1);
  const auto early = counted(x, before);
  const auto v = tape.variable(2);
  const auto other = counted(tape.variable(3), aside);
  const auto fixed = counted(Tensor<double>(4), constant);
  const auto y = counted(v, between) * early + other * fixed;
  counted(y, behind);
  CHECK(tape.gradient(y, v).item() == 4);  // 2 early
  CHECK(before == 0);
  CHECK(aside == 0);
  CHECK(constant == 0);
  CHECK(between == 1);
  CHECK(behind == 0);
}

TEST_CASE("a sweep that is not recorded adds no line") {
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{1, 2});
  const auto y = sum(exp(x) * x / sqrt(x));
  const auto lines = tape.size();
  const auto g = tape.gradient(y, x);
  CHECK(tape.size() == lines);
  CHECK(tape.gradient(y, x).values() == g.values());
  CHECK(tape.size() == lines);
  (void)(g * x);
  CHECK(tape.node(lines).inputs[0].line == -1);  // the gradient is a constant
}

TEST_CASE("a recorded gradient can be differentiated again and again") {
  Tape<double> tape;
  const auto x = tape.variable(3);
  const auto y = x * x * x * x;
  const auto first = tape.gradient(y, x, Record::yes);
  const auto second = tape.gradient(first, x, Record::yes);
  const auto third = tape.gradient(second, x, Record::yes);
  CHECK(first.item() == 4 * 27);
  CHECK(second.item() == 12 * 9);
  CHECK(third.item() == 24 * 3);
  CHECK(tape.gradient(third, x).item() == 24);
}

TEST_CASE("recorded gradients of tanh follow its differential equation") {
  // y' = 1 - y^2, y'' = -2 y y', y''' = (1 - y^2) (6 y^2 - 2)
  Tape<double> tape;
  const auto x = tape.variable(0.3);
  const double y = std::tanh(0.3), slope = 1 - y * y;
  const auto first = tape.gradient(tanh(x), x, Record::yes);
  const auto second = tape.gradient(first, x, Record::yes);
  const auto third = tape.gradient(second, x);
  // Sums of a few terms of about their own size: 16 roundings are plenty.
  CHECK(near(first.item(), slope, 16 * test::kRounding));
  CHECK(near(second.item(), -2 * y * slope, 16 * test::kRounding));
  CHECK(near(third.item(), slope * (6 * y * y - 2), 16 * test::kRounding));
}

TEST_CASE("a recorded gradient can be part of the next target") {
  // L = x^3 + (dx^3/dx)^2 = x^3 + 9 x^4, dL/dx = 3 x^2 + 36 x^3
  Tape<double> tape;
  const auto x = tape.variable(2);
  const auto cube = x * x * x;
  const auto slope = tape.gradient(cube, x, Record::yes);
  const auto loss = cube + slope * slope;
  CHECK(loss.item() == 8 + 144);
  CHECK(tape.gradient(loss, x).item() == 12 + 288);
}

TEST_CASE("a consuming gradient gives the same numbers and clears the tape") {
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{0.5, 2});
  const auto y = sum(exp(x) * x);
  const auto kept = tape.gradient(y, x);
  const auto consumed = std::move(tape).gradient(y, x);
  CHECK(consumed.values() == kept.values());
  CHECK(tape.size() == 0);  // cleared, not gone
  CHECK_THROWS_AS(tape.gradient(y, x), std::logic_error);
  CHECK((x * 2).values() == Values{1, 4});
  const auto v = tape.variable(3);
  const auto z = v * v;
  CHECK(std::move(tape).vjp(z, 10, v).item() == 60);
  CHECK(tape.size() == 0);
}

TEST_CASE("a consuming gradient frees what it has passed on its way") {
  for (const bool consume : {false, true}) {
    Tape<double> tape;
    const auto x = tape.variable(1);
    auto held = std::make_shared<int>(0);
    const std::weak_ptr<int> watched = held;
    bool freed = false;
    const auto early = with_rule(x, [&](In<double> g) {
      freed = watched.expired();
      return g;
    });
    const auto late = with_rule(early, [held](In<double> g) { return g; });
    held.reset();
    const auto g = consume ? std::move(tape).gradient(late, x) : tape.gradient(late, x);
    CHECK(g.item() == 1);
    CHECK(freed == consume);
  }
}

TEST_CASE("a consuming gradient cannot be recorded") {
  Tape<double> tape;
  const auto x = tape.variable(3);
  const auto y = x * x;
  CHECK(misuse([&] { std::move(tape).gradient(y, x, Record::yes); }) ==
        "[gradient] the tape is to be freed while its sweep is recorded or running: keep the "
        "tape.");
  CHECK(tape.gradient(y, x).item() == 6);
}

TEST_CASE("inside of a rule the tensors of the swept tape are constants") {
  Tape<double> tape, other;
  const auto x = tape.variable(3);
  bool recorded = true;
  double inner = 0, elsewhere = 0;
  const auto y = with_rule(x, [&](In<double> g) {
    recorded = is_recorded(x * x);
    inner = grad([&](auto z) { return z * x; })(x).item();
    const auto v = other.variable(x);
    elsewhere = other.gradient(v * x, v).item();
    return g;
  });
  CHECK(is_recorded(y));
  const auto lines = tape.size();
  CHECK(tape.gradient(y, x).item() == 1);
  CHECK(!recorded);
  CHECK(inner == 3);
  CHECK(elsewhere == 3);
  CHECK(tape.size() == lines);
  CHECK(is_recorded(x * x));  // the pause is over
}

TEST_CASE("inside of a rule the swept tape cannot be written cleared or consumed") {
  Tape<double> tape;
  const auto x = tape.variable(3);
  std::string written, cleared, consumed;
  double asked = 0;
  const auto y = with_rule(x, [&](In<double> g) {
    written = misuse([&] { tape.variable(1); });
    cleared = misuse([&] { tape.clear(); });
    consumed = misuse([&] { std::move(tape).gradient(x, x); });
    asked = tape.gradient(x, x).item();
    return g;
  });
  const std::string running = " a sweep of this tape is running: wait until its gradient is there.";
  CHECK(tape.gradient(y, x).item() == 1);
  CHECK(written == "[variable]" + running);
  CHECK(cleared == "[clear]" + running);
  CHECK(consumed ==
        "[gradient] the tape is to be freed while its sweep is recorded or running: keep the "
        "tape.");
  CHECK(asked == 1);
}

TEST_CASE("an exception in a rule leaves the tape as it was") {
  Tape<double> tape;
  const auto x = tape.variable(3);
  bool broken = true;
  const auto y = x * with_rule(x, [&](In<double> g) {
                   if (broken) throw std::runtime_error("broken rule");
                   return g;
                 });
  const auto lines = tape.size();
  CHECK(test::error_of<std::runtime_error>([&] { tape.gradient(y, x); }) == "broken rule");
  CHECK(test::error_of<std::runtime_error>([&] { tape.gradient(y, x, Record::yes); }) ==
        "broken rule");
  broken = false;
  CHECK(tape.gradient(y, x).item() == 6);
  const auto z = y * x;  // recorded again
  CHECK(tape.line(z) >= lines);
  CHECK(tape.gradient(z, x).item() == 27);
}

TEST_CASE("an exception in a rule leaves a consumed tape empty and usable") {
  Tape<double> tape;
  const auto x = tape.variable(3);
  const auto y =
      with_rule(x, [](In<double>) -> Tensor<double> { throw std::runtime_error("broken rule"); });
  CHECK(test::error_of<std::runtime_error>([&] { std::move(tape).gradient(y, x); }) ==
        "broken rule");
  CHECK(tape.size() == 0);
  const auto v = tape.variable(2);
  CHECK(tape.gradient(v * v, v).item() == 4);
}

TEST_CASE("the outputs of a joint op are differentiated together") {
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{1, 2, 3, 4});
  const auto parts = split(x, {1, 2, 1}, 0);
  const auto y = sum(parts[1] * parts[1]) + sum(10 * parts[2]);  // the first is not used
  const auto [dx, first, middle] = tape.gradient(y, x, parts[0], parts[1]);
  CHECK(dx.values() == Values{0, 4, 6, 10});
  CHECK(first.values() == Values{0});
  CHECK(middle.values() == Values{4, 6});
  CHECK(tape.gradient(sum(parts[2]), x).values() == Values{0, 0, 0, 1});
  CHECK(tape.vjp(parts[1], Tensor<double>{5, 7}, x).values() == Values{0, 5, 7, 0});
  CHECK(tape.gradient(y, parts[2]).values() == Values{10});
}

TEST_CASE("adding cotangents up changes no tensor that somebody holds") {
  const Tensor<double> kept{1, 2}, seed{3, 4};
  const Tensor<double> part = slice(kept, 0, 0, 2);  // a view
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{5, 6});
  const auto passes = [](In<double> g) { return g; };
  const auto gives = [](const Tensor<double>& t) { return [t](In<double>) { return t; }; };
  // Each of them comes first once, so that the others are added to it.
  const auto y = record<double>("first", 2 * stop_gradient(x),
                                {{x, gives(kept)}, {x, passes}, {x, gives(kept)}});
  const auto z = record<double>("second", stop_gradient(y),
                                {{x, passes}, {x, gives(part)}, {y, passes}, {x, gives(kept)}});
  std::vector<Tensor<double>> seen;
  std::vector<Values> values;
  const Sweep<double> sweep(Record::no, [&](std::int64_t, In<double> g, const auto& passed) {
    seen.push_back(g);
    for (const auto& to : passed) seen.push_back(to.cotangent);
    for (std::size_t i = values.size(); i < seen.size(); ++i) values.push_back(seen[i].values());
  });
  for (int round = 0; round < 2; ++round) {
    CHECK(tape.vjp(z, seed, x).values() == Values{2 * 3 + 4 * 1, 2 * 4 + 4 * 2});
    CHECK(tape.vjp(z, seed, x, sweep).values() == Values{10, 16});
  }
  CHECK(kept.values() == Values{1, 2});
  CHECK(seed.values() == Values{3, 4});
  for (std::size_t i = 0; i < seen.size(); ++i) CHECK(seen[i].values() == values[i]);
}
