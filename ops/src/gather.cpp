// Ops of shape.hpp that write their values: split, concatenate, stack, pad, gather and others.
#include <algorithm>
#include <string>

#include <xtape/ops/shape.hpp>
#include <xtape/record.hpp>

#include "rows.hpp"
#include "xt.hpp"

namespace xtape {

using namespace detail;

namespace {

/// The numbers of positions before and after an axis.
struct Sides {
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  Sides(const Dims& shape, int axis) {
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  }
};

/// Writes x's values to places that lie `strides` apart.
template <class T>
void place(const Body<T>& x, T* to, const Dims& strides) {
  const Rows<2> rows(x.shape, {x.strides, strides});
  for_each_offset<2>(rows.outer, rows.strides, [&](const auto& at) {
    const T* from = x.data + at[0];
    T* next = to + at[1];
    if (rows.step[0] == 1 && rows.step[1] == 1)
      std::copy_n(from, rows.length, next);
    else
      for (std::int64_t i = 0; i < rows.length; ++i)
        next[i * rows.step[1]] = from[i * rows.step[0]];
  });
}

void check_positions(const char* op, const std::vector<std::int64_t>& index, std::int64_t size) {
  for (std::size_t i = 0; i < index.size(); ++i)
    if (index[i] < 0 || index[i] >= size)
      fail(op, "position ", index[i], " (number ", i, " of the index) on an axis of length ", size,
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
    fail("unslice", values_text(n), " from ", start, " in steps of ", step,
         " on an axis of length ", size, ": they must fit, and the step be at least 1.");
  Dims shape = b.shape;
  shape[at] = size;
  check_countable(shape, "unslice");
  auto [out, to] = fresh<T>(shape);
  std::fill_n(to, size_of(shape), T(0));
  Dims strides = contiguous_strides(shape);
  T* const first = to + (n > 0 ? start * strides[at] : 0);
  strides[at] *= n > 1 ? step : 1;  // one that is never taken may be too large
  place(b, first, strides);
  const std::int64_t stop = n == 0 ? start : start + (n - 1) * step + 1;
  return record<T>(
      "unslice", std::move(out),
      {{x, [at, start, stop, step](In<T> g) { return slice(g, at, start, stop, step); }}},
      text(axis_text(at), ", start=", start, ", size=", size, ", step=", step));
}

template <class T>
Tensors<T> split(const Tensor<T>& x, const std::vector<std::int64_t>& lengths, Axis axis) {
  const Body<T>& b = body(x, "split");
  const int at = normalize(axis, b.shape.rank(), "split");
  std::int64_t left = b.shape[at];  // stays at -1 from the first length that does not fit
  for (std::int64_t n : lengths) left = n < 0 || n > left ? -1 : left - n;
  if (left != 0)
    fail("split", "axis ", at, " of shape ", b.shape, " into lengths ", lengths,
         ": they must sum to its length.");
  Tensors<T> parts;
  std::int64_t start = 0;
  for (std::int64_t n : lengths) {
    Dims shape = b.shape;
    shape[at] = n;
    parts.push_back(view<T>(x, shape, b.strides, n > 0 ? start * b.strides[at] : 0));
    start += n;
  }
  return record_joint<T>(
      "split", std::move(parts), {x},
      [at](const Tensors<T>& g, const std::vector<bool>&) {
        return Tensors<T>{concatenate(g, at)};
      },
      text(axis_text(at), ", lengths=", lengths));
}

template <class T>
Tensor<T> concatenate(const Tensors<T>& xs, Axis axis) {
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
      fail("concatenate", "shapes ", xs[0].shape(), " and ", x.shape(), " along axis ", at,
           ": all other axes must be equal.");
    shape[at] += lengths.back();
    check_countable(shape, "concatenate");
  }
  auto [out, to] = fresh<T>(shape);
  const Dims strides = contiguous_strides(shape);
  std::int64_t start = 0;
  for (std::size_t part = 0; part < xs.size(); ++part) {
    place(*xs[part].raw(), to + start * strides[at], strides);
    start += lengths[part];
  }
  return record_joint<T>(
      "concatenate", {std::move(out)}, xs,
      [at, lengths](const Tensors<T>& g, const std::vector<bool>&) {
        return split(g[0], lengths, at);
      },
      axis_text(at))[0];
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
  auto [out, to] = fresh<T>(to_dims(wanted, "gather"));
  if (b.contiguous) {
    const Sides sides(b.shape, at);
    T* next = to;
    for (std::int64_t o = 0; o < sides.outer; ++o)
      for (std::int64_t position : positions)
        next = std::copy_n(b.data + (o * size + position) * sides.inner, sides.inner, next);
  } else if (size_of(out.raw()->shape) > 0) {
    xt::xdynamic_slice_vector slices(static_cast<std::size_t>(b.shape.rank()), xt::all());
    slices[static_cast<std::size_t>(at)] = xt::keep(positions);
    const auto source = expression(b);
    const auto kept = xt::dynamic_view(source, slices);
    std::copy(kept.template begin<xt::layout_type::row_major>(),
              kept.template end<xt::layout_type::row_major>(), to);
  }
  return record<T>("gather", std::move(out),
                   {{x, [index, size, at](In<T> g) { return scatter_add(g, index, size, at); }}},
                   axis_text(at));
}

template <class T>
Tensor<T> scatter_add(const Tensor<T>& x, const Index& index, std::int64_t size, Axis axis) {
  const Body<T>& b = body(x, "scatter_add");
  const Dims& along = body(index, "scatter_add").shape;
  const int rank = b.shape.rank() - along.rank() + 1;  // of the result
  const auto given = [&] {
    return text("x of shape ", b.shape, " with an index of shape ", along);
  };
  if (rank < 1) fail("scatter_add", given(), ": x must have all axes of the index.");
  const int at = normalize(axis, rank, "scatter_add");
  for (int i = 0; i < along.rank(); ++i)
    if (b.shape[at + i] != along[i])
      fail("scatter_add", given(), " on axis ", at, ": x must have the axes of the index there.");
  const std::vector<std::int64_t> positions = index.values();
  check_positions("scatter_add", positions, size);
  Shape wanted = x.shape();
  wanted.erase(wanted.begin() + at, wanted.begin() + at + along.rank());
  wanted.insert(wanted.begin() + at, size);
  const Dims shape = to_dims(wanted, "scatter_add");
  const Sides sides(shape, at);
  std::vector<double> totals(static_cast<std::size_t>(size_of(shape)));
  read_values(b, [&](auto from) {
    for (std::int64_t o = 0; o < sides.outer; ++o)
      for (std::int64_t position : positions) {
        double* total = totals.data() + (o * size + position) * sides.inner;
        for (std::int64_t i = 0; i < sides.inner; ++i) total[i] += static_cast<double>(*from++);
      }
  });
  auto [out, to] = fresh<T>(shape);
  std::transform(totals.begin(), totals.end(), to, [](double v) { return static_cast<T>(v); });
  return record<T>("scatter_add", std::move(out),
                   {{x, [index, at](In<T> g) { return gather(g, index, at); }}}, axis_text(at));
}

template <class T>
Tensor<T> stack(const Tensors<T>& xs, Axis axis) {
  if (xs.empty()) fail("stack", "no tensors: at least one is required.");
  const Dims& shape = body(xs[0], "stack").shape;
  const int at = normalize(axis, shape.rank() + 1, "stack");
  Shape wanted = xs[0].shape();
  wanted.insert(wanted.begin() + at, static_cast<std::int64_t>(xs.size()));
  to_dims(wanted, "stack");
  Tensors<T> slices;
  for (const Tensor<T>& x : xs) {
    if (body(x, "stack").shape != shape)
      fail("stack", "shapes ", shape, " and ", x.shape(), ": all must be equal.");
    slices.push_back(unsqueeze(stop_gradient(x), at));
  }
  return record_joint<T>(
      "stack", {concatenate(slices, at)}, xs,
      [at](const Tensors<T>& g, const std::vector<bool>&) { return unstack(g[0], at); },
      axis_text(at))[0];
}

template <class T>
Tensors<T> unstack(const Tensor<T>& x, Axis axis) {
  const Body<T>& b = body(x, "unstack");
  const int at = normalize(axis, b.shape.rank(), "unstack");
  Dims shape = b.shape, strides = b.strides;
  shape.erase(at);
  strides.erase(at);
  Tensors<T> parts;
  for (std::int64_t i = 0; i < b.shape[at]; ++i)
    parts.push_back(view<T>(x, shape, strides, b.size > 0 ? i * b.strides[at] : 0));
  return record_joint<T>(
      "unstack", std::move(parts), {x},
      [at](const Tensors<T>& g, const std::vector<bool>&) { return Tensors<T>{stack(g, at)}; },
      axis_text(at));
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
      if (valid) shape[static_cast<int>(i)] += to_dims({width}, "pad")[0];
  }
  if (!valid)
    fail("pad", "widths [", given, "] for shape ", b.shape,
         ": a pair for each axis is required, and none may be negative.");
  auto [out, to] = fresh<T>(to_dims(to_shape(shape), "pad"));
  std::fill_n(to, size_of(shape), static_cast<T>(value));
  const Dims strides = contiguous_strides(shape);
  std::int64_t first = 0;
  for (int i = 0; i < shape.rank(); ++i)
    first += widths[static_cast<std::size_t>(i)][0] * strides[i];
  place(b, to + first, strides);
  auto pullback = [widths, from = x.shape()](In<T> g) {
    Tensor<T> dx = g;
    for (std::size_t i = 0; i < widths.size(); ++i)
      dx = slice(dx, i, widths[i][0], widths[i][0] + from[i]);
    return dx;
  };
  return record<T>("pad", std::move(out), {{x, std::move(pullback)}}, text("widths=[", given, "]"));
}

template <class T>
Tensor<T> take_along_axis(const Tensor<T>& x, const Index& index, Axis axis) {
  const Dims& shape = body(x, "take_along_axis").shape;
  const Dims& wanted = body(index, "take_along_axis").shape;
  const int at = normalize(axis, shape.rank(), "take_along_axis");
  Dims expected = shape;
  if (wanted.rank() == shape.rank()) expected[at] = wanted[at];
  if (wanted != expected)
    fail("take_along_axis", "an index of shape ", wanted, " for x of shape ", shape, " along axis ",
         at, ": all other axes must be equal.");
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
  auto [out, to] = fresh<T>(to_dims(shape, "one_hot"));
  std::fill_n(to, size_of(out.raw()->shape), T(0));
  for (std::size_t i = 0; i < hot.size(); ++i)
    to[static_cast<std::int64_t>(i) * classes + hot[i]] = T(1);
  return out;
}

#define XTAPE_INSTANTIATE(T)                                                                    \
  template Tensor<T> unslice(const Tensor<T>&, Axis, std::int64_t, std::int64_t, std::int64_t); \
  template Tensors<T> split(const Tensor<T>&, const std::vector<std::int64_t>&, Axis);          \
  template Tensor<T> concatenate(const Tensors<T>&, Axis);                                      \
  template Tensor<T> stack(const Tensors<T>&, Axis);                                            \
  template Tensors<T> unstack(const Tensor<T>&, Axis);                                          \
  template Tensor<T> pad(const Tensor<T>&, const std::vector<std::array<std::int64_t, 2>>&,     \
                         double);                                                               \
  template Tensor<T> take_along_axis(const Tensor<T>&, const Index&, Axis);                     \
  template Tensor<T> one_hot(const Index&, std::int64_t);                                       \
  template Tensor<T> gather(const Tensor<T>&, const Index&, Axis);                              \
  template Tensor<T> scatter_add(const Tensor<T>&, const Index&, std::int64_t, Axis);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
