// The logarithm and softplus for vectors; tests/accuracy_test.cpp has their largest errors.
#pragma once

#include <limits>

#include "exp.hpp"
#include "simd.hpp"

namespace xtape::detail {
namespace {

template <class T>
struct LogConstants;
template <>
struct LogConstants<float> {
  static constexpr float kSmallest = 1.17549435e-38f;  // that is no denormal
  static constexpr Bits<float> kSqrtHalf = 0x3f3504f3;
  // ((ln((1 + s) / (1 - s)) - 2 s) / s^3 as a polynomial of s^2, minimax for s^2 <= (3 -
  // 8^(1/2))^2: off by 2^-29 of ln(1 + f).
  static constexpr float kPolynomial[] = {0.6666677541f, 0.3997762992f, 0.2986987442f};
};
template <>
struct LogConstants<double> {
  static constexpr double kSmallest = 2.2250738585072014e-308;
  static constexpr Bits<double> kSqrtHalf = 0x3fe6a09e667f3bcd;
  static constexpr double kPolynomial[] = {// off by 2^-58
                                           0.6666666666666730445,  0.39999999999435170257,
                                           0.28571428738593803115, 0.22222198909401305054,
                                           0.18183548884612490697, 0.15314405135774271001,
                                           0.14792730097590895608};
};

/// ln(1 + f) + k ln 2 for 2^(-1/2) <= 1 + f <= 2^(1/2).
template <class V>
V log_near_one(V f, V k) {
  using T = typename V::value_type;
  using C = ExpConstants<T>;
  // ln(1 + f) = f - f^2 / 2 + s (f^2 / 2 + r), s = f / (2 + f): f is exact, all else is small.
  const V s = divide(f, V(T(2)) + f), z = s * s, half = V(T(0.5)) * f * f;
  const V r = z * polynomial(z, LogConstants<T>::kPolynomial);
  const V small = multiply_add(s, half + r, k * V(C::kRest));
  return multiply_add(k, V(C::kLn2), f - (half - small));
}

struct Log {
  template <class V>
  V operator()(V x) const {
    using T = typename V::value_type;
    using U = Bits<T>;
    using F = Format<T>;
    using C = LogConstants<T>;
    using Isa = typename V::arch_type;
    constexpr T kInf = std::numeric_limits<T>::infinity();
    constexpr U kOne = F::kBias << F::kDigits;
    constexpr T kPower = T(U(1) << F::kDigits);
    const V zero(T(0));
    const auto denormal = x < V(C::kSmallest);
    // x = m 2^k, m from 2^(-1/2) to 2^(1/2).
    const auto bits = to_bits(xsimd::select(denormal, x * V(kPower), x)) + (kOne - C::kSqrtHalf);
    const V m = from_bits<T, Isa>((bits & ((U(1) << F::kDigits) - 1)) + C::kSqrtHalf);
    // The last bits of 2^kDigits are a whole number.
    const V number = from_bits<T, Isa>((bits >> F::kDigits) | to_bits(V(kPower)));
    const V k = number - xsimd::select(denormal, V(kPower + T(F::kBias + F::kDigits)),
                                       V(kPower + T(F::kBias)));
    const V y = log_near_one(m - V(T(1)), k);
    const V pole = xsimd::select(x == zero, V(-kInf), V(std::numeric_limits<T>::quiet_NaN()));
    return xsimd::select(x > zero, xsimd::select(x == V(kInf), x, y), pole);
  }
};

struct Softplus {
  template <class V>
  V operator()(V x) const {
    using T = typename V::value_type;
    // ln(1 + e^x) = max(x, 0) + ln(1 + e), e = e^-|x| <= 1: for large e, ln 2 + ln(1 + (e - 1) /
    // 2).
    const V zero(T(0)), one(T(1)), e = Exp()(-magnitude(x));
    const auto large = e > V(T(0.41421356237309505));
    const V f = xsimd::select(large, (e - one) * V(T(0.5)), e);
    return xsimd::select(x > zero, x, zero) + log_near_one(f, xsimd::select(large, one, zero));
  }
};

}  // namespace
}  // namespace xtape::detail
