// The only private header that includes xtensor: arrays as xtensor expressions.
#pragma once

// xtensor's folders changed in 0.26. The new ones are asked for first: an old xtensor may also lie
// in the compiler's own folders, behind the one that was chosen.
#if __has_include(<xtensor/containers/xadapt.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/core/xmath.hpp>
#include <xtensor/reducers/xreducer.hpp>
#include <xtensor/views/xbroadcast.hpp>
#include <xtensor/views/xdynamic_view.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xbroadcast.hpp>
#include <xtensor/xdynamic_view.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xreducer.hpp>
#endif

#include <algorithm>

#include "storage.hpp"

namespace xtape::detail {

using XtShape = xt::svector<std::size_t, kMaxRank>;
using XtStrides = xt::svector<std::ptrdiff_t, kMaxRank>;

inline XtShape xt_shape(const Dims& shape) {
  XtShape result;
  for (std::int64_t n : shape) result.push_back(static_cast<std::size_t>(n));
  return result;
}

/// An array's values as an xtensor expression over the same memory.
template <class E>
auto expression(const Body<E>& x) {
  XtStrides strides;
  for (int i = 0; i < x.shape.rank(); ++i)  // xtensor wants 0 for axes of length 1
    strides.push_back(x.shape[i] == 1 ? 0 : static_cast<std::ptrdiff_t>(x.strides[i]));
  return xt::adapt(x.data, static_cast<std::size_t>(x.size), xt::no_ownership(), xt_shape(x.shape),
                   strides);
}

/// Calls use(first value in row-major order) for x broadcast to a shape.
template <class E, class Use>
void read_broadcast(const Body<E>& x, const XtShape& shape, Use&& use) {
  use(xt::broadcast(expression(x), shape).template begin<xt::layout_type::row_major>());
}

/// Calls use(first value in row-major order): a pointer where x has no gaps.
template <class E, class Use>
void read_values(const Body<E>& x, Use&& use) {
  if (x.contiguous)
    use(x.data);
  else
    read_broadcast(x, xt_shape(x.shape), use);
}

}  // namespace xtape::detail
