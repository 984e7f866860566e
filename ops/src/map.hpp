// Functions applied value by value. Operands of one shape without gaps, and single numbers, take a
// plain loop; every other layout is an xtensor broadcast.
#pragma once

#include <xtape/record.hpp>

#include "xt.hpp"

namespace xtape::detail {

/// f of each value; R is the result's value type.
template <class R, class E, class F>
Array<R> map_to(const Body<E>& x, F f) {
  auto [out, data] = fresh<R>(x.shape);
  R* to = data;
  read_values(x, [&](auto from) {
    for (std::int64_t i = 0; i < x.size; ++i, ++from) to[i] = f(*from);
  });
  return out;
}

/// f of each pair of values of two operands that broadcast.
template <class R, class A, class B, class F>
Array<R> zip_to(const char* op, const Body<A>& a, const Body<B>& b, F f) {
  const Dims shape = a.shape == b.shape ? a.shape : broadcast(a.shape, b.shape, op);
  auto [out, data] = fresh<R>(shape);
  R* to = data;
  const std::int64_t n = size_of(shape);
  const bool a_fits = a.contiguous && a.shape == shape;
  const bool b_fits = b.contiguous && b.shape == shape;
  if (a_fits && b_fits) {
    std::transform(a.data, a.data + n, b.data, to, f);
  } else if (a_fits && b.size == 1) {
    std::transform(a.data, a.data + n, to, [&, y = b.data[0]](A x) { return f(x, y); });
  } else if (b_fits && a.size == 1) {
    std::transform(b.data, b.data + n, to, [&, x = a.data[0]](B y) { return f(x, y); });
  } else if (n > 0) {
    read_broadcast(a, xt_shape(shape), [&](auto x) {
      read_broadcast(b, xt_shape(shape), [&](auto y) {
        for (std::int64_t i = 0; i < n; ++i, ++x, ++y) to[i] = f(*x, *y);
      });
    });
  }
  return out;
}

template <class T, class F>
Tensor<T> map(const char* op, const Tensor<T>& x, F f) {
  return map_to<T>(body(x, op), f);
}

template <class T, class F>
Tensor<T> zip(const char* op, const Tensor<T>& a, const Tensor<T>& b, F f) {
  return zip_to<T>(op, body(a, op), body(b, op), f);
}

}  // namespace xtape::detail
