// The table of kernels: the loops that most of the time goes to, one set for each kind of
// processor.
#pragma once

#include <cstdint>

namespace xtape::detail {

/// A matrix inside an array: element (i, j) is data[i * row + j * column].
template <class T>
struct Strided {
  const T* data;
  std::int64_t row;
  std::int64_t column;
};

template <class T>
struct Kernels {
  /// c = a b. a: [m, k]  b: [k, n]  c: [m, n], dense and overwritten; zeros when k = 0.
  void (*matmul)(std::int64_t m, std::int64_t n, std::int64_t k, Strided<T> a, Strided<T> b, T* c);

  /// y = softmax of one row of n values that lie `step` apart in x and in y; zeros when all are
  /// -inf.
  void (*softmax_row)(std::int64_t n, const T* x, std::int64_t x_step, T* y, std::int64_t y_step);
};

/// The fastest kernels that this processor can run, chosen once.
template <class T>
const Kernels<T>& kernels();

}  // namespace xtape::detail
