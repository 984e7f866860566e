// The plain kernels: what every faster one must equal.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "isas.hpp"

namespace xtape::detail {

namespace {

template <class T>
void matmul(std::int64_t m, std::int64_t n, std::int64_t k, Strided<T> a, Strided<T> b, T* c,
            std::int64_t c_row, T*) {
  for (std::int64_t i = 0; i < m; ++i, c += c_row) {
    std::fill_n(c, n, T(0));
    for (std::int64_t p = 0; p < k; ++p) {
      const T x = a.data[i * a.row + p * a.column];
      const T* row = b.data + p * b.row;
      for (std::int64_t j = 0; j < n; ++j) c[j] += x * row[j * b.column];
    }
  }
}

template <class F, class T>
void apply(std::int64_t n, const T* a, std::int64_t a_step, const T* b, std::int64_t b_step, T* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = F()(a[i * a_step], b[i * b_step]);
}

template <class T>
struct Chain {
  T operator()(T x, T y) const { return x == 0 ? T(0) : x * y; }
};

template <class T>
void softmax_row(std::int64_t n, const T* x, std::int64_t x_step, T* y, std::int64_t y_step) {
  T largest = -std::numeric_limits<T>::infinity();
  bool nan = false;
  for (std::int64_t i = 0; i < n; ++i) {
    largest = std::max(largest, x[i * x_step]);
    nan = nan || std::isnan(x[i * x_step]);
  }
  if (!nan && largest == -std::numeric_limits<T>::infinity()) {
    for (std::int64_t i = 0; i < n; ++i) y[i * y_step] = T(0);
    return;
  }
  double total = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    y[i * y_step] = std::exp(x[i * x_step] - largest);
    total += static_cast<double>(y[i * y_step]);
  }
  for (std::int64_t i = 0; i < n; ++i)
    y[i * y_step] = static_cast<T>(static_cast<double>(y[i * y_step]) / total);
}

template <class T>
constexpr Kernels<T> kTable{
    "scalar",
    matmul<T>,
    {apply<std::plus<T>, T>, apply<std::minus<T>, T>, apply<std::multiplies<T>, T>,
     apply<std::divides<T>, T>, apply<Chain<T>, T>},
    softmax_row<T>};

}  // namespace

Tables scalar_tables() { return {kTable<float>, kTable<double>}; }

}  // namespace xtape::detail
