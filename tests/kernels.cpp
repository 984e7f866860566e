// Every kernel of every table that this processor can run, against the plain one: random sizes and
// strides, with NaN, infinities and denormals among the values. A program of its own, of the
// kernels' object files: the library does not export them.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "dispatch.hpp"
#include "kernel_operands.hpp"
#include "kernel_tables.hpp"

namespace {

using namespace xtape::detail;

/// A matrix laid out in one of many ways: dense, transposed, with gaps, backwards, repeated.
template <class T>
struct Matrix {
  Matrix(std::int64_t rows, std::int64_t columns, std::int64_t rarity)
      : view(layout(rows, columns)),
        values(1 + reach(rows, view.row) + reach(columns, view.column), rarity) {
    view.data = values.data();
    if (below(4) == 0) backwards(rows, view.row);
    if (below(4) == 0) backwards(columns, view.column);
  }
  T at(std::int64_t i, std::int64_t j) const { return view.data[i * view.row + j * view.column]; }

  Strided<T> view;
  Operand<T> values;

 private:
  static Strided<T> layout(std::int64_t rows, std::int64_t columns) {
    const std::int64_t gap = below(3), step = 1 + below(2);
    Strided<T> result{nullptr, (columns + gap) * step, step};
    if (below(2) == 0) result = {nullptr, step, (rows + gap) * step};
    if (below(4) == 0) result.row = 0;
    if (below(4) == 0) result.column = 0;
    return result;
  }
  static std::int64_t reach(std::int64_t length, std::int64_t stride) {
    return std::max<std::int64_t>(0, length - 1) * stride;
  }
  void backwards(std::int64_t length, std::int64_t& stride) {
    view.data += reach(length, stride);
    stride = -stride;
  }
};

template <class T>
void check_matmul(const Kernels<T>& kernels, const Kernels<T>& plain, std::int64_t m,
                  std::int64_t n, std::int64_t k, std::int64_t rarity) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  const Matrix<T> a(m, k, rarity), b(k, n, rarity);
  const std::int64_t row = n + below(5);
  Result<T> found(m * row), expected(m * row), scratch(matmul_scratch(n, k, a.view));
  kernels.matmul(m, n, k, a.view, b.view, found.data(), row, scratch.data());
  plain.matmul(m, n, k, a.view, b.view, expected.data(), row, scratch.data());
  int wrong = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < row; ++j) {
      double size = 0;  // of the sum's terms: each is rounded once or twice, and each sum once
      for (std::int64_t p = 0; j < n && p < k; ++p)
        size += std::abs(static_cast<double>(a.at(i, p)) * static_cast<double>(b.at(p, j)));
      const double rounding = 2 * static_cast<double>(k + 1) *
                              (size * static_cast<double>(std::numeric_limits<T>::epsilon()) +
                               static_cast<double>(std::numeric_limits<T>::denorm_min()));
      const T y = found.data()[i * row + j], z = expected.data()[i * row + j];
      wrong += (j < n ? near(y, z, rounding) : same(y, z)) ? 0 : 1;
    }
  CHECK(wrong == 0);
  CHECK(found.intact());
  CHECK(scratch.intact());
}

}  // namespace

TEST_CASE("every table carries its name, and kernels of its own") {
  const auto names = isas();
  const auto tables = vector_tables();
  REQUIRE(tables.size() + 1 == names.size());
  CHECK(names.back() == "scalar");
  for (std::size_t i = 0; i < tables.size(); ++i) {
    MESSAGE("compared with the plain kernels: " << names[i]);
    CHECK(tables[i].f32.isa == names[i]);
    CHECK(tables[i].f64.isa == names[i]);
    CHECK((tables[i].f32.matmul != scalar_tables().f32.matmul));
    CHECK((tables[i].f64.matmul != scalar_tables().f64.matmul));
  }
}

