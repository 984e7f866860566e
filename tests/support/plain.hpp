// Arrays for the op table's expected values: flat row-major vectors in double and scalar loops over
// positions. Nothing of xtape is in here, so that a mistake there cannot hide here.
//
//   plain::Array y = plain::make(shape, [&](const plain::Position& at) { return ...; });
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plain {

using Shape = std::vector<std::int64_t>;
using Position = std::vector<std::int64_t>;
using Values = std::vector<double>;

struct Array {
  Shape shape;
  Values values;
};

/// One cotangent, as flat as its input's values, for each input.
using Gradients = std::vector<Values>;

inline std::size_t size(const Shape& shape) {
  std::int64_t n = 1;
  for (std::int64_t length : shape) n *= length;
  return static_cast<std::size_t>(n);
}

/// The length of an axis; negative ones count from the last.
inline std::int64_t& length(Shape& shape, int axis) {
  return shape[static_cast<std::size_t>(axis < 0 ? axis + static_cast<int>(shape.size()) : axis)];
}
inline std::int64_t length(const Shape& shape, int axis) {
  return shape[static_cast<std::size_t>(axis < 0 ? axis + static_cast<int>(shape.size()) : axis)];
}

/// The position of a flat row-major index.
inline Position position(std::size_t flat, const Shape& shape) {
  Position at(shape.size());
  auto rest = static_cast<std::int64_t>(flat);
  for (std::size_t i = shape.size(); i-- > 0; rest /= shape[i]) at[i] = rest % shape[i];
  return at;
}

/// The flat row-major index of a position. Where the position has more axes the first are left out,
/// and on axes of length 1 it is 0: so broadcast operands are read.
inline std::size_t flat(const Position& at, const Shape& shape) {
  std::int64_t index = 0;
  const std::size_t extra = at.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i)
    index = index * shape[i] + (shape[i] == 1 ? 0 : at[i + extra]);
  return static_cast<std::size_t>(index);
}

/// f at each position.
template <class F>
Array make(const Shape& shape, const F& f) {
  Array out{shape, Values(size(shape))};
  for (std::size_t i = 0; i < out.values.size(); ++i) out.values[i] = f(position(i, shape));
  return out;
}

/// The shape that two shapes broadcast to.
inline Shape broadcast(const Shape& a, const Shape& b) {
  Shape result = a.size() < b.size() ? b : a;
  const Shape& other = a.size() < b.size() ? a : b;
  for (std::size_t i = 0; i < other.size(); ++i) {
    std::int64_t& n = result[result.size() - other.size() + i];
    if (n == 1) n = other[i];
  }
  return result;
}
inline Shape broadcast(const std::vector<Array>& x) {
  Shape shape;
  for (const Array& a : x) shape = broadcast(shape, a.shape);
  return shape;
}

/// Zeros for each input's cotangent.
inline Gradients zeros(const std::vector<Array>& x) {
  Gradients result;
  for (const Array& a : x) result.emplace_back(a.values.size(), 0.0);
  return result;
}

}  // namespace plain
