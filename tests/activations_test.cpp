// abs, sin, cos, erf, gelu, silu, softplus, clamp, maximum and minimum at the edges: kinks, ties,
// far tails, infinities, NaN, and their errors.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/errors.hpp"
#include "support/near.hpp"

namespace {

using namespace xtape;
using test::invalid;
using test::kRounding;
using test::near;
using Doubles = std::vector<double>;
using Floats = std::vector<float>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The gradient of the sum of f.
template <class F, class T>
std::vector<T> slopes(const F& f, const Tensor<T>& x) {
  return grad([&](const Tensor<T>& v) { return sum(f(v)); })(x).values();
}

/// -40, -39.75, ... 40
Tensor<double> far() { return Tensor<double>::arange(-40, 40.25, 0.25); }

// The normal distribution another way than by erf, and without a term that cancels another.
double density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0)); }
/// What lies beyond x >= 0.25, over the density there: Laplace's 1/(x + 1/(x + 2/(x + ...))).
double mills(double x) {
  double rest = x;
  for (int k = 8000; k > 0; --k) rest = x + k / rest;
  return 1 / rest;
}
double normal(double x) {
  if (x > 0) return 1 - normal(-x);
  return x < 0 ? mills(-x) * density(x) : 0.5;
}

}  // namespace

// ---- abs, sin, cos ---------------------------------------------------------------------------

TEST_CASE("abs has derivative 0 at 0 and -0 and second derivative 0 everywhere") {
  const auto f = [](const auto& x) { return abs(x); };
  const Tensor<double> x{-2, -0.0, 0, 3, -kInf};
  CHECK(abs(x).values() == Doubles{2, 0, 0, 3, kInf});
  CHECK(!std::signbit(abs(x).values()[1]));
  CHECK(slopes(f, x) == Doubles{-1, 0, 0, 1, -1});
  const auto slope = [&](const auto& v) {
    return grad([&](const auto& u) { return sum(f(u)); })(v);
  };
  CHECK(slopes(slope, x) == Doubles{0, 0, 0, 0, 0});
}

TEST_CASE("sine and cosine are each other's derivatives to the fourth order and back") {
  const auto f = [](const auto& x) { return sin(x); };
  const Tensor<double> x(0.75);
  const double s = std::sin(0.75), c = std::cos(0.75);
  CHECK(sin(x).item() == s);
  CHECK(grad(f)(x).item() == c);
  CHECK(grad(grad(f))(x).item() == -s);
  CHECK(grad(grad(grad(f)))(x).item() == -c);
  CHECK(grad(grad(grad(grad(f))))(x).item() == s);
  CHECK(cos(Tensor<double>{0}).values() == Doubles{1});
  for (const double end : {kInf, -kInf}) {
    CHECK(std::isnan(sin(Tensor<double>(end)).item()));
    CHECK(std::isnan(cos(Tensor<double>(end)).item()));
  }
}

// ---- smooth functions far out ----------------------------------------------------------------

TEST_CASE("erf is odd, 1 far out, and flat there") {
  const auto f = [](const auto& x) { return erf(x); };
  const Tensor<double> x{-kInf, -30, 0, 30, kInf};
  CHECK(erf(x).values() == Doubles{-1, -1, 0, 1, 1});
  const Doubles g = slopes(f, x);
  CHECK(g[0] == 0);
  CHECK(g[1] == 0);  // e^-900 is below every double
  CHECK(near(g[2], 2 / std::sqrt(std::acos(-1.0)), 2 * kRounding));
  CHECK(g[3] == 0);
  CHECK(g[4] == 0);
  CHECK(erf(-far()).values() == (-erf(far())).values());
}

TEST_CASE("gelu keeps its digits from -40 to 40") {
  const Doubles x = far().values(), y = gelu(far()).values();
  for (std::size_t i = 0; i < x.size(); ++i) {
    CAPTURE(x[i]);
    const double expected = x[i] < 0 ? x[i] * mills(-x[i]) * density(x[i]) : x[i] * normal(x[i]);
    // Phi's relative error is (x^2 + 1) times that of its argument, which two roundings make; some
    // more are made on the way and in what is expected. Below 2^-1022 a rounding is absolute.
    const double roundings = 2 * x[i] * x[i] + 8;
    CHECK(std::abs(y[i] - expected) <= roundings * kRounding * std::abs(expected) + 0x1p-1070);
  }
}

TEST_CASE("gelu's gradient is right to 1e-15 from -40 to 40") {
  const Doubles x = far().values();
  const Doubles g = slopes([](const auto& v) { return gelu(v); }, far());
  for (std::size_t i = 0; i < x.size(); ++i) {
    CAPTURE(x[i]);
    // Phi is at most 1 and x phi at most 0.25: 1e-15 is some nine roundings of 1.
    const double expected = normal(x[i]) + x[i] * density(x[i]);
    CHECK(std::abs(g[i] - expected) <= 1e-15);
  }
}

