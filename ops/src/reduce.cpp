// Reductions. A reduction over all values, or over the last axes, of a dense array is a plain loop
// over rows; every other one is an xtensor reducer.
#include <xtape/ops/reduce.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <xtape/ops/compare.hpp>
#include <xtape/ops/elementwise.hpp>
#include <xtape/ops/shape.hpp>

#include "map.hpp"
#include "rows.hpp"

namespace xtape {

namespace {

using detail::Body;
using detail::Dims;

/// Which axes a reduction takes away, and the shapes that it gives.
struct Reduction {
  std::array<bool, kMaxRank> reduced{};
  Dims kept;     // the result with keepdims
  Dims dropped;  // the result without
  std::int64_t count = 1;
  bool trailing = true;  // the reduced axes are the last ones

  Reduction(const char* op, const Dims& shape, const Axes& axes) {
    reduced.fill(axes.every());
    for (std::int64_t axis : axes.list()) {
      bool& mark = reduced[static_cast<std::size_t>(detail::normalize(axis, shape.rank(), op))];
      if (mark)
        detail::fail(op, "axes " + to_string(axes.list()) + ": each may be given once only.");
      mark = true;
    }
    for (int i = 0; i < shape.rank(); ++i) {
      const bool here = (*this)[i];
      kept.push_back(here ? 1 : shape[i]);
      if (!here) dropped.push_back(shape[i]);
      if (here) count *= shape[i];
      if (!here && i > 0 && (*this)[i - 1]) trailing = false;
    }
  }
  bool operator[](int axis) const { return reduced[static_cast<std::size_t>(axis)]; }
  const Dims& shape(bool keepdims) const { return keepdims ? kept : dropped; }

  std::string attributes(int rank, bool keepdims) const {
    Shape axes;
    for (int i = 0; i < rank; ++i)
      if ((*this)[i]) axes.push_back(i);
    return "axes=" + to_string(axes) + (keepdims ? ", keepdims" : "");
  }
};

/// Folds f, which is associative, over enter(v) of each value v along the reduced axes, in A, and
/// ends each result with `finish`.
template <class A, class T, class Enter, class F, class Finish>
Tensor<T> fold(const Body<T>& x, const Reduction& over, bool keepdims, A start, Enter enter, F f,
               Finish finish) {
  auto [out, to] = detail::fresh<T>(over.shape(keepdims));
  const std::int64_t results = detail::size_of(over.dropped);
  if (results == 0) return out;
  if (over.count == 0) {
    std::fill_n(to, results, finish(start));
    return out;
  }
  if (x.contiguous && over.trailing) {
    const T* from = x.data;
    for (std::int64_t i = 0; i < results; ++i) {
      A total = start;
      for (std::int64_t k = 0; k < over.count; ++k) total = f(total, enter(*from++));
      to[i] = finish(total);
    }
    return out;
  }
  std::vector<std::size_t> axes;
  for (int i = 0; i < x.shape.rank(); ++i)
    if (over[i]) axes.push_back(static_cast<std::size_t>(i));
  const auto step = [&](const A& total, const T& v) { return f(total, enter(v)); };
  const xt::xarray<A> totals = xt::reduce(
      xt::make_xreducer_functor(step, xt::const_value<A>(start), f), detail::expression(x), axes);
  std::transform(totals.begin(), totals.end(), to, finish);
  return out;
}

template <class T>
double to_double(T v) {
  return static_cast<double>(v);
}

/// What a pullback needs to know of its reduction: how to go back to the input's shape.
struct Undo {
  Shape full;
  Shape kept;
  std::vector<std::int64_t> axes;

