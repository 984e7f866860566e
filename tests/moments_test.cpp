// min, prod, var, norm and argmax at the edges: nothing, ties, zeros, infinities, and their errors.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/close.hpp"
#include "support/errors.hpp"

namespace {

using namespace xtape;
using closeness::error;
using test::invalid;
using Doubles = std::vector<double>;
using Floats = std::vector<float>;
using List = std::vector<std::int64_t>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The gradient of the sum of f.
template <class F>
Doubles slopes(const F& f, const Tensor<double>& x) {
  return grad([&](const Tensor<double>& v) { return sum(f(v)); })(x).values();
}

}  // namespace

TEST_CASE("min prod var and norm of no axes or of a scalar reduce nothing") {
  const Tensor<double> x{{1, -2}, {3, 4}};
  CHECK(min(x, List()).values() == x.values());
  CHECK(prod(x, List()).values() == x.values());
  CHECK(var(x, List()).values() == Doubles(4, 0));
  CHECK(norm(x, List()).values() == Doubles{1, 2, 3, 4});
  const Tensor<double> s(-3);
  CHECK(min(s).item() == -3);
  CHECK(prod(s).item() == -3);
  CHECK(var(s).item() == 0);
  CHECK(norm(s).item() == 3);
}

TEST_CASE("an axis that is not there is refused by min prod var norm and argmax") {
  const auto x = Tensor<double>::ones({2, 3});
  const std::string rest = " axis 2 of 2 axes: it must be at least -2 and below 2.";
  CHECK(invalid([&] { min(x, 2); }) == "[min]" + rest);
  CHECK(invalid([&] { prod(x, 2); }) == "[prod]" + rest);
  CHECK(invalid([&] { var(x, 2); }) == "[var]" + rest);
  CHECK(invalid([&] { norm(x, 2); }) == "[norm]" + rest);
  CHECK(invalid([&] { argmax(x, 2); }) == "[argmax]" + rest);
  CHECK(invalid([] { argmax(Tensor<double>(1)); }) ==
        "[argmax] axis -1 of a scalar: it has no axes.");
}

// ---- min -------------------------------------------------------------------------------------

TEST_CASE("ties share the gradient of min equally") {
  const auto f = [](const auto& x) { return min(x, -1); };
  CHECK(slopes(f, Tensor<double>{1, 1}) == Doubles{0.5, 0.5});
  CHECK(slopes(f, Tensor<double>{{3, 3}, {1, 2}}) == Doubles{0.5, 0.5, 1, 0});
  CHECK(slopes(f, Tensor<double>{0, -0.0}) == Doubles{0.5, 0.5});
  CHECK(slopes(f, Tensor<double>{kInf, kInf}) == Doubles{0.5, 0.5});
}

TEST_CASE("min of inf alone is inf and of nothing throws") {
  CHECK(min(Tensor<double>{kInf, kInf}).item() == kInf);
  CHECK(min(Tensor<double>{{kInf, kInf}, {kInf, 1}}, 0).values() == Doubles{kInf, 1});
  const auto x = Tensor<double>::zeros({2, 0});
  CHECK(invalid([&] { min(x); }) ==
        "[min] shape [2, 0] over axes=[0, 1]: there is nothing to take it of.");
  CHECK(min(x, 0, true).shape() == Shape{1, 0});
}

TEST_CASE("a NaN in a column of min or max is that column's and no other's") {
  const Tensor<double> x{{1, kNan}, {3, 4}};
  CHECK(min(x, 0).values()[0] == 1);
  CHECK(std::isnan(min(x, 0).values()[1]));
  CHECK(min(x, 1).values()[1] == 3);
  CHECK(std::isnan(min(x, 1).values()[0]));
}

// ---- prod ------------------------------------------------------------------------------------

