// Walking over the rows of strided arrays side by side, for loops that take one row of each.
#pragma once

#include <array>
#include <cstdint>

#include <xtape/array.hpp>

#include "threads.hpp"

namespace xtape::detail {

/// Calls use(offsets) at the positions from `begin` up to `end` of `shape`, counted in row-major
/// order, with where each of N arrays stands there.
template <std::size_t N, class Use>
void for_each_offset(const Dims& shape, const std::array<Dims, N>& strides, std::int64_t begin,
                     std::int64_t end, const Use& use) {
  if (begin >= end) return;
  Dims at = shape;
  std::array<std::int64_t, N> offset{};
  std::int64_t left = begin;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    at[i] = left % shape[i];
    left /= shape[i];
    for (std::size_t k = 0; k < N; ++k) offset[k] += at[i] * strides[k][i];
  }
  while (true) {
    use(offset);
    if (++begin == end) return;
    for (int axis = shape.rank() - 1;; --axis) {
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
  for_each_offset<N>(shape, strides, 0, size_of(shape), use);
}

/// The same, shared by threads, when a position takes so many nanoseconds.
template <std::size_t N, class Use>
void for_each_offset_at_once(const Dims& shape, const std::array<Dims, N>& strides,
                             double nanoseconds, const Use& use) {
  const std::int64_t n = size_of(shape);
  parallel_blocks(n, nanoseconds * static_cast<double>(n),
                  [&](std::int64_t begin, std::int64_t end) {
                    for_each_offset<N>(shape, strides, begin, end, use);
                  });
}

/// The strides of an array of shape `from` where it is broadcast to `shape`: 0 along the axes that
/// repeat it.
inline Dims strides_in(const Dims& shape, const Dims& from, const Dims& strides) {
  Dims result;
  const int extra = shape.rank() - from.rank();
  for (int i = 0; i < shape.rank(); ++i)
    result.push_back(i < extra || from[i - extra] == 1 ? 0 : strides[i - extra]);
  return result;
}
template <class E>
Dims strides_in(const Dims& shape, const Body<E>& x) {
  return strides_in(shape, x.shape, x.strides);
}

/// N arrays walked together, row by row, in as few and long rows as their layouts allow.
template <std::size_t N>
struct Rows {
  Dims outer;                          // a position of each row
  std::array<Dims, N> strides;         // from one row to the next
  std::int64_t length = 1;             // of a row
  std::array<std::int64_t, N> step{};  // inside a row

  Rows(const Dims& shape, const std::array<Dims, N>& all) {
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape[i] == 1) continue;
      // Two axes are one where every array steps from the end of a row to the next as inside it.
      bool merged = outer.rank() > 0;
      for (std::size_t k = 0; k < N; ++k)
        merged = merged && strides[k][outer.rank() - 1] == all[k][i] * shape[i];
      if (merged) {
        outer[outer.rank() - 1] *= shape[i];
      } else {
        outer.push_back(shape[i]);
        for (Dims& to : strides) to.push_back(0);
      }
      for (std::size_t k = 0; k < N; ++k) strides[k][outer.rank() - 1] = all[k][i];
    }
    if (outer.rank() == 0) return;
    const int last = outer.rank() - 1;
    length = outer[last];
    outer.resize(last);
    for (std::size_t k = 0; k < N; ++k) {
      step[k] = strides[k][last];
      strides[k].resize(last);
    }
  }
  std::int64_t count() const { return size_of(outer); }
};

}  // namespace xtape::detail
