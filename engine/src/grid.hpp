// Which values of a tensor pictures show: of a long axis evenly spread positions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include <xtape/shape.hpp>

namespace xtape::detail {

/// The positions of an axis that are shown: all, or `limit` of them.
struct Shown {
  std::int64_t whole, count;
  Shown(std::int64_t length, std::int64_t limit) : whole(length), count(std::min(length, limit)) {}
  std::int64_t position(std::int64_t i) const { return i * whole / count; }
};

/// Any shape as slices of rows and columns: a slice for each position along the outer axes.
struct Grid {
  Shape outer;
  Shown slices, rows, columns;

  Grid(const Shape& shape, std::int64_t most_slices, std::int64_t side)
      : outer(shape.begin(), shape.size() < 2 ? shape.begin() : shape.end() - 2),
        slices(std::accumulate(outer.begin(), outer.end(), std::int64_t{1}, std::multiplies<>()),
               most_slices),
        rows(shape.size() < 2 ? 1 : shape[shape.size() - 2], side),
        columns(shape.empty() ? 1 : shape.back(), side) {}

  /// The values shown of the s-th slice that is shown, row by row.
  template <class E>
  std::vector<E> slice(const std::vector<E>& all, std::int64_t s) const {
    std::vector<E> values;
    for (std::int64_t i = 0; i < rows.count; ++i)
      for (std::int64_t j = 0; j < columns.count; ++j) {
        const std::int64_t row = slices.position(s) * rows.whole + rows.position(i);
        values.push_back(all[static_cast<std::size_t>(row * columns.whole + columns.position(j))]);
      }
    return values;
  }
};

/// The position of the n-th value, in row-major order.
inline std::vector<std::int64_t> position(std::int64_t n, const Shape& shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; n /= shape[axis]) index[axis] = n % shape[axis];
  return index;
}

}  // namespace xtape::detail
