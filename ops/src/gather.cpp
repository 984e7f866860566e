// Ops of shape.hpp that write their values: split, concatenate, stack, pad, gather and others. They
// see an array as [outer, axis, inner] and copy runs of `inner` values.
#include <algorithm>
#include <string>

#include <xtape/ops/shape.hpp>
#include <xtape/record.hpp>

#include "rows.hpp"
#include "xt.hpp"

namespace xtape {

namespace {

using detail::body;
using detail::Body;
using detail::Dims;
using detail::fail;
using detail::normalize;

/// The numbers of positions before and after an axis.
struct Sides {
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  Sides(const Dims& shape, int axis) {
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  }
};

/// Copies n values; returns where the next run begins.
template <class From, class T>
From copy_run(From from, std::int64_t n, T* to) {
  for (; n > 0; --n) *to++ = *from++;
  return from;
}

void check_positions(const char* op, const std::vector<std::int64_t>& index, std::int64_t size) {
  for (std::size_t i = 0; i < index.size(); ++i)
    if (index[i] < 0 || index[i] >= size)
      fail(op, "position " + std::to_string(index[i]) + " (number " + std::to_string(i) +
                   " of the index) on an axis of length " + std::to_string(size) +
                   ": it must be at least 0 and below the length.");
}

}  // namespace

template <class T>
Tensor<T> unslice(const Tensor<T>& x, Axis axis, std::int64_t start, std::int64_t size,
                  std::int64_t step) {
  const Body<T>& b = body(x, "unslice");
  const int at = normalize(axis, b.shape.rank(), "unslice");
  const std::int64_t n = b.shape[at];
  if (start < 0 || size < 0 || step < 1 ||
      (n > 0 && (n - 1 > (size - 1 - start) / step || start >= size)))
    fail("unslice", detail::values_text(n) + " from " + std::to_string(start) + " in steps of " +
                        std::to_string(step) + " on an axis of length " + std::to_string(size) +
                        ": they must fit, and the step be at least 1.");
  Dims shape = b.shape;
  shape[at] = size;
  detail::check_countable(shape, "unslice");
  auto [out, to] = detail::fresh<T>(shape);
  std::fill_n(to, detail::size_of(shape), T(0));
  const Sides sides(shape, at);
  T* const first = to;
  detail::read_values(b, [&](auto from) {
    for (std::int64_t o = 0; o < sides.outer; ++o)
      for (std::int64_t i = 0; i < n; ++i)
        from = copy_run(from, sides.inner, first + (o * size + start + i * step) * sides.inner);
  });
  return record<T>("unslice", std::move(out),
                   {{x,
                     [at, start, n, step](In<T> g) {
                       return slice(g, at, start, n == 0 ? start : start + (n - 1) * step + 1,
                                    step);
                     }}},
                   detail::axis_text(at) + ", start=" + std::to_string(start) +
                       ", size=" + std::to_string(size) + ", step=" + std::to_string(step));
}

template <class T>
std::vector<Tensor<T>> split(const Tensor<T>& x, const std::vector<std::int64_t>& lengths,
                             Axis axis) {
  const Body<T>& b = body(x, "split");
  const int at = normalize(axis, b.shape.rank(), "split");
  std::int64_t total = 0;
  bool valid = true;
  for (std::int64_t n : lengths) {
    valid = valid && n >= 0 && n <= b.shape[at] - total;
    if (!valid) break;
    total += n;
  }
  if (!valid || total != b.shape[at])
    fail("split", "axis " + std::to_string(at) + " of shape " + detail::to_string(b.shape) +
                      " into lengths " + to_string(lengths) + ": they must sum to its length.");
  std::vector<Tensor<T>> parts;
  std::int64_t start = 0;
  for (std::int64_t n : lengths) {
    Dims shape = b.shape;
    shape[at] = n;
    parts.push_back(detail::view<T>(x, shape, b.strides, n > 0 ? start * b.strides[at] : 0));
    start += n;
  }
  return record_joint<T>(
      "split", std::move(parts), {x},
      [at](const std::vector<Tensor<T>>& g, const std::vector<bool>&) {
        return std::vector<Tensor<T>>{concatenate(g, at)};
      },
      detail::axis_text(at) + ", lengths=" + to_string(lengths));
}

template <class T>
Tensor<T> concatenate(const std::vector<Tensor<T>>& xs, Axis axis) {
  if (xs.empty()) fail("concatenate", "no tensors: at least one is required.");
  Dims shape = body(xs[0], "concatenate").shape;
  const int at = normalize(axis, shape.rank(), "concatenate");
  std::vector<std::int64_t> lengths;
  shape[at] = 0;
  for (const Tensor<T>& x : xs) {
    Dims rest = body(x, "concatenate").shape;
    if (rest.rank() == shape.rank()) {
      lengths.push_back(rest[at]);
      rest[at] = shape[at];
    }
    if (rest != shape)
      fail("concatenate", "shapes " + to_string(xs[0].shape()) + " and " + to_string(x.shape()) +
                              " along axis " + std::to_string(at) +
                              ": all other axes must be equal.");
    shape[at] += lengths.back();
    detail::check_countable(shape, "concatenate");
  }
  auto [out, to] = detail::fresh<T>(shape);
  const Sides sides(shape, at);
  std::int64_t start = 0;
  T* const first = to;
  for (std::size_t part = 0; part < xs.size(); ++part) {
    detail::read_values(*xs[part].raw(), [&](auto from) {
      for (std::int64_t o = 0; o < sides.outer; ++o)
        from = copy_run(from, lengths[part] * sides.inner,
                        first + (o * shape[at] + start) * sides.inner);
    });
    start += lengths[part];
  }
  return record_joint<T>(
      "concatenate", {std::move(out)}, xs,
      [at, lengths](const std::vector<Tensor<T>>& g, const std::vector<bool>&) {
        return split(g[0], lengths, at);
      },
      detail::axis_text(at))[0];
}

template <class T>
Tensor<T> gather(const Tensor<T>& x, const Index& index, Axis axis) {
  const Body<T>& b = body(x, "gather");
  const int at = normalize(axis, b.shape.rank(), "gather");
  body(index, "gather");
  const std::vector<std::int64_t> positions = index.values();
  const std::int64_t size = b.shape[at];
  check_positions("gather", positions, size);
  Shape wanted = x.shape();
  wanted.erase(wanted.begin() + at);
  const Shape along = index.shape();
  wanted.insert(wanted.begin() + at, along.begin(), along.end());
  auto [out, to] = detail::fresh<T>(detail::to_dims(wanted, "gather"));
  if (b.contiguous) {
    const Sides sides(b.shape, at);
    T* next = to;
    for (std::int64_t o = 0; o < sides.outer; ++o)
      for (std::int64_t position : positions)
        next = std::copy_n(b.data + (o * size + position) * sides.inner, sides.inner, next);
  } else if (detail::size_of(out.raw()->shape) > 0) {
    xt::xdynamic_slice_vector slices(static_cast<std::size_t>(b.shape.rank()), xt::all());
    slices[static_cast<std::size_t>(at)] = xt::keep(positions);
    const auto source = detail::expression(b);
    const auto kept = xt::dynamic_view(source, slices);
    std::copy(kept.template begin<xt::layout_type::row_major>(),
              kept.template end<xt::layout_type::row_major>(), to);
  }
  return record<T>("gather", std::move(out),
                   {{x, [index, size, at](In<T> g) { return scatter_add(g, index, size, at); }}},
                   detail::axis_text(at));
}

template <class T>
Tensor<T> scatter_add(const Tensor<T>& x, const Index& index, std::int64_t size, Axis axis) {
  const Body<T>& b = body(x, "scatter_add");
  const Dims& along = body(index, "scatter_add").shape;
  const int rank = b.shape.rank() - along.rank() + 1;  // of the result
  const std::string given = "x of shape " + detail::to_string(b.shape) +
                            " with an index of shape " + detail::to_string(along);
  if (rank < 1) fail("scatter_add", given + ": x must have all axes of the index.");
  const int at = normalize(axis, rank, "scatter_add");
  for (int i = 0; i < along.rank(); ++i)
    if (b.shape[at + i] != along[i])
      fail("scatter_add",
           given + " on axis " + std::to_string(at) + ": x must have the axes of the index there.");
  const std::vector<std::int64_t> positions = index.values();
  check_positions("scatter_add", positions, size);
  Shape wanted = x.shape();
  wanted.erase(wanted.begin() + at, wanted.begin() + at + along.rank());
  wanted.insert(wanted.begin() + at, size);
  const Dims shape = detail::to_dims(wanted, "scatter_add");
  const Sides sides(shape, at);
  std::vector<double> totals(static_cast<std::size_t>(detail::size_of(shape)));
  detail::read_values(b, [&](auto from) {
    for (std::int64_t o = 0; o < sides.outer; ++o)
      for (std::int64_t position : positions) {
        double* total = totals.data() + (o * size + position) * sides.inner;
        for (std::int64_t i = 0; i < sides.inner; ++i) total[i] += static_cast<double>(*from++);
      }
  });
  auto [out, to] = detail::fresh<T>(shape);
  std::transform(totals.begin(), totals.end(), to, [](double v) { return static_cast<T>(v); });
  return record<T>("scatter_add", std::move(out),
                   {{x, [index, at](In<T> g) { return gather(g, index, at); }}},
                   detail::axis_text(at));
}

template <class T>
Tensor<T> stack(const std::vector<Tensor<T>>& xs, Axis axis) {
  if (xs.empty()) fail("stack", "no tensors: at least one is required.");
  const Dims& shape = body(xs[0], "stack").shape;
  const int at = normalize(axis, shape.rank() + 1, "stack");
  Shape wanted = xs[0].shape();
  wanted.insert(wanted.begin() + at, static_cast<std::int64_t>(xs.size()));
  detail::to_dims(wanted, "stack");
  std::vector<Tensor<T>> slices;
  for (const Tensor<T>& x : xs) {
    if (body(x, "stack").shape != shape)
      fail("stack", "shapes " + detail::to_string(shape) + " and " + to_string(x.shape()) +
                        ": all must be equal.");
    slices.push_back(unsqueeze(stop_gradient(x), at));
  }
  return record_joint<T>(
      "stack", {concatenate(slices, at)}, xs,
      [at](const std::vector<Tensor<T>>& g, const std::vector<bool>&) { return unstack(g[0], at); },
      detail::axis_text(at))[0];
}

template <class T>
std::vector<Tensor<T>> unstack(const Tensor<T>& x, Axis axis) {
  const Body<T>& b = body(x, "unstack");
  const int at = normalize(axis, b.shape.rank(), "unstack");
  Dims shape, strides;
  for (int i = 0; i < b.shape.rank(); ++i) {
    if (i == at) continue;
    shape.push_back(b.shape[i]);
    strides.push_back(b.strides[i]);
  }
  std::vector<Tensor<T>> parts;
  for (std::int64_t i = 0; i < b.shape[at]; ++i)
    parts.push_back(detail::view<T>(x, shape, strides, b.size > 0 ? i * b.strides[at] : 0));
  return record_joint<T>(
      "unstack", std::move(parts), {x},
      [at](const std::vector<Tensor<T>>& g, const std::vector<bool>&) {
        return std::vector<Tensor<T>>{stack(g, at)};
      },
      detail::axis_text(at));
}

template <class T>
Tensor<T> pad(const Tensor<T>& x, const std::vector<std::array<std::int64_t, 2>>& widths,
              double value) {
  const Body<T>& b = body(x, "pad");
  Dims shape = b.shape;
  bool valid = static_cast<int>(widths.size()) == shape.rank();
  std::string given;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    given += (i > 0 ? ", " : "") + to_string(Shape{widths[i][0], widths[i][1]});
    valid = valid && widths[i][0] >= 0 && widths[i][1] >= 0;
    for (std::int64_t width : widths[i])
      if (valid) shape[static_cast<int>(i)] += detail::to_dims({width}, "pad")[0];
  }
  if (!valid)
    fail("pad", "widths [" + given + "] for shape " + detail::to_string(b.shape) +
                    ": a pair for each axis is required, and none may be negative.");
  auto [out, to] = detail::fresh<T>(detail::to_dims(detail::to_shape(shape), "pad"));
  std::fill_n(to, detail::size_of(shape), static_cast<T>(value));
  // Where each run of x's last axis begins in the result.
  T* const first = to;
  const Dims strides = detail::contiguous_strides(shape);
  std::int64_t inside = 0;
  for (int i = 0; i < shape.rank(); ++i)
    inside += widths[static_cast<std::size_t>(i)][0] * strides[i];
  detail::read_values(b, [&](auto from) {
    detail::for_each_offset<1>(b.shape, {strides},
                               [&](const auto& offset) { first[inside + offset[0]] = *from++; });
  });
  auto pullback = [widths, from = x.shape()](In<T> g) {
    Tensor<T> dx = g;
    for (std::size_t i = 0; i < widths.size(); ++i)
      dx = slice(dx, i, widths[i][0], widths[i][0] + from[i]);
    return dx;
  };
  return record<T>("pad", std::move(out), {{x, std::move(pullback)}}, "widths=[" + given + "]");
}