TEST_CASE_TEMPLATE("matrix products are the plain ones but for rounding", T, float, double) {
  for (const Tables& tables : vector_tables()) {
    const Kernels<T>& kernels = of<T>(tables);
    CAPTURE(std::string(kernels.isa));
    for (int round = 0; round < 200; ++round)
      check_matmul<T>(kernels, of<T>(scalar_tables()), below(71), below(71), below(71),
                      round % 2 == 0 ? 1'000'000 : 300);
    for (std::int64_t k : {255, 256, 257, 600})  // more than what is packed at once
      check_matmul<T>(kernels, of<T>(scalar_tables()), 1 + below(140), 1 + below(140), k, 5000);
    for (std::int64_t n : {300, 1100})
      check_matmul<T>(kernels, of<T>(scalar_tables()), 1 + below(70), n, 257, 5000);
  }
}

TEST_CASE_TEMPLATE("elementwise kernels give the plain ones' bits", T, float, double) {
  for (const Tables& tables : vector_tables()) {
    const Kernels<T>& kernels = of<T>(tables);
    CAPTURE(std::string(kernels.isa));
    for (std::int64_t n = 0; n <= 70; ++n)
      for (int which = 0; which < kBinaries; ++which)
        for (int steps = 0; steps < 4; ++steps) {
          const std::int64_t a_step = steps / 2, b_step = steps % 2;
          Operand<T> a(a_step ? n : 1, 4), b(b_step ? n : 1, 4);
          Result<T> found(n), expected(n);
          kernels.binary[which](n, a.data(), a_step, b.data(), b_step, found.data());
          of<T>(scalar_tables())
              .binary[which](n, a.data(), a_step, b.data(), b_step, expected.data());
          int wrong = 0;
          for (std::int64_t i = 0; i < n; ++i)
            wrong += same(found.data()[i], expected.data()[i]) ? 0 : 1;
          CAPTURE(n);
          CAPTURE(which);
          CAPTURE(steps);
          CHECK(wrong == 0);
          CHECK(found.intact());
        }
  }
}

TEST_CASE_TEMPLATE("a choice between operands is the plain one's", T, float, double) {
  for (const Tables& tables : vector_tables())
    for (std::int64_t n = 0; n <= 70; ++n)
      for (int steps = 0; steps < 4; ++steps) {
        const std::int64_t a_step = steps / 2, b_step = steps % 2;
        Operand<T> a(a_step ? n : 1, 4), b(b_step ? n : 1, 4);
        Result<T> found(n), expected(n);
        bool which[70];
        for (bool& choice : which) choice = below(2) == 0;
        of<T>(tables).select(n, which, a.data(), a_step, b.data(), b_step, found.data());
        of<T>(scalar_tables())
            .select(n, which, a.data(), a_step, b.data(), b_step, expected.data());
        CHECK(std::equal(found.data(), found.data() + n, expected.data(), same<T>));
        CHECK(found.intact());
      }
}

TEST_CASE_TEMPLATE("kernels of one value give the plain ones' numbers but for rounding", T, float,
                   double) {
  using Limits = std::numeric_limits<T>;
  for (const Tables& tables : vector_tables()) {
    const Kernels<T>& kernels = of<T>(tables);
    CAPTURE(std::string(kernels.isa));
    for (std::int64_t n = 0; n <= 70; ++n)
      for (int which = 0; which < kUnaries; ++which)
        for (const T size : {T(1), T(30), T(1000)}) {
          Operand<T> x(n, 4);
          for (std::int64_t i = 0; i < n; ++i) x.data()[i] *= size;
          Result<T> found(n), expected(n);
          kernels.unary[which](n, x.data(), found.data());
          of<T>(scalar_tables()).unary[which](n, x.data(), expected.data());
          kernels.unary[which](n, x.data(), x.data());
          int wrong = 0, elsewhere = 0;
          for (std::int64_t i = 0; i < n; ++i) {
            const T y = found.data()[i], z = expected.data()[i];
            // Twice what tests/accuracy_test.cpp allows; these five are exact.
            const bool exact = which <= static_cast<int>(Unary::square);
            const double rounding = 8 * static_cast<double>(Limits::epsilon() * std::abs(z)) +
                                    2 * static_cast<double>(Limits::denorm_min());
            wrong += (exact ? same(y, z) : near(y, z, rounding)) ? 0 : 1;
            elsewhere += same(x.data()[i], y) ? 0 : 1;
          }
          CAPTURE(n);
          CAPTURE(which);
          CAPTURE(size);
          CHECK(wrong == 0);
          CHECK(elsewhere == 0);  // y may be x
          CHECK(found.intact());
        }
  }
}

