// Activations and selections of elementwise.hpp: value and VJP side by side.
#include <cmath>
#include <limits>
#include <string>

#include <xtape/ops/compare.hpp>
#include <xtape/ops/elementwise.hpp>

#include "map.hpp"

namespace xtape {

using detail::map;
using detail::Unary;
using detail::zip;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kSqrtHalf = 0.707106781186547524400844362105;          // 2^(-1/2)
constexpr double kTwoOverSqrtPi = 1.12837916709551257389615890312;      // 2 pi^(-1/2)
constexpr double kInverseSqrtTwoPi = 0.398942280401432677939946059934;  // (2 pi)^(-1/2)

/// How much of the cotangent goes to the first of two, where `taken` says who was chosen.
template <class T>
Tensor<T> share(const Mask& taken, const Tensor<T>& a, const Tensor<T>& b) {
  return where(taken, 1, where(equal(a, b), 0.5, Tensor<T>(0)));
}

/// x, but 0 for an infinity, which times a factor that has become 0 would be NaN.
template <class T>
Tensor<T> finite(const Tensor<T>& x) {
  return where(equal(abs(x), kInf), 0, x);
}

}  // namespace

template <class T>
Tensor<T> abs(const Tensor<T>& x) {
  return record<T>("abs", map(Unary::abs, "abs", x),
                   {{x, [x](In<T> g) { return where(x > 0, g, where(x < 0, -g, 0)); }}});
}

template <class T>
Tensor<T> sin(const Tensor<T>& x) {
  return record<T>("sin", map(Unary::sin, "sin", x),
                   {{x, [x](In<T> g) { return chain(g, cos(x)); }}});
}

template <class T>
Tensor<T> cos(const Tensor<T>& x) {
  return record<T>("cos", map(Unary::cos, "cos", x),
                   {{x, [x](In<T> g) { return chain(g, -sin(x)); }}});
}

template <class T>
Tensor<T> erf(const Tensor<T>& x) {
  return record<T>("erf", map(Unary::erf, "erf", x),
                   {{x, [x](In<T> g) { return chain(g, kTwoOverSqrtPi * exp(-square(x))); }}});
}

template <class T>
Tensor<T> gelu(const Tensor<T>& x) {
  return record<T>("gelu", map(Unary::gelu, "gelu", x),
                   {{x, [x](In<T> g) {
                       const Tensor<T> below = 0.5 * (1 + erf(x * kSqrtHalf));
                       const Tensor<T> density = kInverseSqrtTwoPi * exp(-0.5 * square(x));
                       return chain(g, below + finite(x) * density);
                     }}});
}

template <class T>
Tensor<T> silu(const Tensor<T>& x) {
  const auto pullback = [x](In<T> g) {
    const Tensor<T> s = sigmoid(x);
    return chain(g, s * (1 + finite(x) * (1 - s)));
  };
  return record<T>("silu", map(Unary::silu, "silu", x), {{x, pullback}});
}

template <class T>
Tensor<T> softplus(const Tensor<T>& x) {
  return record<T>("softplus", map(Unary::softplus, "softplus", x),
                   {{x, [x](In<T> g) { return chain(g, sigmoid(x)); }}});
}

template <class T>
Tensor<T> clamp(const Tensor<T>& x, double low, double high) {
  if (!(low <= high))
    detail::fail("clamp", "from " + std::to_string(low) + " to " + std::to_string(high) +
                              ": low must not be above high.");
  const T lowest = static_cast<T>(low), highest = static_cast<T>(high);
  auto value = [=](T v) { return v < lowest ? lowest : v > highest ? highest : v; };
  return record<T>("clamp", map("clamp", x, value),
                   {{x, [x, low, high](In<T> g) { return where((x >= low) & (x <= high), g, 0); }}},
                   "low=" + std::to_string(low) + ", high=" + std::to_string(high));
}

template <class T>
Tensor<T> maximum(const Tensor<T>& a, Arg<T> b) {
  auto value = [](T x, T y) { return x > y || std::isnan(x) ? x : y; };
  return record<T>("maximum", zip("maximum", a, b, value),
                   {{a, [a, b](In<T> g) { return chain(g, share(a > b, a, b)); }},
                    {b, [a, b](In<T> g) { return chain(g, share(b > a, a, b)); }}});
}

template <class T>
Tensor<T> minimum(const Tensor<T>& a, Arg<T> b) {
  auto value = [](T x, T y) { return x < y || std::isnan(x) ? x : y; };
  return record<T>("minimum", zip("minimum", a, b, value),
                   {{a, [a, b](In<T> g) { return chain(g, share(a < b, a, b)); }},
                    {b, [a, b](In<T> g) { return chain(g, share(b < a, a, b)); }}});
}

#define XTAPE_INSTANTIATE(T)                                  \
  template Tensor<T> abs(const Tensor<T>&);                   \
  template Tensor<T> sin(const Tensor<T>&);                   \
  template Tensor<T> cos(const Tensor<T>&);                   \
  template Tensor<T> erf(const Tensor<T>&);                   \
  template Tensor<T> gelu(const Tensor<T>&);                  \
  template Tensor<T> silu(const Tensor<T>&);                  \
  template Tensor<T> softplus(const Tensor<T>&);              \
  template Tensor<T> clamp(const Tensor<T>&, double, double); \
  template Tensor<T> maximum(const Tensor<T>&, Arg<T>);       \
  template Tensor<T> minimum(const Tensor<T>&, Arg<T>);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
