// Softmax and its logarithm: value and VJP side by side.
#include <limits>

#include <xtape/ops/compare.hpp>
#include <xtape/ops/elementwise.hpp>
#include <xtape/ops/nn.hpp>
#include <xtape/ops/reduce.hpp>
#include <xtape/ops/shape.hpp>
#include <xtape/record.hpp>

#include "kernels.hpp"
#include "map.hpp"
#include "rows.hpp"

namespace xtape {

namespace {

using detail::Body;
using detail::body;
using detail::Dims;

constexpr double kInf = std::numeric_limits<double>::infinity();

/// x with an axis changed places with the last.
template <class T>
Tensor<T> swap_with_last(const Tensor<T>& x, int axis) {
  const int last = x.rank() - 1;
  if (axis == last) return x;
  std::vector<std::int64_t> order;
  for (int i = 0; i <= last; ++i) order.push_back(i == axis ? last : i == last ? axis : i);
  return transpose(x, order);
}

/// x with an axis changed places with the last, where its values have no gaps.
template <class T>
Tensor<T> rows_along(const Tensor<T>& x, int axis) {
  const Tensor<T> rows = swap_with_last(stop_gradient(x), axis);
  return rows.raw()->strides[rows.rank() - 1] == 1 ? rows : contiguous(rows);
}

/// A mask's rows beside those of an array.
class MaskRows {
 public:
  MaskRows() = default;
  /// Of `allowed`, which broadcasts to `shape`, along an axis.
  MaskRows(const Mask& allowed, const Dims& shape, int axis) : mask_(allowed) {
    const Body<bool>& b = *allowed.raw();
    Dims dims = shape;
    strides_ = shape;
    const int missing = shape.rank() - b.shape.rank();
    for (int i = 0; i < shape.rank(); ++i)
      strides_[i] = i < missing || b.shape[i - missing] == 1 ? 0 : b.strides[i - missing];
    const int last = shape.rank() - 1;
    std::swap(dims[axis], dims[last]);
    std::swap(strides_[axis], strides_[last]);
    if (strides_[last] != 0 && strides_[last] != 1) {
      mask_ = detail::map_to<bool>(*detail::view(allowed, dims, strides_).raw(),
                                   [](bool v) { return v; });
      strides_ = mask_.raw()->strides;
    }
    whole_ = strides_[last] == 0;
  }
  /// Where rows begin; those of no mask are all at 0.
  Dims strides(int rank) const {
    Dims none;
    for (int i = 0; i < rank; ++i) none.push_back(0);
    return mask_.has_value() ? strides_ : none;
  }
  /// True where a row has nothing allowed because one value says so for all of it.
  bool none(std::int64_t offset) const { return whole_ && !mask_.raw()->data[offset]; }
  /// The row that begins at an offset; null where all is allowed.
  const bool* row(std::int64_t offset) const {
    return mask_.has_value() && !whole_ ? mask_.raw()->data + offset : nullptr;
  }