template <class T>
Tensor<T> take_along_axis(const Tensor<T>& x, const Index& index, Axis axis) {
  const Dims& shape = body(x, "take_along_axis").shape;
  const Dims& wanted = body(index, "take_along_axis").shape;
  const int at = normalize(axis, shape.rank(), "take_along_axis");
  Dims expected = shape;
  if (wanted.rank() == shape.rank()) expected[at] = wanted[at];
  if (wanted != expected)
    fail("take_along_axis", "an index of shape " + detail::to_string(wanted) + " for x of shape " +
                                detail::to_string(shape) + " along axis " + std::to_string(at) +
                                ": all other axes must be equal.");
  std::vector<std::int64_t> positions = index.values();
  check_positions("take_along_axis", positions, shape[at]);
  // Each place along the axis becomes a place in x's values, one after the other.
  const std::int64_t inner = Sides(shape, at).inner, n = wanted[at];
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::int64_t flat = static_cast<std::int64_t>(i);
    const std::int64_t outer = flat / (n * inner);
    positions[i] = (outer * shape[at] + positions[i]) * inner + flat % inner;
  }
  return gather(reshape(x, {-1}), Index(index.shape(), positions));
}

template <class T>
Tensor<T> one_hot(const Index& index, std::int64_t classes) {
  const std::vector<std::int64_t> hot = index.values();
  check_positions("one_hot", hot, classes);
  Shape shape = index.shape();
  shape.push_back(classes);
  auto [out, to] = detail::fresh<T>(detail::to_dims(shape, "one_hot"));
  std::fill_n(to, detail::size_of(out.raw()->shape), T(0));
  for (std::size_t i = 0; i < hot.size(); ++i)
    to[static_cast<std::int64_t>(i) * classes + hot[i]] = T(1);
  return out;
}

#define XTAPE_INSTANTIATE(T)                                                                       \
  template Tensor<T> unslice(const Tensor<T>&, Axis, std::int64_t, std::int64_t, std::int64_t);    \
  template std::vector<Tensor<T>> split(const Tensor<T>&, const std::vector<std::int64_t>&, Axis); \
  template Tensor<T> concatenate(const std::vector<Tensor<T>>&, Axis);                             \
  template Tensor<T> stack(const std::vector<Tensor<T>>&, Axis);                                   \
  template std::vector<Tensor<T>> unstack(const Tensor<T>&, Axis);                                 \
  template Tensor<T> pad(const Tensor<T>&, const std::vector<std::array<std::int64_t, 2>>&,        \
                         double);                                                                  \
  template Tensor<T> take_along_axis(const Tensor<T>&, const Index&, Axis);                        \
  template Tensor<T> one_hot(const Index&, std::int64_t);                                          \
  template Tensor<T> gather(const Tensor<T>&, const Index&, Axis);                                 \
  template Tensor<T> scatter_add(const Tensor<T>&, const Index&, std::int64_t, Axis);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