TEST_CASE_TEMPLATE("softmax of a row is the plain one's but for rounding", T, float, double) {
  using Limits = std::numeric_limits<T>;
  for (const Tables& tables : vector_tables()) {
    const Kernels<T>& kernels = of<T>(tables);
    CAPTURE(std::string(kernels.isa));
    for (std::int64_t n = 0; n <= 70; ++n)
      for (std::int64_t rarity : {1, 40, 1'000'000})
        for (bool masked : {false, true}) {
          Operand<T> x(n, rarity);
          Result<T> found(n), expected(n);
          bool allowed[70];
          for (int i = 0; i < 70; ++i) allowed[i] = i % 3 != 1;
          if (rarity == 1) std::fill_n(x.data(), n, -Limits::infinity());
          kernels.softmax(n, x.data(), masked ? allowed : nullptr, found.data());
          of<T>(scalar_tables()).softmax(n, x.data(), masked ? allowed : nullptr, expected.data());
          int wrong = 0;
          for (std::int64_t i = 0; i < n; ++i) {
            const T y = found.data()[i], z = expected.data()[i];
            wrong +=
                near(y, z, 8 * static_cast<double>(Limits::epsilon() * z + Limits::denorm_min()))
                    ? 0
                    : 1;
          }
          CAPTURE(n);
          CHECK(wrong == 0);
          CHECK(found.intact());
        }
  }
}

TEST_CASE_TEMPLATE("the other kernels of rows give the plain ones' numbers but for rounding", T,
                   float, double) {
  using Limits = std::numeric_limits<T>;
  const auto plain = of<T>(scalar_tables());
  for (const Tables& tables : vector_tables()) {
    const Kernels<T>& kernels = of<T>(tables);
    CAPTURE(std::string(kernels.isa));
    for (std::int64_t n = 1; n <= 70; ++n)
      for (std::int64_t rarity : {40, 1'000'000}) {
        CAPTURE(n);
        CAPTURE(rarity);
        Operand<T> x(n, rarity), g(n, rarity);
        double size = 1;  // of the largest numbers that meet
        for (std::int64_t i = 0; i < n; ++i)
          for (T* each : {x.data() + i, g.data() + i}) {
            if (std::abs(*each) == Limits::max() / 4) *each = T(1);  // sums of them may overflow
            if (std::isfinite(*each)) size = std::max(size, static_cast<double>(std::abs(*each)));
          }
        const std::int64_t target = below(n);
        const double rounding =
            static_cast<double>(8 * Limits::epsilon()) * static_cast<double>(n) * size * size;
        const auto compare = [&](const char* name, const auto& run) {
          CAPTURE(std::string(name));
          Result<T> found(n), expected(n);
          run(kernels, found.data());
          run(plain, expected.data());
          int wrong = 0;
          for (std::int64_t i = 0; i < n; ++i)
            wrong += near(found.data()[i], expected.data()[i], rounding) ? 0 : 1;
          CHECK(wrong == 0);
          CHECK(found.intact());
        };
        Result<T> y(n), logs(n);
        plain.softmax(n, x.data(), nullptr, y.data());
        plain.log_softmax(n, x.data(), logs.data());
        using K = Kernels<T>;
        compare("softmax_pullback",
                [&](const K& k, T* to) { k.softmax_pullback(n, g.data(), y.data(), to); });
        compare("softmax_pullback in place", [&](const K& k, T* to) {
          std::copy_n(g.data(), n, to);
          k.softmax_pullback(n, to, y.data(), to);
        });
        compare("log_softmax", [&](const K& k, T* to) { k.log_softmax(n, x.data(), to); });
        compare("log_softmax_pullback",
                [&](const K& k, T* to) { k.log_softmax_pullback(n, g.data(), logs.data(), to); });
        compare("cross_entropy", [&](const K& k, T* to) {
          std::fill_n(to, n, static_cast<T>(k.cross_entropy(n, x.data(), target)));
        });
        compare("cross_entropy_pullback", [&](const K& k, T* to) {
          k.cross_entropy_pullback(n, x.data(), target, g.data()[0], to);
        });
      }
  }
}
