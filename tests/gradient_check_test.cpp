// check_gradients: what it accepts, what it rejects, and what it says.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/errors.hpp"

namespace {

using namespace xtape;
using test::invalid;

template <class T>
using Tensors = std::vector<Tensor<T>>;

/// x, with `factor` times the right gradient at position `at`, and the right one elsewhere.
template <class T>
Tensor<T> wrong_at(const Tensor<T>& x, std::size_t at, double factor) {
  std::vector<T> factors(static_cast<std::size_t>(x.size()), T(1));
  factors[at] = static_cast<T>(factor);
  const Tensor<T> f(x.shape(), factors);
  return record<T>("wrong", stop_gradient(x), {{x, [f](In<T> g) { return g * f; }}});
}

/// x^2 / 2 with the right gradient x, whose own derivative is wrong.
template <class T>
Tensor<T> wrong_second(const Tensor<T>& x) {
  return record<T>("wrong", square(stop_gradient(x)) / 2,
                   {{x, [x](In<T> g) { return chain(g, wrong_at(x, 0, 1.5)); }}});
}

/// Numbers as a report shows them.
std::string shown(double value) {
  std::ostringstream out;
  out.precision(17);
  out << value;
  return out.str();
}

}  // namespace

TEST_CASE("right gradients pass to first and second order in double and float") {
  Random random(4);
  const auto f = [](const auto& x) { return matmul(tanh(x[0]), x[1]) + x[2] * x[2] / exp(x[2]); };
  const Tensors<double> wide{random.normal<double>({2, 3}), random.normal<double>({3, 4}),
                             random.normal<double>({2, 1})};
  const auto first = check_gradients<double>(f, wide);
  CHECK(first.message == "");
  CHECK(first.ok);
  CHECK(static_cast<bool>(first));
  GradientCheck<double> options;
  options.order = 2;
  CHECK(check_gradients<double>(f, wide, options).message == "");
  const Tensors<float> narrow{cast<float>(wide[0]), cast<float>(wide[1]), cast<float>(wide[2])};
  GradientCheck<float> float_options;
  float_options.order = 2;
  CHECK(check_gradients<float>(f, narrow, float_options).message == "");
}

TEST_CASE("a wrong gradient is rejected with its input its index and its numbers") {
  // f(a, b) = b linear, at 0 with a step of 1: the differences are exact, and the tape's gradient
  // is the cotangent itself, or 1.5 times that where it is wrong. The cotangent is the first
  // normal draws of the seed.
  GradientCheck<double> options;
  options.step = 1;
  options.tolerance = 0.25;
  options.seed = 9;
  const auto cotangent = Random(9).normal<double>({2, 3}).values();
  double largest = 0;
  for (const double v : cotangent) largest = std::max(largest, std::abs(v));
  // 100 times the right value is out of any tolerance that the largest allows.
  const auto f = [](const auto& x) { return wrong_at(x[1], 4, 100) + 0 * sum(x[0]); };
  const auto report = check_gradients<double>(
      f, {Tensor<double>({1}, {0}), Tensor<double>::zeros({2, 3})}, options);
  const double right = cotangent[4], found = 100 * right;
  CHECK(!report.ok);
  CHECK(!static_cast<bool>(report));
  CHECK(report.message == "input 1 at [1, 1]: the tape gives " + shown(found) +
                              ", central differences " + shown(right) + ", a difference of " +
                              shown(std::abs(found - right)) + " where " +
                              shown(0.25 * (1 + largest)) + " is allowed.");
}

TEST_CASE("a gradient that is off by one percent is rejected") {
  const auto f = [](const auto& x) { return wrong_at(x[0], 0, 1.01); };
  CHECK(!check_gradients<double>(f, {Tensor<double>(1)}).ok);
}

// Source: PyTorch#5351, PyTorch#8659
TEST_CASE("a gradient in float that is off by a half is rejected") {
  // Tolerances in float are wide, since differences themselves are good to three digits only.
  const auto f = [](const auto& x) { return wrong_at(10 * x[0], 0, 1.5); };
  CHECK(!check_gradients<float>(f, {Tensor<float>(1)}).ok);
}

TEST_CASE("a wrong second derivative is found at order two only") {
  const auto f = [](const auto& x) { return wrong_second(x[0]); };
  GradientCheck<double> options;
  const Tensors<double> at{Tensor<double>(0.75)};
  // The value of wrong_at is x itself: the gradient is right, its derivative is 1.5 times too
  // large.
  CHECK(check_gradients<double>(f, at, options).message == "");
  options.order = 2;
  const auto report = check_gradients<double>(f, at, options);
  CHECK(!report.ok);
  CHECK(report.message.find("second order, input 0 at []: the tape gives ") == 0);
}

