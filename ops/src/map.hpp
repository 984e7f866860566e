// Functions applied value by value. Small operands of one shape, and single numbers, take a plain
// loop; every other layout is walked row by row.
#pragma once

#include <algorithm>

#include <xtape/record.hpp>

#include "kernels.hpp"
#include "rows.hpp"
#include "threads.hpp"
#include "xt.hpp"

namespace xtape::detail {

/// An array of a shape, of which row(n, to, at, step) writes n values from `to` on. They belong to
/// n values of each of N operands with these strides, which lie `step` apart from its value `at`
/// on.
template <class R, std::size_t N, class Row>
Array<R> by_rows(const Dims& shape, const std::array<Dims, N>& strides, const Row& row) {
  auto [out, data] = fresh<R>(shape);
  R* const to = data;
  const std::int64_t size = size_of(shape);
  if (size == 0) return out;
  const double nanoseconds = static_cast<double>(size) / 4;
  const Rows<N> rows(shape, strides);
  if (rows.outer.rank() == 0) {
    parallel_blocks(size, nanoseconds, [&](std::int64_t begin, std::int64_t end) {
      std::array<std::int64_t, N> at;
      for (std::size_t k = 0; k < N; ++k) at[k] = begin * rows.step[k];
      row(end - begin, to + begin, at, rows.step);
    });
  } else {
    parallel_blocks(size / rows.length, nanoseconds, [&](std::int64_t begin, std::int64_t end) {
      R* next = to + begin * rows.length;
      for_each_offset<N>(rows.outer, rows.strides, begin, end, [&](const auto& at) {
        row(rows.length, next, at, rows.step);
        next += rows.length;
      });
    });
  }
  return out;
}

/// f of each value; R is the result's value type.
template <class R, class E, class F>
Array<R> map_to(const Body<E>& x, F f) {
  return by_rows<R, 1>(x.shape, {x.strides},
                       [&](std::int64_t n, R* to, const auto& at, const auto& step) {
                         const E* from = x.data + at[0];
                         for (std::int64_t i = 0; i < n; ++i) to[i] = f(from[i * step[0]]);
                       });
}

/// The values of x without gaps.
template <class E>
Array<E> dense(const Body<E>& x) {
  return by_rows<E, 1>(x.shape, {x.strides},
                       [&](std::int64_t n, E* to, const auto& at, const auto& step) {
                         const E* from = x.data + at[0];
                         if (step[0] == 1)
                           std::copy_n(from, n, to);
                         else
                           for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * step[0]];
                       });
}

/// x as a constant whose rows along its last axis have no gaps.
template <class T>
Tensor<T> dense_rows(const Tensor<T>& x) {
  const Body<T>& b = *x.raw();
  return b.strides[b.shape.rank() - 1] == 1 ? stop_gradient(x) : Tensor<T>(dense(b));
}

/// f of n pairs of values that lie some steps apart.
template <class R, class A, class B, class F>
void zip_row(std::int64_t n, const A* a, std::int64_t a_step, const B* b, std::int64_t b_step,
             R* to, F f) {
  // Told apart for the compiler, which then takes several values at once.
  if (a_step == 1 && b_step == 1)
    for (std::int64_t i = 0; i < n; ++i) to[i] = f(a[i], b[i]);
  else if (a_step == 1 && b_step == 0)
    for (std::int64_t i = 0; i < n; ++i) to[i] = f(a[i], *b);
  else
    for (std::int64_t i = 0; i < n; ++i) to[i] = f(a[i * a_step], b[i * b_step]);
}

/// f of each pair of values of two operands that broadcast.
template <class R, class A, class B, class F>
Array<R> zip_to(const char* op, const Body<A>& a, const Body<B>& b, F f) {
  const Dims shape = a.shape == b.shape ? a.shape : broadcast(a.shape, b.shape, op);
  return by_rows<R, 2>(shape, {strides_in(shape, a), strides_in(shape, b)},
                       [&](std::int64_t n, R* to, const auto& at, const auto& step) {
                         zip_row(n, a.data + at[0], step[0], b.data + at[1], step[1], to, f);
                       });
}

template <class T, class F>
Tensor<T> map(const char* op, const Tensor<T>& x, F f) {
  return map_to<T>(body(x, op), f);
}

/// About how many nanoseconds a value takes where none is waited for.
constexpr double cost(Unary f) {
  if (f == Unary::sin || f == Unary::cos || f == Unary::erf || f == Unary::gelu) return 8;
  return f <= Unary::square ? 0.3 : 0.5;
}

/// f of each value, by its kernel: what does not lie dense is copied first, so that it is the same.
template <class T>
Tensor<T> map(Unary f, const char* op, const Tensor<T>& x) {
  const Body<T>& b = body(x, op);
  auto [out, data] = fresh<T>(b.shape);
  T* const to = data;
  const T* from = b.data;
  if (!b.contiguous) {
    read_values(b, [&](auto value) {
      for (std::int64_t i = 0; i < b.size; ++i, ++value) to[i] = *value;
    });
    from = to;
  }
  const auto kernel = kernels<T>().unary[static_cast<int>(f)];
  constexpr std::int64_t kLine = 64 / sizeof(T);
  const std::int64_t n = b.size;
  if (n < 1024) {  // asking for threads would cost as much
    kernel(n, from, to);
    return out;
  }
  parallel_blocks((n + kLine - 1) / kLine, cost(f) * static_cast<double>(n),
                  [=](std::int64_t begin, std::int64_t end) {
                    const std::int64_t i = begin * kLine;
                    kernel(std::min(end * kLine, n) - i, from + i, to + i);
                  });
  return out;
}

template <class T, class F>
Tensor<T> zip(const char* op, const Tensor<T>& x, const Tensor<T>& y, F f) {
  return zip_to<T>(op, body(x, op), body(y, op), f);
}

/// The same by a kernel that computes f, where rows are long.
template <class T, class F>
Tensor<T> zip(Binary kernel, const char* op, const Tensor<T>& x, const Tensor<T>& y, F f) {
  constexpr std::int64_t kLong = 32;
  const Body<T>&a = body(x, op), &b = body(y, op);
  const bool same = a.shape == b.shape;
  const Dims joint = same ? Dims() : broadcast(a.shape, b.shape, op);
  const Dims& shape = same ? a.shape : joint;
  const std::int64_t size = same ? a.size : size_of(shape);
  const auto fits = [=](const Body<T>& v) {
    return v.size == 1 || (v.contiguous && v.size == size);
  };
  if (size < kLong && fits(a) && fits(b)) {
    auto [out, to] = fresh<T>(shape);
    zip_row(size, a.data, a.size == size, b.data, b.size == size, to, f);
    return out;
  }
  const auto run = kernels<T>().binary[static_cast<int>(kernel)];
  const auto simple = [](std::int64_t step) { return step == 0 || step == 1; };
  return by_rows<T, 2>(shape, {strides_in(shape, a), strides_in(shape, b)},
                       [&](std::int64_t n, T* to, const auto& at, const auto& step) {
                         const T *left = a.data + at[0], *right = b.data + at[1];
                         if (n >= kLong && simple(step[0]) && simple(step[1]))
                           run(n, left, step[0], right, step[1], to);
                         else
                           zip_row(n, left, step[0], right, step[1], to, f);
                       });
}

}  // namespace xtape::detail
