// Views, and ops that move values.
#include <xtape/ops/shape.hpp>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include <xtape/ops/compare.hpp>
#include <xtape/record.hpp>

#include "map.hpp"

namespace xtape {

using namespace detail;

namespace {

/// Strides that show x's values under another shape, if any do: axes may be split, and merged where
/// they lie without a gap.
template <class E>
std::optional<Dims> strides_for(const Body<E>& x, const Dims& shape) {
  if (x.contiguous) return contiguous_strides(shape);
  Dims result = shape;
  int from = x.shape.rank() - 1, to = shape.rank() - 1;
  while (from >= 0) {
    // The longest run of old axes that lie without a gap must hold whole new axes.
    const std::int64_t step = x.strides[from];
    std::int64_t old_size = x.shape[from--], new_size = 1;
    while (from >= 0 && (x.shape[from] == 1 || x.strides[from] == old_size * step))
      old_size *= x.shape[from--];
    for (; to >= 0 && (new_size < old_size || shape[to] == 1); --to) {
      result[to] = new_size * step;
      new_size *= shape[to];
    }
    if (new_size != old_size) return std::nullopt;
  }
  return result;
}

/// The wanted shape, with -1 replaced by the length that is left.
Dims resolve(const Shape& wanted, const Dims& from, const char* op) {
  Shape shape = wanted;
  const auto unknown = std::find(shape.begin(), shape.end(), -1);
  if (unknown != shape.end()) {
    *unknown = 1;
    const std::int64_t known = size_of(to_dims(shape, op));
    if (known == 0 || size_of(from) % known != 0)
      fail(op, "shape ", from, " to ", wanted, ": the length for -1 cannot be found.");
    *unknown = size_of(from) / known;
  }
  const Dims dims = to_dims(shape, op);
  if (size_of(dims) != size_of(from))
    fail(op, "shape ", from, " to ", wanted, ": the number of values must stay the same.");
  return dims;
}

template <class E>
Array<E> reshaped(const Array<E>& x, const Shape& wanted) {
  const Body<E>& b = body(x, "reshape");
  const Dims shape = resolve(wanted, b.shape, "reshape");
  if (const auto strides = strides_for(b, shape)) return view(x, shape, *strides);
  const Array<E> copy = dense(b);
  return view(copy, shape, contiguous_strides(shape));
}

}  // namespace

template <class T>
Tensor<T> contiguous(const Tensor<T>& x) {
  if (body(x, "contiguous").contiguous) return x;
  return record<T>("contiguous", dense(*x.raw()), {{x, [](In<T> g) { return g; }}});
}

template <class T>
Tensor<T> reshape(const Tensor<T>& x, const Shape& shape) {
  return record<T>("reshape", reshaped<T>(x, shape),
                   {{x, [from = x.shape()](In<T> g) { return reshape(g, from); }}});
}

Mask reshape(const Mask& x, const Shape& shape) { return reshaped(x, shape); }

template <class T>
Tensor<T> transpose(const Tensor<T>& x) {
  const int rank = body(x, "transpose").shape.rank();
  if (rank < 2) fail("transpose", "shape ", x.shape(), ": at least two axes are required.");
  std::vector<std::int64_t> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::iter_swap(order.end() - 1, order.end() - 2);
  return transpose(x, order);
}

template <class T>
Tensor<T> transpose(const Tensor<T>& x, const Axes& axes) {
  const Body<T>& b = body(x, "transpose");
  const std::vector<std::int64_t>& order = axes.list();
  std::vector<std::int64_t> inverse(order.size(), -1);
  Dims shape, strides;
  bool permutation = static_cast<int>(order.size()) == b.shape.rank();
  for (std::size_t i = 0; permutation && i < order.size(); ++i) {
    const int from = normalize(order[i], b.shape.rank(), "transpose");
    permutation = inverse[static_cast<std::size_t>(from)] < 0;
    inverse[static_cast<std::size_t>(from)] = static_cast<std::int64_t>(i);
    shape.push_back(b.shape[from]);
    strides.push_back(b.strides[from]);
  }
  if (!permutation)
    fail("transpose", "order ", order, " for shape ", b.shape, ": each axis is required once.");
  return record<T>("transpose", view<T>(x, shape, strides),
                   {{x, [inverse](In<T> g) { return transpose(g, inverse); }}},
                   text("order=", order));
}

template <class T>
Tensor<T> unsqueeze(const Tensor<T>& x, Axis axis) {
  const Body<T>& b = body(x, "unsqueeze");
  const int at = normalize(axis, b.shape.rank() + 1, "unsqueeze");
  if (b.shape.rank() == kMaxRank)
    fail("unsqueeze", "shape ", b.shape, " has all the axes that are possible.");
  Dims shape = b.shape, strides = b.strides;
  shape.insert(at, 1);
  strides.insert(at, 1);
  return record<T>("unsqueeze", view<T>(x, shape, strides),
                   {{x, [at](In<T> g) { return squeeze(g, at); }}}, axis_text(at));
}

template <class T>
Tensor<T> squeeze(const Tensor<T>& x, const Axes& axes) {
  const Body<T>& b = body(x, "squeeze");
  std::array<bool, kMaxRank> out{};
  for (std::int64_t axis : axes.list()) {
    const int at = normalize(axis, b.shape.rank(), "squeeze");
    if (b.shape[at] != 1)
      fail("squeeze", "axis ", axis, " of shape ", b.shape, ": its length must be 1.");
    out[static_cast<std::size_t>(at)] = true;
  }
  Dims shape, strides;
  for (int i = 0; i < b.shape.rank(); ++i) {
    if (out[static_cast<std::size_t>(i)] || (axes.every() && b.shape[i] == 1)) continue;
    shape.push_back(b.shape[i]);
    strides.push_back(b.strides[i]);
  }
  return record<T>("squeeze", view<T>(x, shape, strides),
                   {{x, [from = x.shape()](In<T> g) { return reshape(g, from); }}});
}

template <class T>
Tensor<T> slice(const Tensor<T>& x, Axis axis, std::int64_t start, std::int64_t stop,
                std::int64_t step) {
  const Body<T>& b = body(x, "slice");
  const int at = normalize(axis, b.shape.rank(), "slice");
  if (step < 1) fail("slice", "step ", step, ": it must be at least 1.");
  const std::int64_t length = b.shape[at];
  const auto inside = [length](std::int64_t i) {
    return std::clamp<std::int64_t>(i < 0 ? i + length : i, 0, length);
  };
  const std::int64_t from = inside(start);
  const std::int64_t to = std::max(from, inside(stop));
  Dims shape = b.shape, strides = b.strides;
  shape[at] = (to - from) / step + ((to - from) % step != 0 ? 1 : 0);
  // A step over all there is could not be multiplied safely, and is never taken.
  strides[at] = shape[at] > 1 ? b.strides[at] * step : b.strides[at];
  const std::int64_t offset = shape[at] > 0 ? from * b.strides[at] : 0;
  return record<T>(
      "slice", view<T>(x, shape, strides, offset),
      {{x, [at, from, length, step](In<T> g) { return unslice(g, at, from, length, step); }}},
      text(axis_text(at), ", start=", from, ", stop=", to, ", step=", step));
}

template <class T>
Tensor<T> broadcast_to(const Tensor<T>& x, const Shape& wanted) {
  const Body<T>& b = body(x, "broadcast_to");
  const Dims shape = to_dims(wanted, "broadcast_to");
  if (shape == b.shape) return x;
  if (!broadcasts_to(b.shape, shape))
    fail("broadcast_to", "shape ", b.shape, " to ", wanted,
         ": lengths, counted from the last axis, must be equal or 1.");
  return record<T>("broadcast_to", view<T>(x, shape, strides_in(shape, b)),
                   {{x, [](In<T> g) { return g; }}});
}

template <class T>
Tensor<T> flip(const Tensor<T>& x, const Axes& axes) {
  const Body<T>& b = body(x, "flip");
  std::vector<std::int64_t> list = axes.list();
  for (int i = 0; axes.every() && i < b.shape.rank(); ++i) list.push_back(i);
  Dims strides = b.strides;
  std::int64_t offset = 0;
  for (std::int64_t axis : list) {
    const int at = normalize(axis, b.shape.rank(), "flip");
    if (b.size > 0) offset += (b.shape[at] - 1) * strides[at];
    strides[at] = -strides[at];  // twice given is turned twice
  }
  return record<T>("flip", view<T>(x, b.shape, strides, offset),
                   {{x, [list](In<T> g) { return flip(g, list); }}}, text("axes=", list));
}

namespace {

/// True where keep(j - i) for the last two axes of x.
template <class T, class Keep>
Mask triangle(const char* op, const Tensor<T>& x, Keep keep) {
  const Dims& shape = body(x, op).shape;
  if (shape.rank() < 2) fail(op, "shape ", shape, ": at least two axes are required.");
  const std::int64_t rows = x.dim(-2), columns = x.dim(-1);
  std::vector<bool> kept;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) kept.push_back(keep(j - i));
  return Mask({rows, columns}, kept);
}

}  // namespace

