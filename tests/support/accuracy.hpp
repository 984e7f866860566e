// How exact the functions of one value are: the largest error that each may have, in units in the
// last place of the exact result.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <xtape/ops/elementwise.hpp>
#include <xtape/tensor.hpp>

namespace accuracy {

/// |found - exact| in units in the last place of exact, counted as those of the smallest normal
/// number below it; infinite where only one is NaN or, rounded, only one is infinite.
template <class T, class Exact>
double error_in_ulps(T found, Exact exact) {
  using Limits = std::numeric_limits<T>;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const T rounded = static_cast<T>(exact);
  if (std::isnan(found) || std::isnan(exact))
    return std::isnan(found) && std::isnan(exact) ? 0 : kInfinity;
  if (std::isinf(found) || std::isinf(rounded)) return found == rounded ? 0 : kInfinity;
  int exponent = Limits::min_exponent;  // exact = m 2^exponent, 1/2 <= m < 1
  if (exact != 0) std::frexp(exact, &exponent);
  if (exponent < Limits::min_exponent) exponent = Limits::min_exponent;
  const Exact unit = std::ldexp(Exact(1), exponent - Limits::digits);
  return static_cast<double>(std::abs(static_cast<Exact>(found) - exact) / unit);
}

/// A function, how it is computed in a wider type, and what its error may be.
template <class T, class Exact>
struct Function {
  const char* name;
  xtape::Tensor<T> (*op)(const xtape::Tensor<T>&);
  Exact (*exact)(Exact);
  double bound;
};

template <class R>
R sigmoid(R x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
template <class R>
R silu(R x) {
  return x < 0 && std::isinf(x) ? 0 : x * sigmoid(x);
}
template <class R>
R softplus(R x) {
  return (x > 0 ? x : R(0)) + std::log1p(std::exp(-std::abs(x)));
}

template <class T, class R>
std::vector<Function<T, R>> functions() {
  return {
      {"exp", xtape::exp<T>, [](R x) { return std::exp(x); }, 1},
      {"exp2", xtape::exp2<T>, [](R x) { return std::exp2(x); }, 1.2},
      {"log", xtape::log<T>, [](R x) { return std::log(x); }, 1},
      {"tanh", xtape::tanh<T>, [](R x) { return std::tanh(x); }, 3},
      {"sigmoid", xtape::sigmoid<T>, sigmoid<R>, 3},
      {"silu", xtape::silu<T>, silu<R>, 4},
      {"softplus", xtape::softplus<T>, softplus<R>, 2},
  };
}

}  // namespace accuracy