  Undo(const Dims& shape, const Reduction& over)
      : full(detail::to_shape(shape)), kept(detail::to_shape(over.kept)) {
    for (int i = 0; i < shape.rank(); ++i)
      if (over[i]) axes.push_back(i);
  }
  /// Gives the reduced axes back, with length 1.
  template <class T>
  Tensor<T> keep(const Tensor<T>& g) const {
    return g.shape() == kept ? g : reshape(g, kept);
  }
  template <class T>
  Tensor<T> spread(const Tensor<T>& g) const {
    return broadcast_to(keep(g), full);
  }
};

void check_not_empty(const char* op, const Reduction& over, const Dims& shape) {
  if (over.count == 0)
    detail::fail(op, "shape " + detail::to_string(shape) + " over " +
                         over.attributes(shape.rank(), false) +
                         ": there is nothing to take it of.");
}

}  // namespace

template <class T>
Tensor<T> sum(const Tensor<T>& x, const Axes& axes, bool keepdims) {
  const Body<T>& b = detail::body(x, "sum");
  const Reduction over("sum", b.shape, axes);
  auto value = fold<double>(b, over, keepdims, 0.0, to_double<T>, std::plus<double>(),
                            [](double total) { return static_cast<T>(total); });
  return record<T>("sum", std::move(value),
                   {{x, [undo = Undo(b.shape, over)](In<T> g) { return undo.spread(g); }}},
                   over.attributes(b.shape.rank(), keepdims));
}

template <class T>
Tensor<T> mean(const Tensor<T>& x, const Axes& axes, bool keepdims) {
  const Body<T>& b = detail::body(x, "mean");
  const Reduction over("mean", b.shape, axes);
  check_not_empty("mean", over, b.shape);
  const double n = static_cast<double>(over.count);
  auto value = fold<double>(b, over, keepdims, 0.0, to_double<T>, std::plus<double>(),
                            [n](double total) { return static_cast<T>(total / n); });
  return record<T>("mean", std::move(value),
                   {{x, [undo = Undo(b.shape, over), n](In<T> g) { return undo.spread(g / n); }}},
                   over.attributes(b.shape.rank(), keepdims));
}

namespace {

/// max or min: the value that `better` prefers, and a share of the gradient for each tie.
template <class T, class Better>
Tensor<T> extreme(const char* op, const Tensor<T>& x, const Axes& axes, bool keepdims, T worst,
                  Better better) {
  const Body<T>& b = detail::body(x, op);
  const Reduction over(op, b.shape, axes);
  check_not_empty(op, over, b.shape);
  const auto same = [](T v) { return v; };
  const auto choose = [better](T a, T v) {
    return better(v, a) || std::isnan(v) ? v : a;
  };  // NaN stays
  auto value = fold<T>(b, over, keepdims, worst, same, choose, same);
  auto pullback = [x, undo = Undo(b.shape, over)](In<T> g, In<T> y) {
    const Mask ties = equal(x, undo.keep(y));
    const Tensor<T> count = sum(where(ties, Tensor<T>::ones(undo.full), 0), undo.axes, true);
    return where(ties, undo.keep(g) / count, 0);
  };
  return record<T>(op, std::move(value), {{x, std::move(pullback)}},
                   over.attributes(b.shape.rank(), keepdims));
}

}  // namespace

template <class T>
Tensor<T> max(const Tensor<T>& x, const Axes& axes, bool keepdims) {
  return extreme("max", x, axes, keepdims, -std::numeric_limits<T>::infinity(), std::greater<T>());
}

template <class T>
Tensor<T> min(const Tensor<T>& x, const Axes& axes, bool keepdims) {
  return extreme("min", x, axes, keepdims, std::numeric_limits<T>::infinity(), std::less<T>());
}

template <class T>
Tensor<T> prod(const Tensor<T>& x, const Axes& axes, bool keepdims) {
  const Body<T>& b = detail::body(x, "prod");
  const Reduction over("prod", b.shape, axes);
  const Shape result = detail::to_shape(over.shape(keepdims));
  if (over.count == 0) return Tensor<T>::ones(result);
  Tensor<T> rest = x;
  for (int axis = 0; axis < b.shape.rank(); ++axis) {
    Tensor<T> odd;  // what had no partner
    while (over[axis] && rest.dim(axis) > 1) {
      const std::int64_t half = rest.dim(axis) / 2, left = rest.dim(axis) % 2;
      const std::vector<Tensor<T>> parts = split(rest, {half, half, left}, axis);
      rest = parts[0] * parts[1];
      if (left == 1) odd = odd.has_value() ? odd * parts[2] : parts[2];
    }
    if (odd.has_value()) rest = rest * odd;
  }
  return reshape(rest, result);
}

template <class T>
Tensor<T> var(const Tensor<T>& x, const Axes& axes, bool keepdims, double correction) {
  const Body<T>& b = detail::body(x, "var");
  const Reduction over("var", b.shape, axes);
  const double n = static_cast<double>(over.count) - correction;
  if (!(n > 0) || over.count == 0)
    detail::fail("var", detail::values_text(over.count) + " with a correction of " +
                            std::to_string(correction) + ": more values are required.");
  // Twice: the mean is rounded to T, and what it is wrong by shows in the mean of the differences.
  const Tensor<T> nearly = x - stop_gradient(mean(x, axes, true));
  return sum(square(nearly - mean(nearly, axes, true)), axes, keepdims) / n;
}

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kTiny = 1e-140;  // the squares of what is below it lose digits

template <class T>
Tensor<T> length(const Body<T>& b, const Reduction& over, bool keepdims) {
  const auto squared = [](T v) { return static_cast<double>(v) * static_cast<double>(v); };
  return fold<double>(b, over, keepdims, 0.0, squared, std::plus<double>(),
                      [](double total) { return static_cast<T>(std::sqrt(total)); });
}

}  // namespace

