// Functions of one value that have a kernel.
#pragma once

#include <algorithm>

#include <xtape/record.hpp>

#include "kernels.hpp"
#include "threads.hpp"
#include "xt.hpp"

namespace xtape::detail {

/// About how many nanoseconds a value takes where none is waited for.
constexpr double cost(Unary f) {
  if (f == Unary::sin || f == Unary::cos || f == Unary::erf || f == Unary::gelu) return 8;
  return f <= Unary::square ? 0.3 : 0.5;
}

/// f of each value. What does not lie dense is copied first, so that the same kernel computes it.
template <class T>
Tensor<T> map(Unary f, const char* op, const Tensor<T>& x) {
  const Body<T>& b = body(x, op);
  auto [out, data] = fresh<T>(b.shape);
  T* const to = data;
  const T* from = b.data;
  if (!b.contiguous) {
    read_values(b, [&](auto value) {
      for (std::int64_t i = 0; i < b.size; ++i, ++value) to[i] = *value;
    });
    from = to;
  }
  const auto kernel = kernels<T>().unary[static_cast<int>(f)];
  constexpr std::int64_t kLine = 64 / sizeof(T);
  const std::int64_t n = b.size;
  if (n < 1024) {  // asking for threads would cost as much
    kernel(n, from, to);
    return out;
  }
  parallel_blocks((n + kLine - 1) / kLine, cost(f) * static_cast<double>(n),
                  [=](std::int64_t begin, std::int64_t end) {
                    const std::int64_t i = begin * kLine;
                    kernel(std::min(end * kLine, n) - i, from + i, to + i);
                  });
  return out;
}

}  // namespace xtape::detail
