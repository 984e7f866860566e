// The kernels of layers against the plain ones: the norms of rows and gated units.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "kernel_operands.hpp"
#include "kernel_tables.hpp"

namespace {

template <class T>
constexpr double kEpsilon = static_cast<double>(std::numeric_limits<T>::epsilon());

/// Calls use(kernels, n, rarity) for every table, and rows of up to 70 values.
template <class T, class Use>
void for_each_row(const Use& use) {
  for (const Tables& tables : vector_tables()) {
    CAPTURE(std::string(of<T>(tables).isa));
    for (std::int64_t n = 1; n <= 70; ++n)
      for (std::int64_t rarity : {40, 1'000'000}) {
        CAPTURE(n);
        CAPTURE(rarity);
        use(of<T>(tables), n, rarity);
      }
  }
}

/// Draws again what would overflow in a sum of squares.
template <class T>
Operand<T> moderate(std::int64_t n, std::int64_t rarity) {
  Operand<T> x(n, rarity);
  for (std::int64_t i = 0; i < n; ++i)
    if (std::abs(x.data()[i]) == std::numeric_limits<T>::max() / 4) x.data()[i] = T(1);
  return x;
}

template <class F>
int count_wrong(std::int64_t n, const F& right) {
  int wrong = 0;
  for (std::int64_t i = 0; i < n; ++i) wrong += right(i) ? 0 : 1;
  return wrong;
}

}  // namespace

TEST_CASE_TEMPLATE("norms of a row are the plain ones but for rounding", T, float, double) {
  const Kernels<T>& plain = of<T>(scalar_tables());
  for_each_row<T>([&](const Kernels<T>& kernels, std::int64_t n, std::int64_t rarity) {
    for (const bool centred : {false, true})
      for (int given = 0; given < 3; ++given) {  // nothing, a gain, a gain and a bias
        Operand<T> x = moderate<T>(n, rarity), gain(n, 1'000'000), bias(n, 1'000'000);
        if (below(2) == 0)  // values that lie close together
          for (std::int64_t i = 0; i < n; ++i) x.data()[i] += T(1000);
        const T* const gains = given > 0 ? gain.data() : nullptr;
        const T* const biases = given > 1 ? bias.data() : nullptr;
        Result<T> found(n), expected(n);
        kernels.norm(n, x.data(), centred, gains, biases, 1e-5, found.data());
        plain.norm(n, x.data(), centred, gains, biases, 1e-5, expected.data());
        CAPTURE(centred);
        // A few roundings of the value, and of the bias that it is added to; and those of the mean,
        // over a deviation of at least the root of epsilon.
        const double mean = static_cast<double>(n) * 1000 / std::sqrt(1e-5) * kEpsilon<double>;
        CHECK(count_wrong(n, [&](std::int64_t i) {
                const double size = std::abs(static_cast<double>(expected.data()[i])) +
                                    std::abs(static_cast<double>(bias.data()[i])) + 1;
                return near(found.data()[i], expected.data()[i], 8 * kEpsilon<T> * size + 4 * mean);
              }) == 0);
        CHECK(found.intact());
      }
  });
}

