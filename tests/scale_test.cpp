// Nothing grows faster than the number of nodes: lines, time, memory.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <utility>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <xtape/xtape.hpp>

namespace {

using namespace xtape;

/// The shortest of three runs, in seconds of this process's own time.
template <class F>
double seconds(F&& f) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const std::clock_t start = std::clock();
    f();
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return best;
}

/// How the time grows from n to 8 n: about 8 when linear, about 64 when quadratic. 32 leaves room
/// for memory that is warm at n and cold at 8 n, a factor of 2 or so.
template <class F>
double growth(std::int64_t n, F&& f) {
  return seconds([&] { f(8 * n); }) / seconds([&] { f(n); });
}
constexpr double kLinear = 32;

/// Bytes that the heap has given out, but for memory that is kept for later tensors; 0 where that
/// cannot be asked (a leak checker has a heap of its own, and counts there).
std::size_t heap_in_use() {
#if defined(__GLIBC__)
  const auto info = mallinfo2();
  const std::size_t given = info.uordblks + info.hblkhd, cached = cached_bytes();
  return given > cached ? given - cached : 0;
#else
  return 0;
#endif
}

/// The lines that n gradients of functions of x's tape write on it.
std::int64_t lines_of_nested_grads(int n) {
  Tape<double> tape;
  const auto x = tape.variable(1);
  auto total = x;
  for (int i = 0; i < n; ++i)
    total = total + grad([&](auto y) { return y * y * x; })(Tensor<double>(0.5));
  const auto g = tape.gradient(total, x);
  REQUIRE(g.item() == n + 1);
  return tape.size();
}

}  // namespace

TEST_CASE("gradients inside of a loop write the same number of lines each") {
  const auto ten = lines_of_nested_grads(10), twenty = lines_of_nested_grads(20);
  const auto thousand = lines_of_nested_grads(1000);
  const auto each = (twenty - ten) / 10;
  CHECK(each < 20);  // y, two products, five or so lines of their rules, one sum
  CHECK(thousand == ten + 990 * each);
}

TEST_CASE("the time of a gradient is linear in the length of a chain") {
  CHECK(growth(50000, [](std::int64_t n) {
          Tape<double> tape;
          const auto x = tape.variable(1);
          auto y = x;
          for (std::int64_t i = 0; i < n; ++i) y = y + x;
          CHECK(tape.gradient(y, x).item() == static_cast<double>(n + 1));
        }) < kLinear);
}

TEST_CASE("the time of a recorded gradient is linear in the length of a chain") {
  CHECK(growth(20000, [](std::int64_t n) {
          Tape<double> tape;
          const auto x = tape.variable(1);
          auto y = x;
          for (std::int64_t i = 0; i < n; ++i) y = y + x;
          const auto slope = tape.gradient(y * x, x, Record::yes);  // of (n + 1) x^2
          CHECK(tape.gradient(slope, x).item() == static_cast<double>(2 * (n + 1)));
        }) < kLinear);
}

TEST_CASE("the time of gradients inside of a loop is linear in their number") {
  CHECK(growth(2000, [](std::int64_t n) { lines_of_nested_grads(static_cast<int>(n)); }) < kLinear);
}

TEST_CASE("the time of a gradient is linear in the number of variables") {
  CHECK(growth(16000, [](std::int64_t n) {
          Tape<double> tape;
          const auto xs =
              tape.variable(std::vector<Tensor<double>>(static_cast<std::size_t>(n), 2.0));
          auto y = Tensor<double>(0);
          for (const auto& x : xs) y = y + x * x;
          const auto g = tape.gradient(y, xs);
          CHECK(g.front().item() == 4);
          CHECK(g.back().item() == 4);
        }) < kLinear);
}

TEST_CASE("a short gradient on a long tape costs what the short part costs") {
  // A sweep looks at the lines between the variable and the target only.
  Tape<double> tape;
  const auto x = tape.variable(1);
  auto y = x;
  for (int i = 0; i < 200000; ++i) y = y + x;
  const auto late = tape.variable(3);
  const auto z = late * late;
  const double whole = seconds([&] { tape.gradient(y, x); });
  const double part = seconds([&] { CHECK(tape.gradient(z, late).item() == 6); });
  CHECK(part < whole / 20);  // 2 lines against 200,001; whole is 10 ms or more
}

TEST_CASE("a hundred thousand tapes do not grow the heap") {
  const auto one = [] {
    Tape<double> tape;
    const auto x = tape.variable(2);
    const auto y = x * exp(x);
    tape.gradient(y, x);
    grad([](auto z) { return z * z; })(Tensor<double>(1));
    std::move(tape).gradient(y, x);
  };
  for (int i = 0; i < 1000; ++i) one();  // fills what is recycled
  const auto before = heap_in_use();
  for (int i = 0; i < 100000; ++i) one();
  const auto after = heap_in_use();
  CHECK(after <= before + 65536);  // less than a byte a tape
}

TEST_CASE("of a hundred thousand tensors that have ended few stay in memory") {
  const auto before = heap_in_use();
  std::vector<Tensor<double>> many;
  for (int i = 0; i < 100000; ++i) many.push_back(Tensor<double>(i));
  const auto full = heap_in_use();
  CHECK((full == before || full >= before + 10000000));  // the same where it cannot be asked
  std::vector<Tensor<double>>().swap(many);              // its own memory too
  CHECK(heap_in_use() <= before + 2000000);
}

TEST_CASE("a hundred thousand closures joined to tapes do not grow the heap") {
  const auto one = [] {
    Tape<double> tape;
    const auto x = tape.variable(2);
    for (int i = 0; i < 10; ++i) grad([&](auto y) { return y * x; })(Tensor<double>(1));
  };
  for (int i = 0; i < 100; ++i) one();
  const auto before = heap_in_use();
  for (int i = 0; i < 10000; ++i) one();
  const auto after = heap_in_use();
  CHECK(after <= before + 65536);
}

TEST_CASE("many tapes may live at once") {
  std::vector<Tape<float>> tapes;
  std::vector<Tensor<float>> xs, ys;
  for (int i = 0; i < 2000; ++i) {
    tapes.emplace_back();
    xs.push_back(tapes.back().variable(i));
    ys.push_back(xs.back() * xs.back());
  }
  int right = 0;
  for (std::size_t i = 0; i < tapes.size(); ++i)
    right += tapes[i].gradient(ys[i], xs[i]).item() == 2 * static_cast<float>(i);
  CHECK(right == 2000);
}

TEST_CASE("a consuming gradient needs less memory than the tape that it frees") {
  // Each of 1000 lines keeps 8 KB. Where the first line's rule runs they are all there still, or
  // all but one gone.
  const auto at_first_rule = [](bool consume) {
    Tape<double> tape;
    const auto x = tape.variable(Tensor<double>::ones({1000}));
    std::size_t in_use = 0;
    auto y = record<double>("watched", exp(x), {{x, [&](In<double> g) {
                                                   in_use = heap_in_use();
                                                   return g;
                                                 }}});
    for (int i = 0; i < 1000; ++i) y = exp(0 * y);
    const auto target = sum(y);
    y = {};
    if (consume)
      std::move(tape).gradient(target, x);
    else
      tape.gradient(target, x);
    return in_use;
  };
  const auto before = heap_in_use();
  const auto kept = at_first_rule(false) - before, freed = at_first_rule(true) - before;
  CHECK(freed <= kept / 4);
}