 private:
  Mask mask_;
  Dims strides_;
  bool whole_ = false;
};

/// Calls row(n, from, mask's offset, to) for each row along an axis of N arrays of one shape;
/// a value takes so many nanoseconds.
template <class T, std::size_t N, class Row>
Tensor<T> on_rows(const std::array<Tensor<T>, N>& given, const MaskRows& mask, int axis,
                  double nanoseconds, const Row& row) {
  std::array<Tensor<T>, N> xs;
  std::array<Dims, N + 2> strides;
  for (std::size_t k = 0; k < N; ++k) {
    xs[k] = rows_along(given[k], axis);
    strides[k] = xs[k].raw()->strides;
  }
  Dims shape = xs[0].raw()->shape;
  auto [out, data] = detail::fresh<T>(shape);
  T* const to = data;
  strides[N] = mask.strides(shape.rank());
  strides[N + 1] = out.raw()->strides;
  const int last = shape.rank() - 1;
  const std::int64_t n = shape[last];
  shape[last] = n == 0 ? 0 : 1;
  detail::for_each_offset_at_once(shape, strides, nanoseconds * static_cast<double>(n),
                                  [&](const auto& offset) {
                                    std::array<const T*, N> from;
                                    for (std::size_t k = 0; k < N; ++k)
                                      from[k] = xs[k].raw()->data + offset[k];
                                    row(n, from, offset[N], to + offset[N + 1]);
                                  });
  return axis == last ? out : contiguous(swap_with_last(Tensor<T>(out), axis));
}

template <class T>
Tensor<T> softmax_rows(const Tensor<T>& x, const MaskRows& mask, int axis) {
  const auto kernel = detail::kernels<T>().softmax;
  return on_rows<T, 1>({x}, mask, axis, 1,
                       [&](std::int64_t n, const auto& from, std::int64_t at, T* y) {
                         if (mask.none(at))
                           std::fill_n(y, n, T(0));
                         else
                           kernel(n, from[0], mask.row(at), y);
                       });
}

template <class T>
Tensor<T> softmax_pullback_rows(const Tensor<T>& g, const Tensor<T>& y, const MaskRows& mask,
                                int axis) {
  const auto kernel = detail::kernels<T>().softmax_pullback;
  return on_rows<T, 2>({g, y}, mask, axis, 0.5,
                       [&](std::int64_t n, const auto& from, std::int64_t at, T* dx) {
                         if (mask.none(at)) return void(std::fill_n(dx, n, T(0)));
                         kernel(n, from[0], from[1], dx);
                         if (const bool* allowed = mask.row(at))
                           for (std::int64_t i = 0; i < n; ++i) dx[i] = allowed[i] ? dx[i] : T(0);
                       });
}

/// dx = y (g - sum g y)
template <class T>
Tensor<T> softmax_pullback(const Tensor<T>& g, const Tensor<T>& y, int axis) {
  const Tensor<T> gy = chain(g, y);
  return gy - y * sum(gy, axis, true);
}

}  // namespace

template <class T>
Tensor<T> softmax(const Tensor<T>& x, Axis axis) {
  const int at = detail::normalize(axis, body(x, "softmax").shape.rank(), "softmax");
  auto pullback = [at](In<T> g, In<T> y) {
    if (!is_recorded(g) && !is_recorded(y)) return softmax_pullback_rows(g, y, MaskRows(), at);
    return softmax_pullback(g, y, at);
  };
  return record<T>("softmax", softmax_rows(x, MaskRows(), at), {{x, pullback}},
                   detail::axis_text(at));
}

template <class T>
Tensor<T> softmax(const Tensor<T>& x, const Mask& allowed, Axis axis) {
  const Dims& shape = body(x, "softmax").shape;
  const Dims& mask_shape = body(allowed, "softmax").shape;
  const int at = detail::normalize(axis, shape.rank(), "softmax");
  if (!detail::broadcasts_to(mask_shape, shape))
    detail::fail("softmax", "a mask of shape " + detail::to_string(mask_shape) +
                                " for x of shape " + detail::to_string(shape) +
                                ": it must broadcast to x.");
  auto pullback = [allowed, at](In<T> g, In<T> y) {
    if (!is_recorded(g) && !is_recorded(y))
      return softmax_pullback_rows(g, y, MaskRows(allowed, y.raw()->shape, at), at);
    return where(allowed, softmax_pullback(g, y, at), 0);
  };
  return record<T>("softmax", softmax_rows(x, MaskRows(allowed, shape, at), at), {{x, pullback}},
                   detail::axis_text(at));
}

template <class T>
Tensor<T> log_softmax(const Tensor<T>& x, Axis axis) {
  const int at = detail::normalize(axis, body(x, "log_softmax").shape.rank(), "log_softmax");
  const detail::Kernels<T>& kernels = detail::kernels<T>();
  auto value = on_rows<T, 1>({x}, MaskRows(), at, 1,
                             [&](std::int64_t n, const auto& from, std::int64_t, T* y) {
                               kernels.log_softmax(n, from[0], y);
                             });
  auto pullback = [at, &kernels](In<T> g, In<T> y) {
    if (!is_recorded(g) && !is_recorded(y))
      return on_rows<T, 2>({g, y}, MaskRows(), at, 1,
                           [&](std::int64_t n, const auto& from, std::int64_t, T* dx) {
                             kernels.log_softmax_pullback(n, from[0], from[1], dx);
                           });
    const Tensor<T> seen = where(equal(y, -kInf), 0, g);
    return seen - chain(sum(seen, at, true), exp(y));
  };
  return record<T>("log_softmax", std::move(value), {{x, pullback}}, detail::axis_text(at));
}

#define XTAPE_INSTANTIATE(T)                                       \
  template Tensor<T> softmax(const Tensor<T>&, Axis);              \
  template Tensor<T> softmax(const Tensor<T>&, const Mask&, Axis); \
  template Tensor<T> log_softmax(const Tensor<T>&, Axis);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
