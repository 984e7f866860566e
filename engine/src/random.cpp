// Seeded random numbers without a call of libm, so that every platform gives the same bits.
#include <xtape/random.hpp>

#include <array>
#include <cmath>
#include <string>

#include "storage.hpp"

namespace xtape {

using namespace detail;

namespace {

/// c[0] + c[1] x + c[2] x^2 + ...
template <std::size_t N>
double polynomial(const std::array<double, N>& c, double x) noexcept {
  double y = c[N - 1];
  for (std::size_t i = N - 1; i-- > 0;) y = y * x + c[i];
  return y;
}

/// ln x for 0 < x < 1, from additions, products and quotients alone.
double plain_log(double x) noexcept {
  int exponent = 0;
  const double m = std::frexp(x, &exponent);  // exact: m in [0.5, 1)
  // ln m = 2 artanh(z) = 2 (z + z^3/3 + z^5/5 + ...), |z| <= 1/3
  const double z = (m - 1) / (m + 1);
  const double square = z * z;
  double series = 0;
  for (int k = 33; k >= 1; k -= 2) series = series * square + 1.0 / k;
  constexpr double kLn2 = 0.693147180559945309417;
  return 2 * z * series + exponent * kLn2;
}

/// The point that a standard normal draw stays below with probability p, 0 < p < 1.
/// Source: Wichura, algorithm AS 241 (PPND16), Applied Statistics 37, 1988.
double normal_quantile(double p) noexcept {
  constexpr std::array<double, 8> a{3.3871328727963666080e0, 1.3314166789178437745e2,
                                    1.9715909503065514427e3, 1.3731693765509461125e4,
                                    4.5921953931549871457e4, 6.7265770927008700853e4,
                                    3.3430575583588128105e4, 2.5090809287301226727e3};
  constexpr std::array<double, 8> b{1.0000000000000000000e0, 4.2313330701600911252e1,
                                    6.8718700749205790830e2, 5.3941960214247511077e3,
                                    2.1213794301586595867e4, 3.9307895800092710610e4,
                                    2.8729085735721942674e4, 5.2264952788528545610e3};
  constexpr std::array<double, 8> c{1.42343711074968357734e0,  4.63033784615654529590e0,
                                    5.76949722146069140550e0,  3.64784832476320460504e0,
                                    1.27045825245236838258e0,  2.41780725177450611770e-1,
                                    2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr std::array<double, 8> d{1.0000000000000000000e0,   2.05319162663775882187e0,
                                    1.67638483018380384940e0,  6.89767334985100004550e-1,
                                    1.48103976427480074590e-1, 1.51986665636164571966e-2,
                                    5.47593808499534494600e-4, 1.05075007164441684324e-9};
  constexpr std::array<double, 8> e{6.65790464350110377720e0,  5.46378491116411436990e0,
                                    1.78482653991729133580e0,  2.96560571828504891230e-1,
                                    2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                    2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr std::array<double, 8> f{1.0000000000000000000e0,   5.99832206555887937690e-1,
                                    1.36929880922735805310e-1, 1.48753612908506148525e-2,
                                    7.86869131145613259100e-4, 1.84631831751005468180e-5,
                                    1.42151175831644588870e-7, 2.04426310338993978564e-15};
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(a, r) / polynomial(b, r);
  }
  const double r = std::sqrt(-plain_log(q < 0 ? p : 1 - p));
  const double x = r <= 5 ? polynomial(c, r - 1.6) / polynomial(d, r - 1.6)
                          : polynomial(e, r - 5) / polynomial(f, r - 5);
  return q < 0 ? -x : x;
}

}  // namespace

double Random::normal() noexcept {
  // The middle of one of 2^52 equal parts: never 0 or 1.
  return normal_quantile((static_cast<double>(next() >> 12) + 0.5) * 0x1p-52);
}

std::int64_t Random::below(std::int64_t count) {
  if (count < 1) fail("below", "count ", count, ": at least 1 is required.");
  // Draws from the incomplete last run of 2^64 are made again: all outcomes are equally likely.
  const std::uint64_t n = static_cast<std::uint64_t>(count);
  const std::uint64_t surplus = (0 - n) % n;
  std::uint64_t draw = next();
  while (draw < surplus) draw = next();
  return static_cast<std::int64_t>(draw % n);
}

template <class T>
Tensor<T> Random::normal(const Shape& shape, double mean, double deviation) {
  if (!(deviation >= 0)) fail("normal", "deviation ", deviation, ": it must not be negative.");
  return generate<T>(to_dims(shape, "normal"),
                     [&](std::int64_t) { return mean + deviation * normal(); });
}

template <class T>
Tensor<T> Random::uniform(const Shape& shape, double low, double high) {
  if (!(low <= high)) fail("uniform", "from ", low, " to ", high, ": low must not be above high.");
  return generate<T>(to_dims(shape, "uniform"),
                     [&](std::int64_t) { return low + (high - low) * uniform(); });
}

#define XTAPE_INSTANTIATE(T)                                                 \
  template XTAPE_API Tensor<T> Random::normal(const Shape&, double, double); \
  template XTAPE_API Tensor<T> Random::uniform(const Shape&, double, double);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
