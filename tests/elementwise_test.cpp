// Elementwise ops at the edges: broadcasting, poles, kinks, overflow, NaN, and their errors.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/errors.hpp"

namespace {

using namespace xtape;
using test::invalid;
using Doubles = std::vector<double>;
using Floats = std::vector<float>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The gradient of the sum of f.
template <class F>
Doubles slopes(const F& f, const Tensor<double>& x) {
  return grad([&](const Tensor<double>& v) { return sum(f(v)); })(x).values();
}

std::string cannot_broadcast(const std::string& op) {
  return "[" + op +
         "] cannot broadcast [2, 3] with [2]: lengths, counted from the last axis, must be equal "
         "or 1.";
}

}  // namespace

// ---- broadcasting ----------------------------------------------------------------------------

// Source: PyTorch#1787
TEST_CASE("gradients of broadcast operands have exactly the operands' shapes") {
  const std::vector<std::pair<Shape, Shape>> shapes{
      {{1}, {5, 4}}, {{4, 1}, {1, 4}}, {{}, {1}}, {{1}, {}}, {{1, 1}, {3}}, {{1, 1}, {0, 1}}};
  for (const auto& [left, right] : shapes) {
    Tape<double> tape;
    const auto a = tape.variable(Tensor<double>::full(left, 2));
    const auto b = tape.variable(Tensor<double>::full(right, 3));
    const auto [da, db] = tape.gradient(sum(a * b), a, b);
    CHECK(da.shape() == left);
    CHECK(db.shape() == right);
  }
}

TEST_CASE("a gradient is summed over all that its operand was broadcast to") {
  Tape<double> tape;
  const auto a = tape.variable(Tensor<double>({4, 1}, {1, 2, 3, 4}));
  const auto b = tape.variable(Tensor<double>({1, 2}, {10, 20}));
  const auto [da, db] = tape.gradient(sum(a * b), a, b);
  CHECK(da.values() == Doubles{30, 30, 30, 30});
  CHECK(db.values() == Doubles{10, 10});
}

// Source: xtensor#1562, xtensor#1573, xtensor#1617
TEST_CASE("a length of 1 broadcasts to an empty axis and a length of 2 does not") {
  CHECK((Tensor<double>::ones({1, 1}) + Tensor<double>::ones({0, 1})).shape() == Shape{0, 1});
  CHECK((Tensor<double>::ones({}) + Tensor<double>::ones({0})).shape() == Shape{0});
  CHECK(invalid([] {
          Tensor<double>::ones({2, 1}) + Tensor<double>::ones({0, 1});
        }) ==
        "[add] cannot broadcast [2, 1] with [0, 1]: lengths, counted from the last axis, must be "
        "equal or 1.");
}

TEST_CASE("operands that do not broadcast are refused in the op's name") {
  const auto a = Tensor<double>::ones({2, 3}), b = Tensor<double>::ones({2});
  CHECK(invalid([&] { add(a, b); }) == cannot_broadcast("add"));
  CHECK(invalid([&] { sub(a, b); }) == cannot_broadcast("sub"));
  CHECK(invalid([&] { mul(a, b); }) == cannot_broadcast("mul"));
  CHECK(invalid([&] { div(a, b); }) == cannot_broadcast("div"));
  CHECK(invalid([&] { pow(a, b); }) == cannot_broadcast("pow"));
  CHECK(invalid([&] { chain(a, b); }) == cannot_broadcast("chain"));
}

// Source: hw1#20, AutoGrad.jl#69
TEST_CASE("a number beside a tensor takes the tensor's type") {
  const Tensor<float> x{3};
  static_assert(std::is_same_v<decltype(x * 0.2), Tensor<float>>);
  static_assert(std::is_same_v<decltype(2 / x), Tensor<float>>);
  static_assert(std::is_same_v<decltype(pow(x, 2)), Tensor<float>>);
  CHECK((x * 0.2).values() == Floats{3 * 0.2f});
  CHECK((1 - x).values() == Floats{-2});
  CHECK(pow(x, 2).values() == Floats{9});
}

// ---- poles and kinks -------------------------------------------------------------------------

