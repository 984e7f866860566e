// The table for one kind of processor, from kernels that are written once for all.
#pragma once

#include <type_traits>

#include "attention.hpp"
#include "functions.hpp"
#include "isas.hpp"
#include "layers.hpp"
#include "log.hpp"
#include "matmul.hpp"
#include "rows.hpp"
#include "simd.hpp"

namespace xtape::detail {
namespace {

/// Calls run with what reads V at i of two operands that are rows (step 1) or one number (step 0).
template <class V, class T, class Run>
void read_by(const T* a, std::int64_t a_step, const T* b, std::int64_t b_step, const Run& run) {
  const auto row = [](const T* from) {
    return [=](std::int64_t i) {
      if constexpr (std::is_same_v<V, T>)
        return from[i];
      else
        return load<V>(from + i);
    };
  };
  const auto same = [](T value) { return [v = V(value)](std::int64_t) { return v; }; };
  if (a_step == 1 && b_step == 1)
    run(row(a), row(b));
  else if (a_step == 1)
    run(row(a), same(*b));
  else if (b_step == 1)
    run(same(*a), row(b));
  else
    run(same(*a), same(*b));
}

/// F of operands that are rows (step 1) or one number (step 0).
template <class V, class F, class T>
void apply(std::int64_t n, const T* a, std::int64_t a_step, const T* b, std::int64_t b_step, T* y) {
  if (n == 0) return;
  read_by<V>(a, a_step, b, b_step, [=, f = F()](auto left, auto right) {
    std::int64_t i = 0;
    for (; i + kWidth<V> <= n; i += kWidth<V>) store(f(left(i), right(i)), y + i);
    if (i == n) return;
    // The last few values, by way of a vector that holds nothing else.
    T x[kWidth<V>]{}, z[kWidth<V>]{};
    for (std::int64_t j = i; j < n; ++j) {
      x[j - i] = a[j * a_step];
      z[j - i] = b[j * b_step];
    }
    store(f(load<V>(x), load<V>(z)), x);
    for (std::int64_t j = i; j < n; ++j) y[j] = x[j - i];
  });
}

/// A choice between operands that are rows (step 1) or one number (step 0): a loop that the
/// compiler makes vectors of, since it reads both operands whatever the choice.
template <class T>
void select(std::int64_t n, const bool* which, const T* a, std::int64_t a_step, const T* b,
            std::int64_t b_step, T* y) {
  static_assert(sizeof(bool) == 1);
  const auto* choice = reinterpret_cast<const unsigned char*>(which);  // GCC has no vectors of bool
  if (n == 0) return;
  read_by<T>(a, a_step, b, b_step, [=](auto left, auto right) {
    for (std::int64_t i = 0; i < n; ++i) {
      const T x = left(i), z = right(i);
      y[i] = choice[i] != 0 ? x : z;
    }
  });
}

/// F of each value. The last vector overlaps the one before it; it is read first, as y may be x.
template <class V, class F, class T>
void map(std::int64_t n, const T* x, T* y) {
  constexpr std::int64_t W = kWidth<V>;
  const F f;
  if (n >= W) {
    const V last = load<V>(x + n - W);
    for (std::int64_t i = 0; i + W < n; i += W) store(f(load<V>(x + i)), y + i);
    return store(f(last), y + n - W);
  }
  if (n == 0) return;
  T few[W]{};
  for (std::int64_t i = 0; i < n; ++i) few[i] = x[i];
  store(f(n == 1 ? V(*x) : load<V>(few)), few);
  for (std::int64_t i = 0; i < n; ++i) y[i] = few[i];
}

template <class T>
const Kernels<T>& scalar_table() {
  if constexpr (std::is_same_v<T, float>)
    return scalar_tables().f32;
  else
    return scalar_tables().f64;
}

template <class T, class Isa>
Kernels<T> table(const char* name) {
  using V = Vector<T, Isa>;
  using R = Rows<T, Isa>;
  using L = Layers<T, Isa>;
  const auto plain = [](Unary f) { return scalar_table<T>().unary[static_cast<int>(f)]; };
  return {name,
          Product<T, Isa>::multiply,
          {apply<V, Add>, apply<V, Sub>, apply<V, Mul>, apply<V, Div>, apply<V, Chain>},
          select<T>,
          {map<V, Neg>, map<V, Abs>, map<V, Relu>, map<V, Sqrt>, map<V, Square>, map<V, Exp>,
           map<V, Exp2>, map<V, Log>, map<V, Tanh>, map<V, Sigmoid>, map<V, Silu>, map<V, Softplus>,
           plain(Unary::sin), plain(Unary::cos), plain(Unary::erf), plain(Unary::gelu)},
          Attention<T, Isa>::forward,
          Attention<T, Isa>::backward,
          R::softmax,
          R::softmax_pullback,
          R::log_softmax,
          R::log_softmax_pullback,
          R::cross_entropy,
          R::cross_entropy_pullback,
          L::norm,
          L::norm_pullback,
          L::swiglu,
          L::swiglu_pullback};
}

template <class Isa>
Tables tables(const char* name) {
  static const Kernels<float> f32 = table<float, Isa>(name);
  static const Kernels<double> f64 = table<double, Isa>(name);
  return {f32, f64};
}

}  // namespace
}  // namespace xtape::detail