TEST_CASE_TEMPLATE("pullbacks of norms are the plain ones but for rounding", T, float, double) {
  const Kernels<T>& plain = of<T>(scalar_tables());
  for_each_row<T>([&](const Kernels<T>& kernels, std::int64_t n, std::int64_t rarity) {
    for (const bool centred : {false, true})
      for (const bool scaled : {false, true}) {
        Operand<T> x = moderate<T>(n, rarity), g = moderate<T>(n, rarity), gain(n, 1'000'000);
        const T* const gains = scaled ? gain.data() : nullptr;
        Result<T> dx(n), expected_dx(n);
        Result<double> dgain(n), dbias(n), expected_dgain(n), expected_dbias(n);
        const auto run = [&](const Kernels<T>& k, Result<T>& to, Result<double>& to_gain,
                             Result<double>& to_bias) {
          k.norm_pullback(n, g.data(), x.data(), centred, gains, 0.1, to.data(),
                          scaled ? to_gain.data() : nullptr, centred ? to_bias.data() : nullptr);
          CHECK(to.intact());
          CHECK(to_gain.intact());
          CHECK(to_bias.intact());
        };
        run(kernels, dx, dgain, dbias);
        run(plain, expected_dx, expected_dgain, expected_dbias);
        // |g|, |gain| <= 3, |c r| <= n^(1/2), r <= 0.1^(-1/2): some roundings of their products.
        const double rounding = 8 * kEpsilon<T> * 30 * static_cast<double>(n);
        CAPTURE(centred);
        CHECK(count_wrong(n, [&](std::int64_t i) {
                return near(dx.data()[i], expected_dx.data()[i], rounding) &&
                       near(dgain.data()[i], expected_dgain.data()[i],
                            rounding + 12345 * kEpsilon<double>) &&
                       near(dbias.data()[i], expected_dbias.data()[i], 0);
              }) == 0);
      }
  });
}

TEST_CASE_TEMPLATE("a row of cotangents 0 gets gradients 0, whatever the row holds", T, float,
                   double) {
  auto tables = vector_tables();
  tables.push_back(scalar_tables());
  for (const Tables& each : tables) {
    T x[5] = {T(1), std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(), 0, 1};
    T g[5] = {}, dx[5] = {1, 1, 1, 1, 1};
    double dgain[5] = {};
    of<T>(each).norm_pullback(5, g, x, true, x, 0, dx, dgain, nullptr);
    CHECK(std::all_of(dx, dx + 5, [](T v) { return v == 0; }));
    CHECK(std::all_of(dgain, dgain + 5, [](double v) { return v == 0; }));
  }
}

TEST_CASE_TEMPLATE("gated units and their pullbacks are the plain ones but for rounding", T, float,
                   double) {
  using Limits = std::numeric_limits<T>;
  const Kernels<T>& plain = of<T>(scalar_tables());
  for_each_row<T>([&](const Kernels<T>& kernels, std::int64_t n, std::int64_t) {
    for (const T size : {T(1), T(30), T(1000)}) {
      Operand<T> gate(n, 4), up(n, 4), g(n, 4);
      for (std::int64_t i = 0; i < n; ++i) {
        gate.data()[i] *= size;
        // An infinite cotangent would tell a slope of 0 from the smallest number.
        if (std::isinf(g.data()[i])) g.data()[i] = T(1);
      }
      Result<T> y(n), dgate(n), dup(n), expected_y(n), expected_dgate(n), expected_dup(n);
      kernels.swiglu(n, gate.data(), up.data(), y.data());
      plain.swiglu(n, gate.data(), up.data(), expected_y.data());
      kernels.swiglu_pullback(n, g.data(), gate.data(), up.data(), dgate.data(), dup.data());
      plain.swiglu_pullback(n, g.data(), gate.data(), up.data(), expected_dgate.data(),
                            expected_dup.data());
      CAPTURE(size);
      const auto close = [](T found, T expected, T factor) {
        // Of silu' the terms s and x s (1 - s) may cancel, so that it is the factors' size that
        // counts. Where s is below the normal numbers, x s has lost its digits.
        const double scale = std::abs(static_cast<double>(factor));
        const double rounding = 8 * kEpsilon<T> * std::abs(static_cast<double>(expected)) +
                                8 * kEpsilon<T> * scale +
                                2000 * static_cast<double>(Limits::denorm_min()) * (scale + 1);
        return near(found, expected, std::isfinite(rounding) ? rounding : 0);
      };
      CHECK(count_wrong(n, [&](std::int64_t i) {
              const T product = g.data()[i] == 0 ? T(0) : g.data()[i] * up.data()[i];
              return close(y.data()[i], expected_y.data()[i], up.data()[i]) &&
                     close(dgate.data()[i], expected_dgate.data()[i], product) &&
                     close(dup.data()[i], expected_dup.data()[i], g.data()[i]);
            }) == 0);
      CHECK(y.intact());
      CHECK(dgate.intact());
      CHECK(dup.intact());
    }
  });
}
