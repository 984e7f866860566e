// The plain kernels: what every faster one must equal.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels.hpp"

namespace xtape::detail {

namespace {

template <class T>
void matmul(std::int64_t m, std::int64_t n, std::int64_t k, Strided<T> a, Strided<T> b, T* c) {
  std::fill_n(c, m * n, T(0));
  // Rows of b must lie dense for the inner loop to be fast; a transposed b is copied, once.
  std::vector<T> dense;
  if (b.column != 1 && m > 1) {
    dense.resize(static_cast<std::size_t>(k * n));
    for (std::int64_t p = 0; p < k; ++p)
      for (std::int64_t j = 0; j < n; ++j)
        dense[static_cast<std::size_t>(p * n + j)] = b.data[p * b.row + j * b.column];
    b = {dense.data(), n, 1};
  }
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t p = 0; p < k; ++p) {
      const T x = a.data[i * a.row + p * a.column];
      const T* row = b.data + p * b.row;
      T* out = c + i * n;
      if (b.column == 1)
        for (std::int64_t j = 0; j < n; ++j) out[j] += x * row[j];
      else
        for (std::int64_t j = 0; j < n; ++j) out[j] += x * row[j * b.column];
    }
}

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

}  // namespace

template <class T>
const Kernels<T>& kernels() {
  static const Kernels<T> scalar{matmul<T>, softmax_row<T>};
  return scalar;
}

template const Kernels<float>& kernels();
template const Kernels<double>& kernels();

}  // namespace xtape::detail
