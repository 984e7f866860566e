// Elementwise ops. Operands broadcast by NumPy's rules; gradients come back in each operand's
// shape. `b` may be a number. + - * / and unary - stand for add, sub, mul, div and neg, and take
// numbers on either side.
#pragma once

#include <xtape/tensor.hpp>

namespace xtape {

/// The sum. a, b: broadcast.
/// Formula: y = a + b; da = g, db = g
template <class T>
XTAPE_API Tensor<T> add(const Tensor<T>& a, Arg<T> b);

/// The difference. a, b: broadcast.
/// Formula: y = a - b; da = g, db = -g
template <class T>
XTAPE_API Tensor<T> sub(const Tensor<T>& a, Arg<T> b);

/// The product, elementwise. a, b: broadcast.
/// Formula: y = a b; da = g b, db = g a
template <class T>
XTAPE_API Tensor<T> mul(const Tensor<T>& a, Arg<T> b);

/// The quotient; division by 0 as IEEE says. a, b: broadcast.
/// Formula: y = a / b; da = g / b, db = -g y / b
template <class T>
XTAPE_API Tensor<T> div(const Tensor<T>& a, Arg<T> b);

/// The negative.
/// Formula: y = -x; dx = -g
template <class T>
XTAPE_API Tensor<T> neg(const Tensor<T>& x);

/// A cotangent times a local derivative, and 0 wherever the cotangent is 0, even if the derivative
/// is NaN or infinite: the chain rule as pullbacks use it. g, d: broadcast.
/// Formula: y = g d where g != 0, else 0; dg = chain(h, d), dd = chain(h, g)
template <class T>
XTAPE_API Tensor<T> chain(const Tensor<T>& g, Arg<T> d);

/// The exponential.
/// Formula: y = e^x; dx = g y
template <class T>
XTAPE_API Tensor<T> exp(const Tensor<T>& x);

/// The natural logarithm: -inf at 0, NaN below.
/// Formula: y = ln x; dx = g / x
template <class T>
XTAPE_API Tensor<T> log(const Tensor<T>& x);

/// The square root: NaN below 0; its derivative at 0 is +inf.
/// Formula: y = x^(1/2); dx = g / (2 y)
template <class T>
XTAPE_API Tensor<T> sqrt(const Tensor<T>& x);

/// The square.
/// Formula: y = x^2; dx = 2 g x
template <class T>
XTAPE_API Tensor<T> square(const Tensor<T>& x);

/// The power, as std::pow: NaN for a negative base with a broken exponent. a, b: broadcast. The
/// gradient of a is 0 where b is 0, that of b is 0 where a is 0 and b is not negative.
/// Formula: y = a^b; da = g b a^(b-1), db = g y ln a
template <class T>
XTAPE_API Tensor<T> pow(const Tensor<T>& a, Arg<T> b);

/// The hyperbolic tangent.
/// Formula: y = tanh x; dx = g (1 - y^2)
template <class T>
XTAPE_API Tensor<T> tanh(const Tensor<T>& x);

/// The logistic function, exact at both ends.
/// Formula: y = 1 / (1 + e^-x); dx = g y (1 - y)
template <class T>
XTAPE_API Tensor<T> sigmoid(const Tensor<T>& x);

/// The positive part; its derivative at 0 is 0, and NaN stays NaN.
/// Formula: y = max(x, 0); dx = g where x > 0, else 0
template <class T>
XTAPE_API Tensor<T> relu(const Tensor<T>& x);

}  // namespace xtape
