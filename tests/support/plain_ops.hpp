// Scalar loops that several rows of the op table share: functions of values that broadcast, moves
// of values, reductions over groups. All are written for being plainly right, and none for speed.
#pragma once

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "support/plain.hpp"

namespace plain {

// ---- y = f(a, b, ...), value by value --------------------------------------------------------

/// The operands' values at a position of the result.
inline Values operands(const std::vector<Array>& x, const Position& at) {
  Values result;
  for (const Array& a : x) result.push_back(a.values[flat(at, a.shape)]);
  return result;
}

/// f(values) at each position of the operands' broadcast shape.
template <class F>
auto elementwise(F f) {
  return [f](const std::vector<Array>& x) {
    return make(broadcast(x), [&](const Position& at) { return f(operands(x, at)); });
  };
}

/// dx_i = sum of g df/dx_i over the positions that read it; d(values)[i] is df/dx_i.
template <class D>
auto elementwise_vjp(D d) {
  return [d](const std::vector<Array>& x, const Array& g) {
    Gradients result = zeros(x);
    for (std::size_t k = 0; k < g.values.size(); ++k) {
      const Position at = position(k, g.shape);
      const Values slopes = d(operands(x, at));
      for (std::size_t i = 0; i < x.size(); ++i)
        result[i][flat(at, x[i].shape)] += g.values[k] * slopes[i];
    }
    return result;
  };
}

// ---- y[at] = x_i[there] ----------------------------------------------------------------------

/// Where a value of the result comes from: an input and a position in it; input -1 for a zero.
struct Source {
  int input = 0;
  Position at = {};
};

/// The shape of the result, and the source of each of its positions.
struct Move {
  std::function<Shape(const std::vector<Array>& x)> shape;
  std::function<Source(const std::vector<Array>& x, const Position& at)> source;
};

inline auto moved(const Move& move) {
  return [move](const std::vector<Array>& x) {
    return make(move.shape(x), [&](const Position& at) {
      const Source from = move.source(x, at);
      if (from.input < 0) return 0.0;
      const Array& a = x[static_cast<std::size_t>(from.input)];
      return a.values[flat(from.at, a.shape)];
    });
  };
}

/// dx_i[there] = the sum of g at all positions that come from there.
inline auto moved_vjp(const Move& move) {
  return [move](const std::vector<Array>& x, const Array& g) {
    Gradients result = zeros(x);
    for (std::size_t k = 0; k < g.values.size(); ++k) {
      const Source from = move.source(x, position(k, g.shape));
      if (from.input < 0) continue;
      const auto input = static_cast<std::size_t>(from.input);
      result[input][flat(from.at, x[input].shape)] += g.values[k];
    }
    return result;
  };
}

// ---- one value for each group of values ------------------------------------------------------

/// A shape with some axes at length 1; no axes stands for all.
inline Shape reduced(const Shape& shape, const std::vector<int>& axes) {
  if (axes.empty()) return Shape(shape.size(), 1);
  Shape result = shape;
  for (int axis : axes) length(result, axis) = 1;
  return result;
}

/// The same without those axes.
inline Shape dropped(const Shape& shape, const std::vector<int>& axes) {
  Shape marked = shape, result;
  for (std::int64_t& n : marked)
    if (axes.empty()) n = -1;
  for (int axis : axes) length(marked, axis) = -1;
  for (std::int64_t n : marked)
    if (n >= 0) result.push_back(n);
  return result;
}

/// The flat indices of the values that differ along the given axes only, group by group in
/// row-major order.
inline std::vector<std::vector<std::size_t>> groups(const Shape& shape,
                                                    const std::vector<int>& axes) {
  const Shape kept = reduced(shape, axes);
  std::vector<std::vector<std::size_t>> result(size(kept));
  for (std::size_t i = 0; i < size(shape); ++i) result[flat(position(i, shape), kept)].push_back(i);
  return result;
}

/// The values at some flat indices.
inline Values pick(const Array& x, const std::vector<std::size_t>& at) {
  Values result;
  for (std::size_t i : at) result.push_back(x.values[i]);
  return result;
}

/// e^x_i / sum e^x, for values of moderate size.
inline Values softmax(const Values& x) {
  double total = 0;
  for (double v : x) total += std::exp(v);
  Values result;
  for (double v : x) result.push_back(std::exp(v) / total);
  return result;
}

}  // namespace plain
