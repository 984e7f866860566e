// Derivatives of functions: grad, value_and_grad, vjp, jvp and hvp. They take a function of tensors
// and nest freely; a tape is made where none is at hand.
//
//   auto df = grad([](auto x) { return x * x * x; });
//   df(Tensor<double>(2.0));          // 12
//   grad(df)(Tensor<double>(2.0));    // 12, the second derivative
#pragma once

#include <array>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <xtape/ops/elementwise.hpp>
#include <xtape/ops/reduce.hpp>
#include <xtape/ops/shape.hpp>
#include <xtape/tape.hpp>

namespace xtape {

namespace detail {

/// The part of a tape that one call of a differentiated function writes: fresh lines for the
/// arguments, linked to them where they stand on a tape, on a tape of its own otherwise.
template <class T>
class Closure {
 public:
  XTAPE_API explicit Closure(const std::vector<Tensor<T>>& at);
  Closure(const Closure&) = delete;
  Closure& operator=(const Closure&) = delete;
  XTAPE_API ~Closure();

  const std::vector<Tensor<T>>& arguments() const noexcept { return arguments_; }
  /// Cotangents of the arguments. They are recorded wherever a tape that is not this closure's own
  /// may ask for their derivatives.
  XTAPE_API std::vector<Tensor<T>> vjp(const char* op, In<T> y, const Tensor<T>* seed);

 private:
  TapeState<T>* own_ = nullptr;  // null when the arguments stand on a tape already
  std::uint64_t epoch_ = 0;      // of own_: another when the tape that it joined has ended
  std::vector<Tensor<T>> arguments_;
};

/// f on the closure's arguments, spread as the user gave them: x... or one vector.
template <class T, class... X, class F>
Tensor<T> call(const F& f, const std::vector<Tensor<T>>& x) {
  const auto as_given = answer<T, X...>(x);
  if constexpr (sizeof...(X) == 1)
    return f(as_given);
  else
    return std::apply(f, as_given);
}

/// float or double: what the first argument holds. Never defined.
template <class T, class... Rest>
T element_of(const Tensor<T>& first, const Rest&... rest);
template <class T>
T element_of(const std::vector<Tensor<T>>& xs);

}  // namespace detail

/// x... -> (f(x...), the gradient with respect to every argument), for an f with a one-element
/// result. Of one argument the gradient is a Tensor, of several a std::array, of a std::vector
/// a std::vector.
template <class F>
auto value_and_grad(F f) {
  return [f](const auto&... x) {
    using T = decltype(detail::element_of(x...));
    detail::Closure<T> closure(detail::Request<T>(x...).wrt);
    Tensor<T> y = detail::call<T, std::decay_t<decltype(x)>...>(f, closure.arguments());
    auto gradients = closure.vjp("grad", y, nullptr);
    return std::make_pair(y, detail::answer<T, std::decay_t<decltype(x)>...>(std::move(gradients)));
  };
}

/// x... -> the gradient of f at x..., as value_and_grad gives it.
template <class F>
auto grad(F f) {
  return [f](const auto&... x) { return value_and_grad(f)(x...).second; };
}

/// (f(x), the cotangent of x) for a cotangent of f's result.
template <class F, class T>
std::pair<Tensor<T>, Tensor<T>> vjp(const F& f, const Tensor<T>& x, Arg<T> cotangent) {
  detail::Closure<T> closure({x});
  Tensor<T> y = f(closure.arguments()[0]);
  Tensor<T> dx = closure.vjp("vjp", y, &cotangent)[0];
  return {y, dx};
}

/// (f(x), the derivative of f at x along v, in f's shape): a vjp of a vjp. It calls f twice.
/// Source: Townsend, "A new trick for calculating Jacobian vector products", 2017.
template <class F, class T>
std::pair<Tensor<T>, Tensor<T>> jvp(const F& f, const Tensor<T>& x, Arg<T> v) {
  const Tensor<T> y = f(x);
  // u -> <vjp(f, x)(u), v> is linear in u; its gradient is the derivative along v.
  auto along = [&](In<T> u) { return sum(vjp(f, x, u).second * v); };
  return {y, grad(along)(Tensor<T>::zeros(y.shape()))};
}

/// All derivatives of f's result with respect to x, a row for each value of the result.
/// -> [f's shape..., x's shape...]. It costs a sweep for each value: for small functions.
template <class F, class T>
Tensor<T> jacobian(const F& f, const Tensor<T>& x) {
  detail::Closure<T> closure({x});
  const Tensor<T> y = f(closure.arguments()[0]);
  Shape shape = y.shape();
  const Shape columns = x.shape();
  shape.insert(shape.end(), columns.begin(), columns.end());
  if (y.size() == 0) return Tensor<T>::zeros(shape);
  std::vector<Tensor<T>> rows;
  for (const Tensor<T>& one : unstack(Tensor<T>::eye(y.size()))) {
    const Tensor<T> seed = reshape(one, y.shape());
    rows.push_back(closure.vjp("jacobian", y, &seed)[0]);
  }
  return reshape(stack(rows), shape);
}

/// The second derivatives of f, which has a one-element result. -> [x's shape..., x's shape...]
template <class F, class T>
Tensor<T> hessian(const F& f, const Tensor<T>& x) {
  return jacobian(grad(f), x);
}

/// The Hessian of f at x times v, in x's shape, without the Hessian.
template <class F, class T>
Tensor<T> hvp(const F& f, const Tensor<T>& x, Arg<T> v) {
  return vjp(grad(f), x, v).second;
}

}  // namespace xtape
