// Visiting the rows or matrices of strided arrays, for kernels that take one at a time.
#pragma once

#include <array>
#include <cstdint>

#include <xtape/shape.hpp>

namespace xtape::detail {

/// Calls use(offsets) at every position of `shape`, in row-major order, with where each of N arrays
/// stands there.
template <std::size_t N, class Use>
void for_each_offset(const Dims& shape, const std::array<Dims, N>& strides, const Use& use) {
  if (size_of(shape) == 0) return;
  Dims at = shape;
  for (int i = 0; i < shape.rank(); ++i) at[i] = 0;
  std::array<std::int64_t, N> offset{};
  while (true) {
    use(offset);
    int axis = shape.rank() - 1;
    for (; axis >= 0; --axis) {
      const bool more = ++at[axis] < shape[axis];
      const std::int64_t move = more ? 1 : 1 - shape[axis];
      for (std::size_t k = 0; k < N; ++k) offset[k] += move * strides[k][axis];
      if (more) break;
      at[axis] = 0;
    }
    if (axis < 0) return;
  }
}

}  // namespace xtape::detail
