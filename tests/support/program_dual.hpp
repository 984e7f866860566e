// Dual numbers: a value with its derivatives in a few directions, which the arithmetic carries
// along. The same formulas, given doubles, compute values alone.
// Source: Griewank and Walther, Evaluating Derivatives, chapter 3.1 (SIAM 2008)
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

namespace programs {

struct Dual {
  static constexpr std::size_t kDirections = 8;
  double value = 0;
  std::array<double, kDirections> slope{};

  Dual() = default;
  Dual(double v) : value(v) {}
};

inline double number(double x) { return x; }
inline double number(const Dual& x) { return x.value; }

/// y with the slopes dx x' + du u'.
inline Dual combine(double y, double dx, const Dual& x, double du, const Dual& u) {
  Dual result(y);
  for (std::size_t i = 0; i < Dual::kDirections; ++i)
    result.slope[i] = dx * x.slope[i] + du * u.slope[i];
  return result;
}

inline Dual operator+(const Dual& a, const Dual& b) {
  return combine(a.value + b.value, 1, a, 1, b);
}
inline Dual operator-(const Dual& a, const Dual& b) {
  return combine(a.value - b.value, 1, a, -1, b);
}
inline Dual operator*(const Dual& a, const Dual& b) {
  return combine(a.value * b.value, b.value, a, a.value, b);
}
inline Dual operator/(const Dual& a, const Dual& b) {
  const double y = a.value / b.value;
  return combine(y, 1 / b.value, a, -y / b.value, b);
}
inline Dual operator-(const Dual& x) { return Dual(0) - x; }

inline Dual function(const Dual& x, double y, double dy) { return combine(y, dy, x, 0, x); }
inline Dual exp(const Dual& x) { return function(x, std::exp(x.value), std::exp(x.value)); }
inline Dual log(const Dual& x) { return function(x, std::log(x.value), 1 / x.value); }
inline Dual sqrt(const Dual& x) {
  // At 0 it stands for the length of a zero vector, whose slope is 0 by convention.
  const double y = std::sqrt(x.value);
  return function(x, y, y > 0 ? 0.5 / y : 0);
}
inline Dual tanh(const Dual& x) {
  return function(x, std::tanh(x.value), 1 / (std::cosh(x.value) * std::cosh(x.value)));
}
inline Dual sin(const Dual& x) { return function(x, std::sin(x.value), std::cos(x.value)); }
inline Dual cos(const Dual& x) { return function(x, std::cos(x.value), -std::sin(x.value)); }
inline Dual erf(const Dual& x) {
  const double slope = 2 / std::sqrt(std::acos(-1.0)) * std::exp(-x.value * x.value);
  return function(x, std::erf(x.value), slope);
}

}  // namespace programs
