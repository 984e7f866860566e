// Reductions: folds of rows that lie dense.
#include <xtape/ops/reduce.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <xtape/ops/compare.hpp>
#include <xtape/ops/elementwise.hpp>
#include <xtape/ops/shape.hpp>

#include "map.hpp"
#include "rows.hpp"

namespace xtape {

using namespace detail;

namespace {

/// Which axes a reduction takes away, the shapes that it gives, and how to go back: what its
/// pullback captures.
struct Reduction {
  std::array<bool, kMaxRank> reduced{};
  Dims full;     // the input
  Dims kept;     // the result with keepdims
  Dims dropped;  // the result without
  Dims axes;     // those that are reduced, in order
  std::int64_t count = 1;

  Reduction(const char* op, const Dims& shape, const Axes& given) : full(shape) {
    reduced.fill(given.every());
    for (std::int64_t axis : given.list()) {
      bool& mark = reduced[static_cast<std::size_t>(normalize(axis, shape.rank(), op))];
      if (mark) fail(op, "axes ", given.list(), ": each may be given once only.");
      mark = true;
    }
    for (int i = 0; i < shape.rank(); ++i) {
      const bool here = (*this)[i];
      kept.push_back(here ? 1 : shape[i]);
      if (here) axes.push_back(i);
      if (here) count *= shape[i];
      if (!here) dropped.push_back(shape[i]);
    }
  }
  bool operator[](int axis) const { return reduced[static_cast<std::size_t>(axis)]; }
  const Dims& shape(bool keepdims) const { return keepdims ? kept : dropped; }
  std::string attributes(bool keepdims) const {
    return text("axes=", axes, keepdims ? ", keepdims" : "");
  }
  /// Gives the reduced axes back, with length 1.
  template <class T>
  Tensor<T> keep(const Tensor<T>& g) const {
    return g.raw()->shape == kept ? g : reshape(g, to_shape(kept));
  }
  /// Gives them back with their lengths.
  template <class T>
  Tensor<T> spread(const Tensor<T>& g) const {
    return broadcast_to(keep(g), to_shape(full));
  }
  /// Sums over the same axes, keeping them.
  template <class T>
  Tensor<T> sum_kept(const Tensor<T>& x) const {
    return sum(x, to_shape(axes), true);
  }
};

/// Folds f over enter(v) of n values one after the other, in eight interleaved parts, which the
/// processor computes at once.
template <class A, class T, class Enter, class F>
A fold_row(std::int64_t n, const T* x, A start, Enter enter, F f) {
  constexpr std::int64_t kParts = 8;
  std::array<A, kParts> part;
  part.fill(start);
  std::int64_t i = 0;
  for (; i + kParts <= n; i += kParts)
    for (std::int64_t k = 0; k < kParts; ++k) {
      A& total = part[static_cast<std::size_t>(k)];
      total = f(total, enter(x[i + k]));
    }
  for (std::size_t k = 4; k > 0; k /= 2)
    for (std::size_t j = 0; j < k; ++j) part[j] = f(part[j], part[j + k]);
  for (; i < n; ++i) part[0] = f(part[0], enter(x[i]));
  return part[0];
}

/// What one thread folds of a long row at once.
constexpr std::int64_t kBlock = 65536;

/// Folds f, which is associative, over enter(v) of each value v along the reduced axes, in A, and
/// ends each result with `finish`. The order depends on the shape alone: strides and threads change
/// no bit.
template <class A, class T, class Enter, class F, class Finish>
Tensor<T> fold(const Body<T>& x, const Reduction& over, bool keepdims, A start, Enter enter, F f,
               Finish finish) {
  if (!x.contiguous && x.size > 0)
    return fold(*dense(x).raw(), over, keepdims, start, enter, f, finish);
  const std::int64_t results = size_of(over.dropped);
  std::vector<A> totals(static_cast<std::size_t>(results), start);
  const double nanoseconds = static_cast<double>(x.size) / 2;
  // Neighbouring axes of one kind are one: x is [..., reduced, kept, reduced, n].
  Dims outer, from, to;
  bool last_reduced = true;
  std::int64_t step = x.size, result_step = results;
  for (int i = 0; i < x.shape.rank() && x.size > 0; ++i) {
    step /= x.shape[i];
    if (!over[i]) result_step /= x.shape[i];
    if (outer.rank() > 0 && last_reduced == over[i])
      outer[outer.rank() - 1] *= x.shape[i];
    else
      for (Dims* dims : {&outer, &from, &to}) dims->push_back(x.shape[i]);
    last_reduced = over[i];
    from[outer.rank() - 1] = step;
    to[outer.rank() - 1] = last_reduced ? 0 : result_step;
  }
  const int last = outer.rank() - 1;
  const std::int64_t n = last < 0 ? x.size : outer[last], rows = n == 0 ? 0 : x.size / n;
  outer.resize(std::max(0, last));
  const auto visit = [&](std::int64_t row, std::int64_t row_end, std::int64_t begin,
                         std::int64_t end) {
    for_each_offset<2>(outer, {from, to}, row, row_end, [&](const auto& at) {
      const T* values = x.data + at[0];
      A* total = totals.data() + at[1];
      if (last_reduced) *total = f(*total, fold_row(n, values, start, enter, f));
      for (std::int64_t i = begin; !last_reduced && i < end; ++i)
        total[i] = f(total[i], enter(values[i]));
    });
  };
  if (outer.rank() > 0 && to[0] > 0) {
    const std::int64_t per = rows / outer[0];
    parallel_blocks(outer[0], nanoseconds, [&](std::int64_t begin, std::int64_t end) {
      visit(begin * per, end * per, 0, n);
    });
  } else if (!last_reduced) {
    parallel_blocks(n, nanoseconds,
                    [&](std::int64_t begin, std::int64_t end) { visit(0, rows, begin, end); });
  } else if (outer.rank() == 0 && n > kBlock) {
    std::vector<A> parts(static_cast<std::size_t>((n + kBlock - 1) / kBlock), start);
    parallel(static_cast<std::int64_t>(parts.size()), nanoseconds, [&](std::int64_t i) {
      parts[static_cast<std::size_t>(i)] =
          fold_row(std::min(kBlock, n - i * kBlock), x.data + i * kBlock, start, enter, f);
    });
    totals[0] = std::accumulate(parts.begin(), parts.end(), start, f);
  } else {
    visit(0, rows, 0, n);
  }
  auto [out, data] = fresh<T>(over.shape(keepdims));
  std::transform(totals.begin(), totals.end(), data, finish);
  return out;
}

/// A type of its own, not a function pointer: loops over it are then made vectors of.
struct ToDouble {
  template <class T>
  double operator()(T v) const {
    return static_cast<double>(v);
  }
};

void check_not_empty(const char* op, const Reduction& over) {
  if (over.count == 0)
    fail(op, "shape ", over.full, " over ", over.attributes(false),
         ": there is nothing to take it of.");
}

}  // namespace

template <class T>
Tensor<T> sum(const Tensor<T>& x, const Axes& axes, bool keepdims) {
  const Body<T>& b = body(x, "sum");
  const Reduction over("sum", b.shape, axes);
  auto value = fold<double>(b, over, keepdims, 0.0, ToDouble(), std::plus<double>(),
                            [](double total) { return static_cast<T>(total); });
  return record<T>("sum", std::move(value), {{x, [over](In<T> g) { return over.spread(g); }}},
                   over.attributes(keepdims));
}

template <class T>
Tensor<T> mean(const Tensor<T>& x, const Axes& axes, bool keepdims) {
  const Body<T>& b = body(x, "mean");
  const Reduction over("mean", b.shape, axes);
  check_not_empty("mean", over);
  const double n = static_cast<double>(over.count);
  auto value = fold<double>(b, over, keepdims, 0.0, ToDouble(), std::plus<double>(),
                            [n](double total) { return static_cast<T>(total / n); });
  return record<T>("mean", std::move(value),
                   {{x, [over, n](In<T> g) { return over.spread(g / n); }}},
                   over.attributes(keepdims));
}

namespace {

/// max or min: the value that `better` prefers, and a share of the gradient for each tie.
template <class T, class Better>
Tensor<T> extreme(const char* op, const Tensor<T>& x, const Axes& axes, bool keepdims, T worst,
                  Better better) {
  const Body<T>& b = body(x, op);
  const Reduction over(op, b.shape, axes);
  check_not_empty(op, over);
  const auto same = [](T v) { return v; };
  const auto choose = [better](T a, T v) {
    return better(v, a) || std::isnan(v) ? v : a;
  };  // NaN stays
  auto value = fold<T>(b, over, keepdims, worst, same, choose, same);
  auto pullback = [x, over](In<T> g, In<T> y) {
    const Mask ties = equal(x, over.keep(y));
    const Tensor<T> count = over.sum_kept(where(ties, Tensor<T>::ones(to_shape(over.full)), 0));
    return where(ties, over.keep(g) / count, 0);
  };
  return record<T>(op, std::move(value), {{x, std::move(pullback)}}, over.attributes(keepdims));
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
  const Body<T>& b = body(x, "prod");
  const Reduction over("prod", b.shape, axes);
  const Shape result = to_shape(over.shape(keepdims));
  if (over.count == 0) return Tensor<T>::ones(result);
  Tensor<T> rest = x;
  for (std::int64_t axis : over.axes) {
    Tensor<T> odd;  // what had no partner
    while (rest.dim(axis) > 1) {
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
  const Body<T>& b = body(x, "var");
  const Reduction over("var", b.shape, axes);
  const double n = static_cast<double>(over.count) - correction;
  if (!(n > 0) || over.count == 0)
    fail("var", values_text(over.count), " with a correction of ", correction,
         ": more values are required.");
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
  const Body<T>& b = body(x, "norm");
  const Reduction over("norm", b.shape, axes);
  Tensor<T> value = length(b, over, keepdims);
  const auto lost = [](T y) { return y < kTiny || y == kInf; };
  const std::vector<T> lengths = value.values();
  if (over.count > 0 && std::any_of(lengths.begin(), lengths.end(), lost)) {
    // Where squares overflow or underflow: again, of the values over the largest.
    const Tensor<T> constant = stop_gradient(x);
    const Tensor<T> first = reshape(value, to_shape(over.kept));
    const Tensor<T> largest = max(abs(constant), axes, true);
    const Mask again = (equal(first, kInf) | (first < kTiny)) & (largest > 0) & (largest < kInf);
    const Tensor<T> scale = where(again, largest, 1);
    const Tensor<T> scaled = constant / scale;
    value = length(body(scaled, "norm"), over, true) * scale;
    value = reshape(value, to_shape(over.shape(keepdims)));
  }
  auto pullback = [x, over](In<T> g, In<T> y) {
    const Tensor<T> length = over.keep(y);
    return chain(over.keep(g), where(equal(length, 0), 0, x / length));
  };
  return record<T>("norm", std::move(value), {{x, std::move(pullback)}}, over.attributes(keepdims));
}

template <class T>
Index argmax(const Tensor<T>& x, Axis axis, bool keepdims) {
  const Body<T>& b = body(x, "argmax");
  const int at = normalize(axis, b.shape.rank(), "argmax");
  const Reduction over("argmax", b.shape, at);
  check_not_empty("argmax", over);
  auto [out, to] = fresh<std::int64_t>(over.shape(keepdims));
  std::int64_t* next = to;
  const std::int64_t step = b.strides[at];
  for_each_offset<1>(over.kept, {b.strides}, [&](const auto& offset) {
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
  const Body<T>& b = body(x, "logsumexp");
  const Reduction over("logsumexp", b.shape, axes);
  const Tensor<T> constant = stop_gradient(x);
  Tensor<T> shift = Tensor<T>::zeros(to_shape(over.kept));
  if (over.count > 0) {
    const Tensor<T> largest = max(constant, to_shape(over.axes), true);
    shift = where((largest < inf) & (largest > -inf), largest, 0);
  }
  const Tensor<T> value = log(over.sum_kept(exp(constant - shift))) + shift;
  // dx = g softmax(x), not g e^(x - y): where x is large, y has lost the digits that count.
  auto pullback = [x, over, shift](In<T> g) {
    const Tensor<T> e = exp(x - shift);
    const Tensor<T> total = over.sum_kept(e);
    return chain(over.keep(g), e / where(equal(total, 0), 1, total));
  };
  return record<T>("logsumexp", reshape(value, to_shape(over.shape(keepdims))),
                   {{x, std::move(pullback)}}, over.attributes(keepdims));
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
