// The bridge to xtensor, and the only public header that includes it.
//
//   xt::xarray<double> a = ...;
//   Tensor<double> x = from_xtensor(xt::view(a, xt::all(), 0));   // any expression, copied
//   auto b = as_xtensor(x);                                       // x's values, not copied
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <xtape/tensor.hpp>

// xtensor's folders changed in 0.26. The new ones are asked for first: an old xtensor may also lie
// in the compiler's own folders, behind the one that was chosen.
#if __has_include(<xtensor/containers/xadapt.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#endif

namespace xtape {

/// The values of an xtensor expression (an array, a view, a strided view, a sum of two): a copy, of
/// the expression's own type, float or double.
template <class E>
auto from_xtensor(const xt::xexpression<E>& expression) {
  using T = std::decay_t<typename E::value_type>;
  const E& e = expression.derived_cast();
  const auto& shape = e.shape();
  return Tensor<T>(Shape(shape.begin(), shape.end()),
                   std::vector<T>(e.template begin<xt::layout_type::row_major>(),
                                  e.template end<xt::layout_type::row_major>()));
}

/// An xtensor expression over x's values, strided where x is. It owns nothing: x, or a view of it,
/// must live as long.
template <class T>
auto as_xtensor(const Tensor<T>& x) {
  std::vector<std::size_t> shape;
  std::vector<std::ptrdiff_t> strides;
  const Shape lengths = x.shape();
  const std::vector<std::int64_t> steps = x.strides();
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    shape.push_back(static_cast<std::size_t>(lengths[i]));
    strides.push_back(lengths[i] == 1 ? 0 : static_cast<std::ptrdiff_t>(steps[i]));
  }
  return xt::adapt(x.data(), static_cast<std::size_t>(x.size()), xt::no_ownership(), shape,
                   strides);
}

/// A copy of x's values that lives on its own.
template <class T>
xt::xarray<T> to_xtensor(const Tensor<T>& x) {
  return as_xtensor(x);
}

}  // namespace xtape
