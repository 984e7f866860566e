// The exponential and its relatives for vectors, and for every number: gradual underflow, overflow
// where it is due, NaN stays NaN. The largest errors, in units in the last place, over all floats
// and many doubles, are those that tests/accuracy_test.cpp allows.
#pragma once

#include <cstddef>

#include "simd.hpp"

namespace xtape::detail {
namespace {

template <class T>
struct ExpConstants;
template <>
struct ExpConstants<float> {
  // Beyond them e^x is 0 or infinite, and so is x e^x or 0.
  static constexpr float kLow = -150, kHigh = 89;
  static constexpr float kLog2E = 1.44269504f;
  // ln 2 = kLn2 + kRest, where n kLn2 is exact.
  static constexpr float kLn2 = 0.693145752f, kRest = 1.42860677e-6f;
  // (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2, minimax: off by 2^-28 of e^r.
  static constexpr float kPolynomial[] = {0.4999999355f, 0.1666652139f, 0.04166837433f,
                                          0.008368646378f, 0.001381496886f};
  // (2^r - 1) / r for |r| <= 1/2, minimax: off by 2^-29 of 2^r.
  static constexpr float kPolynomial2[] = {0.6931472029f,   0.2402264791f,   0.05550332471f,
                                           0.009618437358f, 0.001339887438f, 0.0001535336179f};
  // Beyond them 2^x is 0 or infinite.
  static constexpr float kLow2 = -160, kHigh2 = 130;
  static constexpr float kTanhIsOne = 10;
};
template <>
struct ExpConstants<double> {
  static constexpr double kLow = -760, kHigh = 710;
  static constexpr double kLog2E = 1.4426950408889634;
  static constexpr double kLn2 = 6.93147180369123816490e-01, kRest = 1.90821492927058770002e-10;
  static constexpr double kPolynomial[] = {// off by 2^-58
                                           0.50000000000000098688,    0.1666666666666641769,
                                           0.041666666666535500398,   0.0083333333334930985011,
                                           0.0013888888942401321458,  0.00019841269506683873956,
                                           0.00002480149424272959006, 2.7557588108666483022e-6,
                                           2.7629875428396525401e-7,  2.499907740636361166e-8};
  static constexpr double kPolynomial2[] = {
      // off by 2^-58
      0.69314718055994532581,   0.24022650695910131259,   0.055504108664820083129,
      0.0096181291075941206394, 0.0013333558146774648946, 0.00015403530457111361421,
      1.5252733493095939758e-5, 1.3215435282680663139e-6, 1.017819958644790862e-7,
      7.0737831844583162688e-9, 4.4347689286262758828e-10};
  static constexpr double kLow2 = -1100, kHigh2 = 1030;
  static constexpr double kTanhIsOne = 20;
};

/// c[0] + c[1] x + ...
template <class V, class T, std::size_t N>
V polynomial(V x, const T (&c)[N]) {
  V sum(c[N - 1]);
  for (std::size_t i = N - 1; i-- > 0;) sum = multiply_add(sum, x, V(c[i]));
  return sum;
}

/// e^x = p 2^n, p = 1 + t, |t| < 0.42; t keeps the digits that p loses.
template <class V>
struct Exponential {
  V t, p, n;
};

/// For kLow <= x <= kHigh, and NaN.
template <class V>
Exponential<V> exponential(V x) {
  using T = typename V::value_type;
  using C = ExpConstants<T>;
  const V round(Format<T>::kRound), one(T(1));
  const V n = multiply_add(x, V(C::kLog2E), round) - round;
  // r = x - n ln 2, by Cody and Waite.
  const V r = multiply_add(n, V(-C::kRest), multiply_add(n, V(-C::kLn2), x));
  const V square = r * r, c = polynomial(r, C::kPolynomial);
  // p = 1 + r + r^2 c: what 1 + r has lost is given back, or p would be off by more than 1 ulp.
  const V sum = one + r;
  return {multiply_add(square, c, r), sum + multiply_add(square, c, (one - sum) + r), n};
}

template <class V>
V within_exp(V x) {
  using C = ExpConstants<typename V::value_type>;
  return larger(V(C::kLow), smaller(V(C::kHigh), x));
}

template <class V>
V magnitude(V x) {
  using T = typename V::value_type;
  return from_bits<T, typename V::arch_type>(to_bits(x) & ~Format<T>::kSign);
}

struct Exp {
  template <class V>
  V operator()(V x) const {
    const auto e = exponential(within_exp(x));
    return scale(e.p, e.n);
  }
};

struct Exp2 {
  template <class V>
  V operator()(V x) const {
    using T = typename V::value_type;
    using C = ExpConstants<T>;
    const V inside = larger(V(C::kLow2), smaller(V(C::kHigh2), x)), round(Format<T>::kRound);
    const V n = (inside + round) - round, r = inside - n;
    return scale(multiply_add(r, polynomial(r, C::kPolynomial2), V(T(1))), n);
  }
};

struct Sigmoid {
  template <class V>
  V operator()(V x) const {
    using T = typename V::value_type;
    // e^-|x| never overflows, and each half keeps its digits.
    const V one(T(1)), e = Exp()(-magnitude(x));
    return divide(xsimd::select(x < V(T(0)), e, one), one + e);
  }
};

struct Silu {
  template <class V>
  V operator()(V x) const {
    using T = typename V::value_type;
    // Below 0 it is x p 2^n / (1 + p 2^n), and the scaling comes last, so that it rounds once.
    const V zero(T(0)), one(T(1));
    const auto below = x < zero;
    const V inside = larger(V(ExpConstants<T>::kLow), x);
    const auto e = exponential(within_exp(-magnitude(x)));
    const V top = xsimd::select(below, inside * e.p, inside);
    return scale(divide(top, one + scale(e.p, e.n)), xsimd::select(below, e.n, zero));
  }
};

struct Tanh {
  template <class V>
  V operator()(V x) const {
    using T = typename V::value_type;
    using U = Bits<T>;
    // e^2|x| - 1, which keeps its digits near 0; tanh |x| = it / (it + 2).
    const V size = smaller(V(ExpConstants<T>::kTanhIsOne), magnitude(x)), one(T(1));
    const auto power = exponential(size + size);
    const V whole = scale(one, power.n), e = multiply_add(whole, power.t, whole - one);
    const auto sign = to_bits(x) & U(Format<T>::kSign);
    return from_bits<T, typename V::arch_type>(to_bits(divide(e, e + V(T(2)))) | sign);
  }
};

}  // namespace
}  // namespace xtape::detail
