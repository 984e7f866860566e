// Functions of one value: their errors, their edges, and that only the value counts, not where or
// how it lies. tests/all_floats.cpp looks at all floats.
#include <doctest/doctest.h>

#include <cstdint>
#include <random>

#include <xtape/xtape.hpp>

#include "support/accuracy.hpp"
#include "support/close.hpp"

namespace {

using namespace xtape;

template <class T>
Tensor<T> row(const std::vector<T>& values) {
  return Tensor<T>({static_cast<std::int64_t>(values.size())}, values);
}

/// Where functions change: ends of the exponential's range, halves of powers of 2, denormals.
template <class T>
std::vector<T> edges() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> result{0,
                        Limits::infinity(),
                        Limits::quiet_NaN(),
                        Limits::max(),
                        Limits::min(),
                        Limits::denorm_min(),
                        Limits::epsilon()};
  const double ln2 = std::log(2.0);
  for (double near :
       {double(Limits::max_exponent) * ln2, double(Limits::min_exponent) * ln2,
        double(Limits::min_exponent - Limits::digits) * ln2,
        double(Limits::min_exponent - Limits::digits - 1) * ln2, ln2 / 2, 1.5 * ln2, std::sqrt(0.5),
        std::sqrt(2.0), 1.0, 2.0, 9.0, 19.0, 150.0, 760.0, 108.7, 751.9, 0.881373587019543}) {
    T x = static_cast<T>(near);
    for (int i = 0; i < 8; ++i) x = std::nextafter(x, -Limits::infinity());
    for (int i = 0; i < 16; ++i, x = std::nextafter(x, Limits::infinity())) result.push_back(x);
  }
  for (T power = Limits::denorm_min(); std::isfinite(power); power *= 2) {
    result.push_back(power);
    result.push_back(power - power / 4);
  }
  for (std::size_t i = 0, n = result.size(); i < n; ++i) result.push_back(-result[i]);
  return result;
}

template <class T, class R>
void check_errors(const std::vector<T>& x) {
  for (const auto& f : accuracy::functions<T, R>()) {
    const std::vector<T> y = f.op(row(x)).values();
    double worst = 0;
    T at = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (const double e = accuracy::error_in_ulps(y[i], f.exact(R(x[i]))); e > worst) {
        worst = e;
        at = x[i];
      }
    INFO(f.name, " of ", at);
    CHECK(worst <= f.bound);
  }
}

}  // namespace

TEST_CASE("functions of a float keep their bounds in ulp over all its range") {
  check_errors<float, double>(edges<float>());
  std::vector<float> x;
  for (std::uint64_t next = 0; next < std::uint64_t(1) << 32; next += 9973) {
    const std::uint32_t bits = static_cast<std::uint32_t>(next);
    float value;
    std::memcpy(&value, &bits, sizeof value);
    x.push_back(value);
  }
  check_errors<float, double>(x);
}

TEST_CASE("functions of a double keep their bounds in ulp over all its range") {
  // Not where long double has no more digits: with MSVC, and under valgrind, which hides them.
  volatile long double small = std::numeric_limits<double>::epsilon() / 4;
  if (1 + small == 1) return;
  check_errors<double, long double>(edges<double>());
  std::mt19937_64 random(3);
  std::vector<double> x;
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    x.push_back(value);
  }
  for (const double reach : {1.0, 3.0, 30.0, 800.0})
    for (int i = 0; i < 50000; ++i)
      x.push_back(std::uniform_real_distribution<double>(-reach, reach)(random));
  check_errors<double, long double>(x);
}

TEST_CASE_TEMPLATE("a function's value depends neither on its place nor on the layout", T, float,
                   double) {
  const auto all = Random(5).normal<T>({70, 3});
  for (const auto f :
       {exp<T>, exp2<T>, log<T>, sqrt<T>, square<T>, neg<T>, abs<T>, relu<T>, tanh<T>, sigmoid<T>,
        silu<T>, softplus<T>, sin<T>, cos<T>, erf<T>, gelu<T>}) {
    const auto column = slice(all, 1, 1, 2);
    const auto whole = f(contiguous(column));
    CHECK(closeness::same_bits(f(column), whole));
    CHECK(closeness::same_bits(contiguous(slice(f(all), 1, 1, 2)), whole));
    CHECK(closeness::same_bits(contiguous(transpose(f(transpose(all)))), f(all)));
    for (const std::int64_t i : {0, 1, 15, 63, 69})
      CHECK(closeness::same_bits(f(slice(column, 0, i, i + 1)),
                                 contiguous(slice(whole, 0, i, i + 1))));
  }
}

TEST_CASE("large arrays have the bits of small ones for any number of threads") {
  const auto x = Random(6).normal<float>({300001});
  const int before = num_threads();
  set_num_threads(1);
  const auto one = exp(x);
  set_num_threads(4);
  CHECK(closeness::same_bits(exp(x), one));
  CHECK(closeness::same_bits(exp(slice(x, 0, 77777, 77877)),
                             contiguous(slice(one, 0, 77777, 77877))));
  set_num_threads(before);
}

TEST_CASE_TEMPLATE("silu is 0 at -inf and so is its slope", T, float, double) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  const Tensor<T> x{-inf, inf, T(-1e30), T(1e30)};
  const auto f = [](const auto& v) { return sum(silu(v)); };
  CHECK(silu(x).values() == std::vector<T>{0, inf, 0, T(1e30)});
  CHECK(grad(f)(x).values() == std::vector<T>{0, 1, 0, 1});
}
