// Comparisons, and ops that choose by a mask.
#include <xtape/ops/compare.hpp>

#include <algorithm>
#include <functional>

#include "map.hpp"

namespace xtape {

using namespace detail;

namespace {

template <class E, class F>
Mask compare(const char* op, const Array<E>& a, const Array<E>& b, F f) {
  return zip_to<bool>(op, body(a, op), body(b, op), f);
}

}  // namespace

template <class T>
Mask less(const Tensor<T>& a, Arg<T> b) {
  return compare("less", a, b, std::less<T>());
}

template <class T>
Mask less_equal(const Tensor<T>& a, Arg<T> b) {
  return compare("less_equal", a, b, std::less_equal<T>());
}

template <class T>
Mask equal(const Tensor<T>& a, Arg<T> b) {
  return compare("equal", a, b, std::equal_to<T>());
}

Mask operator&(const Mask& a, const Mask& b) {
  return compare("and", a, b, std::logical_and<bool>());
}

Mask operator|(const Mask& a, const Mask& b) {
  return compare("or", a, b, std::logical_or<bool>());
}

Mask operator!(const Mask& a) {
  return map_to<bool>(body(a, "not"), [](bool x) { return !x; });
}

namespace {

template <class T>
Tensor<T> select(const char* op, const Mask& condition, const Tensor<T>& a, const Tensor<T>& b) {
  const auto& c = body(condition, op);
  const auto& x = body(a, op);
  const auto& y = body(b, op);
  const Dims shape = broadcast(c.shape, broadcast(x.shape, y.shape, op), op);
  const auto run = kernels<T>().select;
  const auto simple = [](std::int64_t step) { return step == 0 || step == 1; };
  return by_rows<T, 3>(shape, {strides_in(shape, c), strides_in(shape, x), strides_in(shape, y)},
                       [&](std::int64_t n, T* to, const auto& at, const auto& step) {
                         const bool* which = c.data + at[0];
                         const T *left = x.data + at[1], *right = y.data + at[2];
                         if (step[0] == 1 && simple(step[1]) && simple(step[2]))
                           return run(n, which, left, step[1], right, step[2], to);
                         for (std::int64_t i = 0; i < n; ++i)
                           to[i] = which[i * step[0]] ? left[i * step[1]] : right[i * step[2]];
                       });
}

}  // namespace

template <class T>
Tensor<T> where(const Mask& condition, const Tensor<T>& a, Arg<T> b) {
  return record<T>("where", select("where", condition, a, b),
                   {{a, [condition](In<T> g) { return where(condition, g, 0); }},
                    {b, [condition](In<T> g) { return where(condition, 0, g); }}});
}

template <class T>
Tensor<T> where(const Mask& condition, double a, const Tensor<T>& b) {
  return where(condition, Tensor<T>(a), b);
}

template <class T>
Tensor<T> mask(const Tensor<T>& x, const Mask& allowed, double fill) {
  const Dims& shape = body(x, "mask").shape;
  const Dims& given = body(allowed, "mask").shape;
  if (!broadcasts_to(given, shape))
    fail("mask", "a mask of shape ", given, " for x of shape ", shape, ": it must broadcast to x.");
  return record<T>("mask", select<T>("mask", allowed, x, fill),
                   {{x, [allowed](In<T> g) { return mask(g, allowed, 0); }}});
}

Mask causal_mask(std::int64_t queries, std::int64_t keys) {
  auto [out, data] = fresh<bool>(to_dims({queries, keys}, "causal_mask"));
  for (std::int64_t i = 0; i < queries; ++i) {
    const std::int64_t visible = std::clamp<std::int64_t>(i + 1 + keys - queries, 0, keys);
    std::fill_n(data + i * keys, visible, true);
    std::fill_n(data + i * keys + visible, keys - visible, false);
  }
  return out;
}

#define XTAPE_INSTANTIATE(T)                                       \
  template Mask less(const Tensor<T>&, Arg<T>);                    \
  template Mask less_equal(const Tensor<T>&, Arg<T>);              \
  template Mask equal(const Tensor<T>&, Arg<T>);                   \
  template Tensor<T> where(const Mask&, const Tensor<T>&, Arg<T>); \
  template Tensor<T> where(const Mask&, double, const Tensor<T>&); \
  template Tensor<T> mask(const Tensor<T>&, const Mask&, double);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
