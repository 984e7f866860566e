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

/// The exponential, within 1 ulp, denormals too.
/// Formula: y = e^x; dx = g y
template <class T>
XTAPE_API Tensor<T> exp(const Tensor<T>& x);

/// The power of 2, within 1.2 ulp, denormals too.
/// Formula: y = 2^x; dx = g y ln 2
template <class T>
XTAPE_API Tensor<T> exp2(const Tensor<T>& x);

/// The natural logarithm, within 1 ulp: -inf at 0, NaN below.
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

/// The hyperbolic tangent, within 3 ulp.
/// Formula: y = tanh x; dx = g (1 - y^2)
template <class T>
XTAPE_API Tensor<T> tanh(const Tensor<T>& x);

/// The logistic function, within 3 ulp at both ends too.
/// Formula: y = 1 / (1 + e^-x); dx = g y (1 - y)
template <class T>
XTAPE_API Tensor<T> sigmoid(const Tensor<T>& x);

/// The positive part; its derivative at 0 is 0, and NaN stays NaN.
/// Formula: y = max(x, 0); dx = g where x > 0, else 0
template <class T>
XTAPE_API Tensor<T> relu(const Tensor<T>& x);

/// The absolute value; its derivative at 0 is 0.
/// Formula: y = |x|; dx = g sign(x)
template <class T>
XTAPE_API Tensor<T> abs(const Tensor<T>& x);

/// The sine of an angle in radians.
/// Formula: y = sin x; dx = g cos x
template <class T>
XTAPE_API Tensor<T> sin(const Tensor<T>& x);

/// The cosine of an angle in radians.
/// Formula: y = cos x; dx = -g sin x
template <class T>
XTAPE_API Tensor<T> cos(const Tensor<T>& x);

/// The error function.
/// Formula: y = 2 pi^(-1/2) integral of e^(-t^2) from 0 to x; dx = 2 pi^(-1/2) g e^(-x^2)
template <class T>
XTAPE_API Tensor<T> erf(const Tensor<T>& x);

/// The Gaussian error linear unit: Phi is the exact normal distribution function.
/// Formula: y = x Phi(x); dx = g (Phi(x) + x phi(x)), phi the density of Phi
/// Source: Hendrycks and Gimpel, Gaussian Error Linear Units, 2016
template <class T>
XTAPE_API Tensor<T> gelu(const Tensor<T>& x);

/// The sigmoid linear unit, also called swish, within 4 ulp: 0 at -inf.
/// Formula: y = x s(x); dx = g s(x) (1 + x (1 - s(x))), s the sigmoid
template <class T>
XTAPE_API Tensor<T> silu(const Tensor<T>& x);

/// A smooth relu, within 2 ulp at both ends too.
/// Formula: y = ln(1 + e^x); dx = g sigmoid(x)
template <class T>
XTAPE_API Tensor<T> softplus(const Tensor<T>& x);

/// x, but at least low and at most high; NaN stays NaN, and at the limits the gradient passes.
/// Throws: std::invalid_argument when low is above high, or either is NaN.
/// Formula: y = min(max(x, low), high); dx = g where low <= x <= high, else 0
template <class T>
XTAPE_API Tensor<T> clamp(const Tensor<T>& x, double low, double high);

/// The larger of two; NaN if either is. Equal values share the gradient. a, b: broadcast.
/// Formula: y = max(a, b); da = g where a > b, g / 2 where a = b, else 0; db likewise
template <class T>
XTAPE_API Tensor<T> maximum(const Tensor<T>& a, Arg<T> b);

/// The smaller of two; NaN if either is. Equal values share the gradient. a, b: broadcast.
/// Formula: y = min(a, b); da = g where a < b, g / 2 where a = b, else 0; db likewise
template <class T>
XTAPE_API Tensor<T> minimum(const Tensor<T>& a, Arg<T> b);

}  // namespace xtape