template <class T>
Tensor<T> triu(const Tensor<T>& x, std::int64_t diagonal) {
  return mask(x, triangle("triu", x, [=](std::int64_t right) { return right >= diagonal; }), 0);
}

template <class T>
Tensor<T> tril(const Tensor<T>& x, std::int64_t diagonal) {
  return mask(x, triangle("tril", x, [=](std::int64_t right) { return right <= diagonal; }), 0);
}

#define XTAPE_INSTANTIATE(T)                                                                  \
  template Tensor<T> contiguous(const Tensor<T>&);                                            \
  template Tensor<T> reshape(const Tensor<T>&, const Shape&);                                 \
  template Tensor<T> transpose(const Tensor<T>&);                                             \
  template Tensor<T> transpose(const Tensor<T>&, const Axes&);                                \
  template Tensor<T> unsqueeze(const Tensor<T>&, Axis);                                       \
  template Tensor<T> squeeze(const Tensor<T>&, const Axes&);                                  \
  template Tensor<T> slice(const Tensor<T>&, Axis, std::int64_t, std::int64_t, std::int64_t); \
  template Tensor<T> flip(const Tensor<T>&, const Axes&);                                     \
  template Tensor<T> triu(const Tensor<T>&, std::int64_t);                                    \
  template Tensor<T> tril(const Tensor<T>&, std::int64_t);                                    \
  template Tensor<T> broadcast_to(const Tensor<T>&, const Shape&);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