TEST_CASE("the derivative of the square root at 0 is infinite and below 0 all is NaN") {
  const auto root = [](const auto& x) { return sqrt(x); };
  CHECK(sqrt(Tensor<double>{0, 4}).values() == Doubles{0, 2});
  CHECK(slopes(root, Tensor<double>{0, 4}) == Doubles{kInf, 0.25});
  CHECK(std::isnan(sqrt(Tensor<double>(-1)).item()));
  CHECK(std::isnan(slopes(root, Tensor<double>{-1})[0]));
}

TEST_CASE("the logarithm is -inf at 0 and NaN below") {
  CHECK(log(Tensor<double>{0, 1}).values() == Doubles{-kInf, 0});
  CHECK(slopes([](const auto& x) { return log(x); }, Tensor<double>{0, 2}) == Doubles{kInf, 0.5});
  CHECK(std::isnan(log(Tensor<double>(-1)).item()));
}

TEST_CASE("division by 0 is as IEEE says") {
  CHECK((Tensor<double>{1, -1} / 0).values() == Doubles{kInf, -kInf});
  CHECK(std::isnan((Tensor<double>{0} / 0).values()[0]));
  CHECK((1 / Tensor<double>{kInf, -0.0}).values() == Doubles{0, -kInf});
}

// Source: PyTorch#8940
TEST_CASE("the power 0 has gradient 0 at every base") {
  const auto to_zero = [](const auto& x) { return pow(x, 0); };
  CHECK(pow(Tensor<double>{0, 1, -2}, 0).values() == Doubles{1, 1, 1});
  CHECK(slopes(to_zero, Tensor<double>{0, 1, -2}) == Doubles{0, 0, 0});
  CHECK(slopes(to_zero, Tensor<double>{kInf, kNan}) == Doubles{0, 0});
}

// Source: PyTorch#27134
TEST_CASE("the exponent's gradient is 0 at base 0") {
  const auto g = slopes(
      [](const auto& b) {
        return pow(Tensor<double>{0, 2}, b);
      },
      Tensor<double>{1, 1});
  CHECK(g[0] == 0);
  CHECK(g[1] == doctest::Approx(2 * std::log(2.0)).epsilon(1e-15));
  CHECK(slopes(
            [](const auto& b) {
              return pow(Tensor<double>{0, 0}, b);
            },
            Tensor<double>{0, 0.5}) == Doubles{0, 0});
}

TEST_CASE("integer powers of negative bases have their gradients and others are NaN") {
  CHECK(pow(Tensor<double>{-2, -3}, Tensor<double>{3, 2}).values() == Doubles{-8, 9});
  CHECK(slopes(
            [](const auto& a) {
              return pow(a, Tensor<double>{3, 2});
            },
            Tensor<double>{-2, -3}) == Doubles{12, -6});
  CHECK(slopes([](const auto& a) { return pow(a, 1); }, Tensor<double>{0, -1}) == Doubles{1, 1});
  CHECK(slopes([](const auto& a) { return pow(a, 2); }, Tensor<double>{0}) == Doubles{0});
  CHECK(std::isnan(pow(Tensor<double>(-2), 0.5).item()));
}

TEST_CASE("a square as a power has second derivative 2 at 0") {
  const auto cube = [](const auto& x) { return pow(x, 3); };
  const auto square_ = [](const auto& x) { return pow(x, 2); };
  CHECK(grad(grad(square_))(Tensor<double>(0)).item() == 2);
  CHECK(grad(grad(cube))(Tensor<double>(0)).item() == 0);
  CHECK(grad(grad(grad(cube)))(Tensor<double>(0)).item() == 6);
}

TEST_CASE("relu has derivative 0 at 0 and at -0") {
  const Tensor<double> x{-1, -0.0, 0, 2};
  CHECK(relu(x).values() == Doubles{0, 0, 0, 2});
  for (const double y : relu(x).values()) CHECK(!std::signbit(y));
  CHECK(slopes([](const auto& v) { return relu(v); }, x) == Doubles{0, 0, 0, 1});
}

// ---- overflow and underflow ------------------------------------------------------------------