TEST_CASE("a missing dependence is a wrong gradient") {
  const auto f = [](const auto& x) { return x[0] * stop_gradient(x[1]); };
  const auto report = check_gradients<double>(f, {Tensor<double>(2), Tensor<double>(3)});
  CHECK(!report.ok);
  CHECK(report.message.find("input 1 at []: the tape gives 0, central differences ") == 0);
}

TEST_CASE("a gradient that is NaN or infinite never passes") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (const double factor : {nan, inf, -inf}) {
    const auto f = [&](const auto& x) { return wrong_at(x[0], 1, factor); };
    const auto report = check_gradients<double>(f, {Tensor<double>{1, 2}});
    CHECK(!report.ok);
    CHECK(report.message.find("input 0 at [1]: the tape gives ") == 0);
  }
  // Nor does one whose differences are NaN: sqrt at a negative number.
  CHECK(
      !check_gradients<double>([](const auto& x) { return sqrt(x[0]); }, {Tensor<double>(-1)}).ok);
}

TEST_CASE("an analytic gradient is compared where it is given") {
  const auto f = [](const auto& x) { return x[0] * x[1]; };
  const Tensors<double> at{Tensor<double>{2, 3}, Tensor<double>{5, 7}};
  GradientCheck<double> options;
  options.analytic = [](const Tensors<double>& x, In<double> g) {
    return Tensors<double>{g * x[1], g * x[0]};
  };
  CHECK(check_gradients<double>(f, at, options).message == "");
  options.analytic = [](const Tensors<double>& x, In<double> g) {
    return Tensors<double>{g * x[1], 1.0001 * g * x[0]};
  };
  const auto report = check_gradients<double>(f, at, options);
  CHECK(!report.ok);
  CHECK(report.message.find("input 1 at [0]: the tape gives ") == 0);
  CHECK(report.message.find(", the analytic VJP ") != std::string::npos);
}

TEST_CASE("an analytic gradient is compared relative to its largest value") {
  const auto f = [](const auto& x) { return 1e-3 * x[0]; };
  GradientCheck<double> options;
  options.analytic_tolerance = 1e-6;
  options.analytic = [](const Tensors<double>&, In<double> g) {
    return Tensors<double>{1e-3 * (1 + 1e-5) * g};
  };
  CHECK(!check_gradients<double>(f, {Tensor<double>(2)}, options).ok);
}

TEST_CASE("an analytic gradient of the wrong number or shape throws") {
  const auto f = [](const auto& x) { return x[0] * x[1]; };
  const Tensors<double> at{Tensor<double>{2, 3}, Tensor<double>{5, 7}};
  GradientCheck<double> options;
  options.analytic = [](const Tensors<double>& x, In<double>) { return Tensors<double>{x[0]}; };
  CHECK(invalid([&] { check_gradients<double>(f, at, options); }) ==
        "[check_gradients] the analytic VJP gave 1 cotangents for 2 inputs: one an input is "
        "required.");
  options.analytic = [](const Tensors<double>& x, In<double> g) {
    return Tensors<double>{g * x[1], sum(x[0])};
  };
  CHECK(invalid([&] { check_gradients<double>(f, at, options); }) ==
        "[check_gradients] the analytic VJP gave shape [] for input 1 of shape [2]: the shapes "
        "must be equal.");
}

TEST_CASE("an order other than one or two throws") {
  GradientCheck<double> options;
  options.order = 3;
  const auto f = [](const auto& x) { return x[0]; };
  CHECK(invalid([&] { check_gradients<double>(f, {Tensor<double>(1)}, options); }) ==
        "[check_gradients] order 3: 1 or 2 is required.");
}

TEST_CASE("a check of strided and empty and scalar inputs looks at every value") {
  int calls = 0;
  const auto f = [&](const auto& x) {
    ++calls;
    return sum(x[0] * x[1]) + sum(x[2]);
  };
  const auto strided = transpose(Tensor<double>({2, 3}, {1, 2, 3, 4, 5, 6}));
  const auto report =
      check_gradients<double>(f, {strided, Tensor<double>(2), Tensor<double>::zeros({0})});
  CHECK(report.message == "");
  CHECK(calls == 2 + 2 * 7);  // the shape, the tape, and two a value
}

TEST_CASE("an exception of the function that is checked comes through") {
  const auto f = [](const auto& x) { return reshape(x[0], {7}); };
  CHECK_THROWS_AS(check_gradients<double>(f, {Tensor<double>(1)}), std::invalid_argument);
}
