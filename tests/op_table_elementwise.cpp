// Rows of ops/elementwise.hpp.
#include <xtape/ops/elementwise.hpp>

#include <cmath>

#include "op_table.hpp"
#include "support/plain_ops.hpp"

namespace op_table {

namespace {

using plain::Values;

constexpr Domain kPositive{Domain::kBetween, 0.5, 2};
constexpr Domain kNotZero{Domain::kOutside, 0.5, 2};
constexpr Domain kSmall{Domain::kBetween, -0.4, 0.4};  // apart from kNotZero

std::vector<Sample> one_operand() {
  return {{{2, 3}}, {{}}, {{1}}, {{2, 1, 3}}, {{0}}, {{2, 0, 3}}};
}

std::vector<Sample> two_operands() {
  return {{{2, 3}, {2, 3}}, {{2, 3}, {3}},    {{3}, {2, 3}},    {{4, 1}, {1, 3}}, {{2, 3}, {}},
          {{}, {2, 3}},     {{2, 3}, {1}},    {{1, 1}, {2, 1}}, {{}, {}},         {{1}, {}},
          {{0}, {1}},       {{1, 1}, {0, 1}}, {{2, 1}, {1, 0}}, {{2, 0, 3}, {3}}, {{0}, {0}}};
}

/// y = f(x) with derivative d(x).
template <class F, class D>
Row unary(const char* name, Op op, F f, D d, Domain domain = {}) {
  return {name,
          one_operand(),
          std::move(op),
          plain::elementwise([f](const Values& x) { return f(x[0]); }),
          plain::elementwise_vjp([d](const Values& x) { return Values{d(x[0])}; }),
          {domain}};
}

/// y = f(a, b) with derivatives da(a, b) and db(a, b).
template <class F, class DA, class DB>
Row binary(const char* name, Op op, F f, DA da, DB db, Domain a = {}, Domain b = {}) {
  return {name,
          two_operands(),
          std::move(op),
          plain::elementwise([f](const Values& x) { return f(x[0], x[1]); }),
          plain::elementwise_vjp([da, db](const Values& x) {
            return Values{da(x[0], x[1]), db(x[0], x[1])};
          }),
          {a, b}};
}

double one(double, double) { return 1; }

Rows arithmetic() {
  return {
      binary(
          "add", [](const auto& x) { return x[0] + x[1]; },
          [](double a, double b) { return a + b; }, one, one),
      binary(
          "sub", [](const auto& x) { return x[0] - x[1]; },
          [](double a, double b) { return a - b; }, one, [](double, double) { return -1.0; }),
      binary(
          "mul", [](const auto& x) { return x[0] * x[1]; },
          [](double a, double b) { return a * b; }, [](double, double b) { return b; },
          [](double a, double) { return a; }),
      binary(
          "div", [](const auto& x) { return x[0] / x[1]; },
          [](double a, double b) { return a / b; }, [](double, double b) { return 1 / b; },
          [](double a, double b) { return -a / (b * b); }, Domain(), kNotZero),
      binary(
          "chain", [](const auto& x) { return chain(x[0], x[1]); },
          [](double g, double d) { return g * d; }, [](double, double d) { return d; },
          [](double g, double) { return g; }),
      binary(
          "pow", [](const auto& x) { return pow(x[0], x[1]); },
          [](double a, double b) { return std::exp(b * std::log(a)); },
          [](double a, double b) { return b * std::exp((b - 1) * std::log(a)); },
          [](double a, double b) { return std::exp(b * std::log(a)) * std::log(a); }, kPositive),
  };
}

Rows with_a_number() {
  return {
      unary(
          "add of a number", [](const auto& x) { return 0.5 + x[0]; },
          [](double v) { return v + 0.5; }, [](double) { return 1.0; }),
      unary(
          "sub of a number", [](const auto& x) { return x[0] - 0.5; },
          [](double v) { return v - 0.5; }, [](double) { return 1.0; }),
      unary(
          "sub from a number", [](const auto& x) { return 2 - x[0]; },
          [](double v) { return 2 - v; }, [](double) { return -1.0; }),
      unary(
          "mul by a number", [](const auto& x) { return x[0] * -3; },
          [](double v) { return -3 * v; }, [](double) { return -3.0; }),
      unary(
          "div by a number", [](const auto& x) { return x[0] / 4; }, [](double v) { return v / 4; },
          [](double) { return 0.25; }),
      unary(
          "div of a number", [](const auto& x) { return 3 / x[0]; }, [](double v) { return 3 / v; },
          [](double v) { return -3 / (v * v); }, kNotZero),
      unary(
          "pow to a number, cubes of either sign", [](const auto& x) { return pow(x[0], 3); },
          [](double v) { return v * v * v; }, [](double v) { return 3 * v * v; }, kNotZero),
      unary(
          "pow to a number, x^-0.5", [](const auto& x) { return pow(x[0], -0.5); },
          [](double v) { return 1 / std::sqrt(v); },
          [](double v) { return -0.5 / (v * std::sqrt(v)); }, kPositive),
      unary(
          "pow of a number, 2^x",
          [](const auto& x) {
            return pow(typename std::decay_t<decltype(x)>::value_type(2), x[0]);
          },
          [](double v) { return std::exp2(v); },
          [](double v) { return std::exp2(v) * std::log(2.0); }),
      unary(
          "mul of x with itself", [](const auto& x) { return x[0] * x[0]; },
          [](double v) { return v * v; }, [](double v) { return 2 * v; }),
  };
}

Rows functions() {
  const auto sigma = [](double v) { return 1 / (1 + std::exp(-v)); };
  return {
      unary(
          "neg", [](const auto& x) { return -x[0]; }, [](double v) { return -v; },
          [](double) { return -1.0; }),
      unary(
          "exp", [](const auto& x) { return exp(x[0]); }, [](double v) { return std::exp(v); },
          [](double v) { return std::exp(v); }),
      unary(
          "exp2", [](const auto& x) { return exp2(x[0]); },
          [](double v) { return std::pow(2.0, v); },
          [](double v) { return std::pow(2.0, v) * std::log(2.0); }),
      unary(
          "log", [](const auto& x) { return log(x[0]); }, [](double v) { return std::log(v); },
          [](double v) { return 1 / v; }, kPositive),
      unary(
          "sqrt", [](const auto& x) { return sqrt(x[0]); }, [](double v) { return std::sqrt(v); },
          [](double v) { return 1 / (2 * std::sqrt(v)); }, kPositive),
      unary(
          "square", [](const auto& x) { return square(x[0]); }, [](double v) { return v * v; },
          [](double v) { return 2 * v; }),
      unary(
          "tanh", [](const auto& x) { return tanh(x[0]); },
          [](double v) { return std::sinh(v) / std::cosh(v); },
          [](double v) { return 1 / (std::cosh(v) * std::cosh(v)); }),
      unary(
          "sigmoid", [](const auto& x) { return sigmoid(x[0]); }, sigma,
          [sigma](double v) { return sigma(v) * sigma(-v); }),
      unary(
          "relu", [](const auto& x) { return relu(x[0]); },
          [](double v) { return v > 0 ? v : 0.0; }, [](double v) { return v > 0 ? 1.0 : 0.0; },
          Domain{Domain::kOutside, 0.1, 2}),
      unary(
          "sin", [](const auto& x) { return sin(x[0]); }, [](double v) { return std::sin(v); },
          [](double v) { return std::cos(v); }),
      unary(
          "cos", [](const auto& x) { return cos(x[0]); }, [](double v) { return std::cos(v); },
          [](double v) { return -std::sin(v); }),
  };
}

Rows activations() {
  const double pi = std::acos(-1.0);
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  const auto normal = [](double v) { return (1 + std::erf(v / std::sqrt(2.0))) / 2; };
  const auto density = [pi](double v) { return std::exp(-v * v / 2) / std::sqrt(2 * pi); };
  return {
      unary(
          "erf", [](const auto& x) { return erf(x[0]); }, [](double v) { return std::erf(v); },
          [pi](double v) { return 2 / std::sqrt(pi) * std::exp(-v * v); }),
      unary(
          "gelu", [](const auto& x) { return gelu(x[0]); },
          [normal](double v) { return v * normal(v); },
          [normal, density](double v) { return normal(v) + v * density(v); }),
      unary(
          "silu", [](const auto& x) { return silu(x[0]); },
          [sigmoid](double v) { return v * sigmoid(v); },
          [sigmoid](double v) { return sigmoid(v) + v * sigmoid(v) * sigmoid(-v); }),
      unary(
          "softplus", [](const auto& x) { return softplus(x[0]); },
          [](double v) { return std::log(1 + std::exp(v)); }, sigmoid),
  };
}

Rows choices() {
  const auto above = [](double v) { return v > 0 ? 1.0 : 0.0; };
  return {
      unary(
          "abs", [](const auto& x) { return abs(x[0]); }, [](double v) { return v > 0 ? v : -v; },
          [](double v) { return v > 0 ? 1.0 : -1.0; }, kNotZero),
      unary(
          "clamp, at least 0", [](const auto& x) { return clamp(x[0], 0, 3); },
          [](double v) { return v > 0 ? v : 0.0; }, above, kNotZero),
      unary(
          "clamp, at most 0", [](const auto& x) { return clamp(x[0], -3, 0); },
          [](double v) { return v > 0 ? 0.0 : v; }, [above](double v) { return above(-v); },
          kNotZero),
      unary(
          "maximum of x and a number", [](const auto& x) { return maximum(x[0], 0.25); },
          [](double v) { return v > 0.25 ? v : 0.25; }, above, kNotZero),
      unary(
          "minimum of x and a number", [](const auto& x) { return minimum(x[0], 0.25); },
          [](double v) { return v > 0.25 ? 0.25 : v; }, [above](double v) { return above(-v); },
          kNotZero),
      binary(
          "maximum", [](const auto& x) { return maximum(x[0], x[1]); },
          [](double a, double b) { return a > b ? a : b; },
          [above](double a, double b) { return above(a - b); },
          [above](double a, double b) { return above(b - a); }, kNotZero, kSmall),
      binary(
          "minimum", [](const auto& x) { return minimum(x[0], x[1]); },
          [](double a, double b) { return a > b ? b : a; },
          [above](double a, double b) { return above(b - a); },
          [above](double a, double b) { return above(a - b); }, kSmall, kNotZero),
  };
}

}  // namespace

Rows elementwise_rows() {
  Rows result;
  for (const auto part : {arithmetic, with_a_number, functions, activations, choices})
    for (Row& row : part()) result.push_back(std::move(row));
  return result;
}

}  // namespace op_table