TEST_CASE("the product of nothing is 1 and its gradient is empty") {
  const auto x = Tensor<double>::zeros({2, 0});
  CHECK(prod(x).item() == 1);
  CHECK(prod(x, 1).values() == Doubles{1, 1});
  CHECK(prod(x, 0).shape() == Shape{0});
  CHECK(prod(x, 1, true).shape() == Shape{2, 1});
  CHECK(grad([](const auto& v) { return prod(v); })(x).shape() == Shape{2, 0});
}

TEST_CASE("a zero among the factors has the product of all others for gradient") {
  const auto f = [](const auto& x) { return prod(x); };
  CHECK(slopes(f, Tensor<double>{2, 0, 3}) == Doubles{0, 6, 0});
  CHECK(slopes(f, Tensor<double>{0, 0, 3}) == Doubles{0, 0, 0});
  CHECK(slopes(f, Tensor<double>{0}) == Doubles{1});
  CHECK(slopes([](const auto& x) { return prod(x, 1); },
               Tensor<double>{{0, 2, 3, 4, 5}, {1, 2, 0, 4, 0}}) ==
        Doubles{120, 0, 0, 0, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("two zeros among the factors have the product of all others for second derivative") {
  const auto f = [](const auto& x) { return prod(x); };
  CHECK(hessian(f, Tensor<double>{0, 0, 3}).values() == Doubles{0, 3, 0, 3, 0, 0, 0, 0, 0});
  CHECK(hessian(f, Tensor<double>{2, 0, 3, 0}).values() ==
        Doubles{0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 6, 0, 0});
  // Three zeros have it for a third: of x0 x1 x2, d/dx0 d/dx1 d/dx2 is 1.
  const auto third =
      jacobian([&](const auto& x) { return hessian(f, x); }, Tensor<double>{0, 0, 0});
  CHECK(third.at({0, 1, 2}) == 1);
  CHECK(third.at({2, 0, 1}) == 1);
  CHECK(third.at({0, 0, 1}) == 0);
}

TEST_CASE("the product of any number of factors is that of a loop") {
  // Small whole numbers: exact in any order.
  for (std::int64_t n = 1; n <= 17; ++n) {
    CAPTURE(n);
    double expected = 1;
    for (std::int64_t i = 1; i <= n; ++i) expected *= static_cast<double>(i % 5 + 1);
    std::vector<double> values;
    for (std::int64_t i = 1; i <= n; ++i) values.push_back(static_cast<double>(i % 5 + 1));
    const Tensor<double> x({n}, values);
    CHECK(prod(x).item() == expected);
    CHECK(prod(flip(x)).item() == expected);
    CHECK(prod(reshape(x, {1, n}), 0).values() == values);
  }
}

TEST_CASE("zero times infinity is NaN in a product") {
  CHECK(std::isnan(prod(Tensor<double>{0, kInf}).item()));
  CHECK(prod(Tensor<double>{-2, kInf}).item() == -kInf);
}

// ---- var -------------------------------------------------------------------------------------

TEST_CASE("the variance divides by the number of values less the correction") {
  const Tensor<double> x{1, 2, 3, 6};  // mean 3, squares 4 + 1 + 0 + 9
  CHECK(var(x).item() == 14 / 4.0);
  CHECK(var(x, all, false, 1).item() == 14 / 3.0);
  CHECK(var(x, all, false, 2).item() == 7);
  CHECK(var(x, all, false, -1).item() == 14 / 5.0);
  const Tensor<double> y{{1, 2, 3, 6}, {0, 0, 0, 0}};
  CHECK(var(y, 1).values() == Doubles{3.5, 0});
  CHECK(var(y, 1, true).shape() == Shape{2, 1});
  CHECK(var(y, 0).values() == Doubles{0.25, 1, 2.25, 9});
}

TEST_CASE("the variance's gradient is twice the distance from the mean over the divisor") {
  const Tensor<double> x{1, 2, 3, 6};
  CHECK(slopes([](const auto& v) { return var(v); }, x) == Doubles{-1, -0.5, 0, 1.5});
  CHECK(slopes([](const auto& v) { return var(v, all, false, 2); }, x) == Doubles{-2, -1, 0, 3});
  // H = 2 / n (1 if i = j, less 1 / n)
  CHECK(hessian([](const auto& v) { return var(v); }, Tensor<double>{5, 9}).values() ==
        Doubles{0.5, -0.5, -0.5, 0.5});
}

TEST_CASE("the variance far from 0 is that of the differences") {
  // The mean square less the square of the mean would have no digit left.
  CHECK(var(Tensor<double>{1e8, 1e8 + 2, 1e8 + 4}).item() == 8 / 3.0);
  CHECK(var(Tensor<float>{16777000, 16777002, 16777004, 16777010}, all).item() == 14.0f);
  // The mean, 16777003.75, is no float.
  const Tensor<float> x{16777001, 16777002, 16777004, 16777008};
  CHECK(var(x).item() == (2.75 * 2.75 + 1.75 * 1.75 + 0.25 * 0.25 + 4.25 * 4.25) / 4);
  CHECK(grad([](const auto& v) { return var(v); })(x).values() ==
        Floats{-2.75 / 2, -1.75 / 2, 0.25 / 2, 4.25 / 2});
}

TEST_CASE("the variance refuses a divisor that is not above 0") {
  const std::string rest = ": more values are required.";
  CHECK(invalid([] { var(Tensor<double>::zeros({0})); }) ==
        "[var] 0 values with a correction of 0.000000" + rest);
  CHECK(invalid([] {
          var(Tensor<double>::ones({3, 1}), 1, false, 1);
        }) == "[var] 1 value with a correction of 1.000000" + rest);
  CHECK(invalid([] { var(Tensor<double>::ones({2}), all, false, 2.5); }) ==
        "[var] 2 values with a correction of 2.500000" + rest);
  CHECK(invalid([] { var(Tensor<double>::ones({2}), all, false, kNan); }) ==
        "[var] 2 values with a correction of nan" + rest);
  CHECK(invalid([] { var(Tensor<double>::zeros({0}), all, false, -1); }) ==
        "[var] 0 values with a correction of -1.000000" + rest);
  CHECK(var(Tensor<double>::zeros({3, 0}), 0, false, 1).shape() == Shape{0});
}

// ---- norm ------------------------------------------------------------------------------------

// Source: PyTorch#2421, JAX#3058
TEST_CASE("the norm at the zero vector has gradient 0 and finite second derivatives") {
  const auto f = [](const auto& x) { return norm(x); };
  const Tensor<double> zero{0, -0.0};
  CHECK(norm(zero).item() == 0);
  CHECK(slopes(f, zero) == Doubles{0, 0});
  CHECK(hessian(f, zero).values() == Doubles(4, 0));
  CHECK(hvp(f, zero, Tensor<double>{1, 1}).values() == Doubles{0, 0});
  const Tensor<double> rows{{0, 0}, {3, 4}};
  const auto by_rows = [](const auto& x) { return norm(x, 1); };
  CHECK(by_rows(rows).values() == Doubles{0, 5});
  CHECK(error(slopes(by_rows, rows), {0, 0, 0.6, 0.8}) <= 1e-15);
  // H = (1 if i = j, less y_i y_j) / |x|, y the unit vector
  const auto h = hessian([&](const auto& x) { return sum(by_rows(x)); }, rows).values();
  CHECK(error(h, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.64 / 5, -0.48 / 5, 0, 0, -0.48 / 5, 0.36 / 5}) <=
        1e-15);
}

TEST_CASE("the norm of nothing is 0") {
  const auto x = Tensor<double>::zeros({2, 0});
  CHECK(norm(x).item() == 0);
  CHECK(norm(x, 1, true).shape() == Shape{2, 1});
  CHECK(grad([](const auto& v) { return norm(v); })(x).shape() == Shape{2, 0});
}

TEST_CASE("the norm of floats is accumulated in double") {
  // The squares are beyond float's range, or the sum beyond its 24 bits.
  CHECK(norm(Tensor<float>{3e30, 4e30}).item() == 5e30f);
  CHECK(norm(Tensor<float>{3e-30, 4e-30}).item() == doctest::Approx(5e-30).epsilon(1e-6));
  Floats values(4097, 1);
  values[0] = 4096;
  CHECK(norm(Tensor<float>({4097}, values)).item() ==
        static_cast<float>(std::sqrt(16777216.0 + 4096)));
  CHECK(norm(Tensor<double>{kInf, 1}).item() == kInf);
}

TEST_CASE("the norm of doubles whose squares overflow or underflow is right") {
  for (const double scale : {1e300, 1e160, 1e-160, 1e-300}) {
    const Tensor<double> x{{3 * scale, -4 * scale}, {0, 0}, {5, 12}};
    CHECK(error(norm(x, 1).values(), {5 * scale, 0, 13}) <= 1e-15);
    CHECK(norm(x, 1).values()[0] == doctest::Approx(5 * scale).epsilon(1e-15));
    CHECK(norm(slice(x, 0, 0, 2)).item() == doctest::Approx(5 * scale).epsilon(1e-15));
    CHECK(norm(x, 0).shape() == Shape{2});
    const auto g = slopes([](const auto& v) { return norm(v, 1); }, x);
    CHECK(error(g, {0.6, -0.8, 0, 0, 5 / 13.0, 12 / 13.0}) <= 1e-15);
  }
  CHECK(norm(Tensor<double>{1e308, -1e308, 1e308, 1e308}).item() == kInf);
  CHECK(norm(Tensor<double>{1e200, -kInf}).item() == kInf);
  CHECK(std::isnan(norm(Tensor<double>{1e200, kNan}).item()));
}

// ---- argmax ----------------------------------------------------------------------------------

TEST_CASE("argmax gives the first of equal values along any axis") {
  const Tensor<double> x{{1, 3, 3}, {5, 3, 5}};
  CHECK(argmax(x).values() == List{1, 0});
  CHECK(argmax(x, 1).values() == List{1, 0});
  CHECK(argmax(x, 0).values() == List{1, 0, 1});
  CHECK(argmax(x, -2).values() == List{1, 0, 1});
  CHECK(argmax(x, -2, true).shape() == Shape{1, 3});
  CHECK(argmax(x, 1, true).shape() == Shape{2, 1});
  CHECK(argmax(Tensor<double>{0, -0.0}).item() == 0);
  CHECK(argmax(Tensor<double>{-0.0, 0}).item() == 0);
  CHECK(argmax(Tensor<double>{-kInf, -kInf}).item() == 0);
  CHECK(argmax(Tensor<float>{7}).item() == 0);
}

TEST_CASE("argmax gives the position of the first NaN") {
  CHECK(argmax(Tensor<double>{1, kNan, kInf, kNan}).item() == 1);
  CHECK(argmax(Tensor<double>{kNan, 2}).item() == 0);
  CHECK(argmax(Tensor<double>{{1, 2}, {kNan, 1}}, 0).values() == List{1, 0});
  CHECK(argmax(Tensor<float>{kInf, -kNan}).item() == 1);
}

TEST_CASE("argmax reads strided tensors and takes its position where gather takes it") {
  const auto x = Random(4).normal<double>({3, 4, 2});
  for (const auto& view : {x, transpose(x, {2, 0, 1}), flip(x), slice(x, 1, 0, 4, 2)})
    for (const int axis : {0, 1, -1})
      CHECK(take_along_axis(view, argmax(view, axis, true), axis).values() ==
            max(view, axis).values());
}

TEST_CASE("argmax over nothing throws and of nothing is empty") {
  const auto x = Tensor<double>::zeros({2, 0});
  CHECK(invalid([&] { argmax(x); }) ==
        "[argmax] shape [2, 0] over axes=[1]: there is nothing to take it of.");
  CHECK(argmax(x, 0).shape() == Shape{0});
}

TEST_CASE("argmax writes nothing on a tape") {
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{1, 2});
  CHECK(argmax(x).item() == 1);
  CHECK(tape.size() == 1);
}