TEST_CASE("gelu and silu are 0 far below 0 and x far above it with gradients 0 and 1") {
  const Tensor<double> x{-1000, 0, 1000};
  const auto g = [](const auto& v) { return gelu(v); };
  const auto s = [](const auto& v) { return silu(v); };
  CHECK(gelu(x).values() == Doubles{0, 0, 1000});
  CHECK(silu(x).values() == Doubles{0, 0, 1000});
  CHECK(slopes(g, x) == Doubles{0, 0.5, 1});
  CHECK(slopes(s, x) == Doubles{0, 0.5, 1});
  const Tensor<float> y{-1000, 0, 1000};
  CHECK(slopes(g, y) == Floats{0, 0.5, 1});
  CHECK(slopes(s, y) == Floats{0, 0.5, 1});
}

TEST_CASE_TEMPLATE("gelu and silu at minus infinity are 0 and at infinity x with gradients 0 and 1",
                   T, float, double) {
  const auto g = [](const auto& v) { return gelu(v); };
  const auto s = [](const auto& v) { return silu(v); };
  const Tensor<T> x{-kInf, kInf};
  for (const Tensor<T>& y : {gelu(x), silu(x)})
    CHECK(y.values() == std::vector<T>{0, static_cast<T>(kInf)});
  CHECK(slopes(g, x) == std::vector<T>{0, 1});
  CHECK(slopes(s, x) == std::vector<T>{0, 1});
  const auto slope = [](const auto& f) {
    return [f](const auto& v) { return grad([f](const auto& u) { return sum(f(u)); })(v); };
  };
  CHECK(slopes(slope(g), x) == std::vector<T>{0, 0});
  CHECK(slopes(slope(s), x) == std::vector<T>{0, 0});
  const Tensor<T> nan(kNan);
  for (const auto& y : {gelu(nan), silu(nan), grad(g)(nan), grad(s)(nan)})
    CHECK(std::isnan(y.item()));
}

TEST_CASE("silu has the derivative one half at 0 and its minimum at -1.27846") {
  // s(x) (1 + x (1 - s(x))) = 0 where 1 + e^x + x = 0.
  double x = -1.278;
  for (int i = 0; i < 10; ++i) x -= (1 + std::exp(x) + x) / (std::exp(x) + 1);  // Newton's steps
  CHECK(std::abs(slopes([](const auto& v) { return silu(v); }, Tensor<double>{x})[0]) <= 1e-15);
  CHECK(near(silu(Tensor<double>(x)).item(), x / (1 + std::exp(-x)), 2 * kRounding));
}

// Source: burn#5373, softplus(100) f32 is 100 with gradient 1
TEST_CASE("softplus is exact at both ends") {
  const auto f = [](const auto& x) { return softplus(x); };
  CHECK(softplus(Tensor<float>(100)).item() == 100);
  CHECK(slopes(f, Tensor<float>{100}) == Floats{1});
  CHECK(softplus(Tensor<float>(-200)).item() == 0);
  const Tensor<double> x{-kInf, -1000, -100, 0, 1000, kInf};
  const Doubles y = softplus(x).values(), g = slopes(f, x);
  const Doubles expected{0, 0, std::exp(-100.0), std::log(2.0), 1000, kInf};
  for (std::size_t i = 0; i < y.size(); ++i) {
    CAPTURE(i);
    const bool right = y[i] == expected[i] || near(y[i], expected[i], 2 * kRounding);
    CHECK(right);
  }
  CHECK(g[0] == 0);
  CHECK(g[1] == 0);
  CHECK(near(g[2], std::exp(-100.0), 4 * kRounding));
  CHECK(g[3] == 0.5);
  CHECK(g[4] == 1);
  CHECK(g[5] == 1);
}

// ---- clamp -----------------------------------------------------------------------------------

TEST_CASE("clamp passes the gradient inside of its limits and at them") {
  const auto f = [](const auto& x) { return clamp(x, -1, 2); };
  const Tensor<double> x{-5, -1, 0, 2, 2.5, -kInf, kInf};
  CHECK(clamp(x, -1, 2).values() == Doubles{-1, -1, 0, 2, 2, -1, 2});
  CHECK(slopes(f, x) == Doubles{0, 1, 1, 1, 0, 0, 0});
  CHECK(clamp(x, 1, 1).values() == Doubles(7, 1));
  CHECK(std::signbit(clamp(Tensor<double>(-0.0), 0, 1).item()));  // at a limit: x itself
  CHECK(std::signbit(clamp(Tensor<double>(-0.0), -1, 0).item()));
  CHECK(clamp(x, -kInf, kInf).values() == x.values());
  // The limit 0.1 is the float next to it, which is no other than x.
  CHECK(slopes([](const auto& v) { return clamp(v, 0.1, 1); }, Tensor<float>{0.1f}) == Floats{1});
}

