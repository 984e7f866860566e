// Visiting the rows or matrices of strided arrays, for kernels that take one at a time.
#pragma once

#include <array>
#include <cstdint>

#include <xtape/shape.hpp>

#include "threads.hpp"

namespace xtape::detail {

/// Calls use(offsets) at the positions from `begin` to `end` of `shape`, in row-major order, with
/// where each of N arrays stands there.
template <std::size_t N, class Use>
void for_each_offset(const Dims& shape, const std::array<Dims, N>& strides, std::int64_t begin,
                     std::int64_t end, const Use& use) {
  if (begin == end) return;
  Dims at = shape;
  std::array<std::int64_t, N> offset{};
  for (std::int64_t i = shape.rank() - 1, rest = begin; i >= 0; --i) {
    const int axis = static_cast<int>(i);
    at[axis] = rest % shape[axis];
    rest /= shape[axis];
    for (std::size_t k = 0; k < N; ++k) offset[k] += at[axis] * strides[k][axis];
  }
  while (true) {
    use(offset);
    if (++begin == end) return;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const bool more = ++at[axis] < shape[axis];
      const std::int64_t move = more ? 1 : 1 - shape[axis];
      for (std::size_t k = 0; k < N; ++k) offset[k] += move * strides[k][axis];
      if (more) break;
      at[axis] = 0;
    }
  }
}

/// The same at every position.
template <std::size_t N, class Use>
void for_each_offset(const Dims& shape, const std::array<Dims, N>& strides, const Use& use) {
  for_each_offset(shape, strides, 0, size_of(shape), use);
}

/// The same, shared by threads, when a position takes so many nanoseconds.
template <std::size_t N, class Use>
void for_each_offset_at_once(const Dims& shape, const std::array<Dims, N>& strides,
                             double nanoseconds, const Use& use) {
  const std::int64_t n = size_of(shape);
  parallel_blocks(n, nanoseconds * static_cast<double>(n),
                  [&](std::int64_t begin, std::int64_t end) {
                    for_each_offset(shape, strides, begin, end, use);
                  });
}

}  // namespace xtape::detail