// Source: xsimd 8.1 gives inf for the one and 0 for the other
TEST_CASE("the exponential overflows and underflows as IEEE says") {
  CHECK(exp(Tensor<double>{1000, -1000, -kInf, kInf}).values() == Doubles{kInf, 0, 0, kInf});
  // The last finite value and the smallest denormal: e^88.7 = 3.3e38, e^-103.9 = 7.5e-46, which is
  // more than half of 1.4e-45.
  const std::vector<float> y = exp(Tensor<float>{88.7, -103.9}).values();
  CHECK(y[0] == doctest::Approx(3.3259e38).epsilon(1e-4));
  CHECK(y[1] == std::numeric_limits<float>::denorm_min());
}

TEST_CASE("sigmoid is exact at both ends") {
  const Tensor<double> x{-800, -50, 0, 50, 800};
  const Doubles y = sigmoid(x).values();
  CHECK(y[0] == 0);
  CHECK(y[1] == doctest::Approx(std::exp(-50.0)).epsilon(1e-15));  // 1 + e^-50 is 1
  CHECK(y[2] == 0.5);
  CHECK(y[3] == 1);
  CHECK(y[4] == 1);
  const Doubles g = slopes([](const auto& v) { return sigmoid(v); }, x);
  CHECK(g[0] == 0);
  CHECK(g[1] == doctest::Approx(std::exp(-50.0)).epsilon(1e-15));
  CHECK(g[2] == 0.25);
  CHECK(g[4] == 0);
}

TEST_CASE("tanh is flat where it is 1") {
  const Tensor<double> x{-1000, 0, 1000};
  CHECK(tanh(x).values() == Doubles{-1, 0, 1});
  CHECK(slopes([](const auto& v) { return tanh(v); }, x) == Doubles{0, 1, 0});
}

// ---- NaN -------------------------------------------------------------------------------------

TEST_CASE("NaN in is NaN out of every elementwise op") {
  const Tensor<double> x(kNan), one(1);
  for (const Tensor<double>& y : {x + 1,
                                  1 - x,
                                  x * 0,
                                  0 / x,
                                  -x,
                                  exp(x),
                                  exp2(x),
                                  log(x),
                                  sqrt(x),
                                  square(x),
                                  pow(x, 2),
                                  pow(Tensor<double>(2), x),
                                  tanh(x),
                                  sigmoid(x),
                                  relu(x),
                                  chain(x, one),
                                  chain(one, x),
                                  abs(x),
                                  sin(x),
                                  cos(x),
                                  erf(x),
                                  gelu(x),
                                  silu(x),
                                  softplus(x),
                                  clamp(x, 0, 1),
                                  maximum(x, 1),
                                  minimum(x, 1)})
    CHECK(std::isnan(y.item()));
}

TEST_CASE("chain is 0 where the cotangent is 0 whatever the derivative") {
  const Tensor<double> g{0, -0.0, 2, 0}, d{kNan, kInf, 3, -kInf};
  CHECK(chain(g, d).values() == Doubles{0, 0, 6, 0});
  // Its own cotangents obey the same rule.
  const Tensor<double> h{0, 0, 1, 0};
  CHECK(vjp([&](const auto& v) { return chain(v, d); }, g, h).second.values() ==
        Doubles{0, 0, 3, 0});
  CHECK(vjp([&](const auto& v) { return chain(g, v); }, d, h).second.values() ==
        Doubles{0, 0, 2, 0});
}

TEST_CASE("a cotangent of 0 gives gradient 0 at every pole") {
  const Tensor<double> x{0, 0}, none{0, 0};
  const auto zero = [&](auto f) { return vjp(f, x, none).second.values() == Doubles{0, 0}; };
  CHECK(zero([](const auto& v) { return sqrt(v); }));
  CHECK(zero([](const auto& v) { return log(v); }));
  CHECK(zero([](const auto& v) { return 1 / v; }));
  CHECK(zero([](const auto& v) { return v / v; }));
  CHECK(zero([](const auto& v) { return pow(v, -1); }));
  CHECK(zero([](const auto& v) { return exp(1 / v); }));
  CHECK(zero([](const auto& v) { return v * Tensor<double>(kInf); }));
}