TEST_CASE("clamp keeps NaN and its limits stand on the tape") {
  CHECK(std::isnan(clamp(Tensor<double>(kNan), -1, 2).item()));
  Tape<double> tape;
  clamp(tape.variable(0), -1, 2);
  CHECK(tape.node(1).attributes == "low=-1.000000, high=2.000000");
}

TEST_CASE("clamp refuses limits in the wrong order and limits of NaN") {
  const Tensor<double> x(1);
  const std::string rest = ": low must not be above high.";
  CHECK(invalid([&] { clamp(x, 2, 1); }) == "[clamp] from 2.000000 to 1.000000" + rest);
  CHECK(invalid([&] { clamp(x, kNan, 1); }) == "[clamp] from nan to 1.000000" + rest);
  CHECK(invalid([&] { clamp(x, 0, kNan); }) == "[clamp] from 0.000000 to nan" + rest);
}

// ---- maximum and minimum ---------------------------------------------------------------------

TEST_CASE("equal values share the gradient of maximum and minimum") {
  const Tensor<double> a{1, 2, 3, kInf, 0}, b{2, 2, 2, kInf, -0.0};
  const auto gradients = [&](auto f) {
    const auto g = grad([&](const auto& x, const auto& y) { return sum(f(x, y)); })(a, b);
    return std::vector<Doubles>{g[0].values(), g[1].values()};
  };
  const auto larger = [](const auto& x, const auto& y) { return maximum(x, y); };
  const auto smaller = [](const auto& x, const auto& y) { return minimum(x, y); };
  CHECK(larger(a, b).values() == Doubles{2, 2, 3, kInf, 0});
  CHECK(smaller(a, b).values() == Doubles{1, 2, 2, kInf, 0});
  CHECK(gradients(larger) == std::vector<Doubles>{{0, 0.5, 1, 0.5, 0.5}, {1, 0.5, 0, 0.5, 0.5}});
  CHECK(gradients(smaller) == std::vector<Doubles>{{1, 0.5, 0, 0.5, 0.5}, {0, 0.5, 1, 0.5, 0.5}});
}

TEST_CASE("the maximum of a tensor and itself has gradient 1") {
  CHECK(slopes([](const auto& x) { return maximum(x, x); }, Tensor<double>{3, -1}) ==
        Doubles{1, 1});
  CHECK(slopes([](const auto& x) { return minimum(x, x); }, Tensor<double>{3, -1}) ==
        Doubles{1, 1});
}

TEST_CASE("a number beside maximum takes its share of a tie where relu takes it all") {
  const Tensor<double> x{-1, 0, 2};
  CHECK(maximum(x, 0).values() == relu(x).values());
  CHECK(slopes([](const auto& v) { return maximum(v, 0); }, x) == Doubles{0, 0.5, 1});
  CHECK(slopes([](const auto& v) { return relu(v); }, x) == Doubles{0, 0, 1});
}

TEST_CASE("ties of maximum are summed to a broadcast operand's shape") {
  const Tensor<double> a{{1, 2}, {2, 3}}, b{{2}};
  const auto g = grad([](const auto& x, const auto& y) { return sum(maximum(x, y)); })(a, b);
  CHECK(g[0].values() == Doubles{0, 0.5, 0.5, 1});
  CHECK(g[1].shape() == Shape{1, 1});
  CHECK(g[1].values() == Doubles{1 + 0.5 + 0.5});
}

TEST_CASE("maximum and minimum give NaN if either is NaN") {
  const Tensor<double> a{kNan, 1, kNan}, b{1, kNan, kNan};
  for (const Tensor<double>& y : {maximum(a, b), minimum(a, b)})
    for (const double v : y.values()) CHECK(std::isnan(v));
}

TEST_CASE("operands of maximum that do not broadcast are refused in the op's name") {
  const auto a = Tensor<double>::ones({2, 3}), b = Tensor<double>::ones({2});
  const std::string rest =
      " cannot broadcast [2, 3] with [2]: lengths, counted from the last axis, must be equal or 1.";
  CHECK(invalid([&] { maximum(a, b); }) == "[maximum]" + rest);
  CHECK(invalid([&] { minimum(a, b); }) == "[minimum]" + rest);
}
