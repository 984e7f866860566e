// Elementwise ops: value and VJP side by side. `g` is the cotangent of the result.
#include <xtape/ops/elementwise.hpp>

#include <cmath>

#include <xtape/ops/compare.hpp>

#include "map.hpp"

namespace xtape {

using detail::Binary;
using detail::map;
using detail::Unary;
using detail::zip;

template <class T>
Tensor<T> add(const Tensor<T>& a, Arg<T> b) {
  return record<T>("add", zip(Binary::add, "add", a, b, [](T x, T y) { return x + y; }),
                   {{a, [](In<T> g) { return g; }}, {b, [](In<T> g) { return g; }}});
}

template <class T>
Tensor<T> sub(const Tensor<T>& a, Arg<T> b) {
  return record<T>("sub", zip(Binary::sub, "sub", a, b, [](T x, T y) { return x - y; }),
                   {{a, [](In<T> g) { return g; }}, {b, [](In<T> g) { return -g; }}});
}

template <class T>
Tensor<T> mul(const Tensor<T>& a, Arg<T> b) {
  return record<T>(
      "mul", zip(Binary::mul, "mul", a, b, [](T x, T y) { return x * y; }),
      {{a, [b](In<T> g) { return chain(g, b); }}, {b, [a](In<T> g) { return chain(g, a); }}});
}

template <class T>
Tensor<T> div(const Tensor<T>& a, Arg<T> b) {
  return record<T>("div", zip(Binary::div, "div", a, b, [](T x, T y) { return x / y; }),
                   {{a, [b](In<T> g) { return chain(g, 1 / b); }},
                    {b, [b](In<T> g, In<T> y) { return chain(g, -(y / b)); }}});
}

template <class T>
Tensor<T> neg(const Tensor<T>& x) {
  return record<T>("neg", map(Unary::neg, "neg", x), {{x, [](In<T> g) { return -g; }}});
}

template <class T>
Tensor<T> chain(const Tensor<T>& g, Arg<T> d) {
  Tensor<T> value =
      zip(Binary::chain, "chain", g, d, [](T x, T y) { return x == 0 ? T(0) : x * y; });
  // Sweeps call it most, and few are recorded: do not capture what nobody will read.
  if (!is_recorded(g) && !is_recorded(d)) return value;
  return record<T>(
      "chain", std::move(value),
      {{g, [d](In<T> h) { return chain(h, d); }}, {d, [g](In<T> h) { return chain(h, g); }}});
}

template <class T>
Tensor<T> exp(const Tensor<T>& x) {
  return record<T>("exp", map(Unary::exp, "exp", x),
                   {{x, [](In<T> g, In<T> y) { return chain(g, y); }}});
}

template <class T>
Tensor<T> exp2(const Tensor<T>& x) {
  return record<T>("exp2", map(Unary::exp2, "exp2", x),
                   {{x, [](In<T> g, In<T> y) { return chain(g, y * std::log(2.0)); }}});
}

template <class T>
Tensor<T> log(const Tensor<T>& x) {
  return record<T>("log", map(Unary::log, "log", x),
                   {{x, [x](In<T> g) { return chain(g, 1 / x); }}});
}

template <class T>
Tensor<T> sqrt(const Tensor<T>& x) {
  return record<T>("sqrt", map(Unary::sqrt, "sqrt", x),
                   {{x, [](In<T> g, In<T> y) { return chain(g, 0.5 / y); }}});
}

template <class T>
Tensor<T> square(const Tensor<T>& x) {
  return record<T>("square", map(Unary::square, "square", x),
                   {{x, [x](In<T> g) { return chain(g, 2 * x); }}});
}

template <class T>
Tensor<T> pow(const Tensor<T>& a, Arg<T> b) {
  return record<T>(
      "pow", zip("pow", a, b, [](T x, T y) { return std::pow(x, y); }),
      {{a, [a, b](In<T> g) { return chain(g, where(equal(b, 0), 0, b * pow(a, b - 1))); }},
       {b, [a, b](In<T> g, In<T> y) {
          return chain(g, where(equal(a, 0) & (b >= 0), 0, y * log(a)));
        }}});
}

template <class T>
Tensor<T> tanh(const Tensor<T>& x) {
  return record<T>("tanh", map(Unary::tanh, "tanh", x),
                   {{x, [](In<T> g, In<T> y) { return chain(g, 1 - square(y)); }}});
}

template <class T>
Tensor<T> sigmoid(const Tensor<T>& x) {
  return record<T>("sigmoid", map(Unary::sigmoid, "sigmoid", x),
                   {{x, [](In<T> g, In<T> y) { return chain(g, y * (1 - y)); }}});
}

template <class T>
Tensor<T> relu(const Tensor<T>& x) {
  return record<T>("relu", map(Unary::relu, "relu", x),
                   {{x, [x](In<T> g) { return where(x <= 0, 0, g); }}});
}

#define XTAPE_INSTANTIATE(T)                          \
  template Tensor<T> add(const Tensor<T>&, Arg<T>);   \
  template Tensor<T> sub(const Tensor<T>&, Arg<T>);   \
  template Tensor<T> mul(const Tensor<T>&, Arg<T>);   \
  template Tensor<T> div(const Tensor<T>&, Arg<T>);   \
  template Tensor<T> neg(const Tensor<T>&);           \
  template Tensor<T> chain(const Tensor<T>&, Arg<T>); \
  template Tensor<T> exp(const Tensor<T>&);           \
  template Tensor<T> exp2(const Tensor<T>&);          \
  template Tensor<T> log(const Tensor<T>&);           \
  template Tensor<T> sqrt(const Tensor<T>&);          \
  template Tensor<T> square(const Tensor<T>&);        \
  template Tensor<T> pow(const Tensor<T>&, Arg<T>);   \
  template Tensor<T> tanh(const Tensor<T>&);          \
  template Tensor<T> sigmoid(const Tensor<T>&);       \
  template Tensor<T> relu(const Tensor<T>&);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