template <class T>
Tensor<T> norm(const Tensor<T>& x, const Axes& axes, bool keepdims) {
  const Body<T>& b = detail::body(x, "norm");
  const Reduction over("norm", b.shape, axes);
  Tensor<T> value = length(b, over, keepdims);
  const auto lost = [](T y) { return y < kTiny || y == kInf; };
  const std::vector<T> lengths = value.values();
  if (over.count > 0 && std::any_of(lengths.begin(), lengths.end(), lost)) {
    // Where squares overflow or underflow: again, of the values over the largest.
    const Tensor<T> constant = stop_gradient(x);
    const Tensor<T> first = reshape(value, detail::to_shape(over.kept));
    const Tensor<T> largest = max(abs(constant), axes, true);
    const Mask again = (equal(first, kInf) | (first < kTiny)) & (largest > 0) & (largest < kInf);
    const Tensor<T> scale = where(again, largest, 1);
    const Tensor<T> scaled = constant / scale;
    value = length(detail::body(scaled, "norm"), over, true) * scale;
    value = reshape(value, detail::to_shape(over.shape(keepdims)));
  }
  auto pullback = [x, undo = Undo(b.shape, over)](In<T> g, In<T> y) {
    const Tensor<T> length = undo.keep(y);
    return chain(undo.keep(g), where(equal(length, 0), 0, x / length));
  };
  return record<T>("norm", std::move(value), {{x, std::move(pullback)}},
                   over.attributes(b.shape.rank(), keepdims));
}

template <class T>
Index argmax(const Tensor<T>& x, Axis axis, bool keepdims) {
  const Body<T>& b = detail::body(x, "argmax");
  const int at = detail::normalize(axis, b.shape.rank(), "argmax");
  const Reduction over("argmax", b.shape, at);
  check_not_empty("argmax", over, b.shape);
  auto [out, to] = detail::fresh<std::int64_t>(over.shape(keepdims));
  std::int64_t* next = to;
  const std::int64_t step = b.strides[at];
  detail::for_each_offset<1>(over.kept, {b.strides}, [&](const auto& offset) {
    const T* row = b.data + offset[0];
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < over.count && !std::isnan(row[best * step]); ++i)
      if (row[i * step] > row[best * step] || std::isnan(row[i * step])) best = i;
    *next++ = best;
  });
  return out;
}

template <class T>
Tensor<T> logsumexp(const Tensor<T>& x, const Axes& axes, bool keepdims) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const Body<T>& b = detail::body(x, "logsumexp");
  const Reduction over("logsumexp", b.shape, axes);
  const Undo undo(b.shape, over);
  const auto finite_or_zero = [](In<T> v) { return where((v < inf) & (v > -inf), v, 0); };
  Tensor<T> value;
  if (over.count == 0) {
    value = Tensor<T>::full(detail::to_shape(over.shape(keepdims)), -inf);
  } else {
    const Tensor<T> constant = stop_gradient(x);
    const Tensor<T> shift = finite_or_zero(max(constant, undo.axes, true));
    value = log(sum(exp(constant - shift), undo.axes, true)) + shift;
    value = reshape(value, detail::to_shape(over.shape(keepdims)));
  }
  // dx = g softmax(x), not g e^(x - y): where x is large, y has lost the digits that count.
  auto pullback = [x, undo, finite_or_zero](In<T> g) {
    if (x.size() == 0) return Tensor<T>::zeros(undo.full);
    const Tensor<T> e = exp(x - finite_or_zero(max(stop_gradient(x), undo.axes, true)));
    const Tensor<T> total = sum(e, undo.axes, true);
    return chain(undo.keep(g), e / where(equal(total, 0), 1, total));
  };
  return record<T>("logsumexp", std::move(value), {{x, std::move(pullback)}},
                   over.attributes(b.shape.rank(), keepdims));
}

#define XTAPE_INSTANTIATE(T)                                           \
  template Tensor<T> sum(const Tensor<T>&, const Axes&, bool);         \
  template Tensor<T> mean(const Tensor<T>&, const Axes&, bool);        \
  template Tensor<T> max(const Tensor<T>&, const Axes&, bool);         \
  template Tensor<T> min(const Tensor<T>&, const Axes&, bool);         \
  template Tensor<T> prod(const Tensor<T>&, const Axes&, bool);        \
  template Tensor<T> var(const Tensor<T>&, const Axes&, bool, double); \
  template Tensor<T> norm(const Tensor<T>&, const Axes&, bool);        \
  template Index argmax(const Tensor<T>&, Axis, bool);                 \
  template Tensor<T> logsumexp(const Tensor<T>&, const Axes&, bool);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
