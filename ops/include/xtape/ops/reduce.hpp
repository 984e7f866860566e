// Reductions over any axes. `keepdims` keeps the reduced axes with length 1.
#pragma once

#include <xtape/tensor.hpp>

namespace xtape {

/// The sum, accumulated in double; 0 over nothing.
/// Formula: y = sum x; dx = g, broadcast
template <class T>
XTAPE_API Tensor<T> sum(const Tensor<T>& x, const Axes& axes = all, bool keepdims = false);

/// The mean, accumulated in double.
/// Throws: std::invalid_argument over nothing.
/// Formula: y = sum x / n; dx = g / n, broadcast
template <class T>
XTAPE_API Tensor<T> mean(const Tensor<T>& x, const Axes& axes = all, bool keepdims = false);

/// The largest value; NaN if there is one. Ties share the gradient equally.
/// Throws: std::invalid_argument over nothing.
/// Formula: y = max x; dx = g / (number of ties) where x = y, else 0
template <class T>
XTAPE_API Tensor<T> max(const Tensor<T>& x, const Axes& axes = all, bool keepdims = false);

/// The smallest value; NaN if there is one. Ties share the gradient equally.
/// Throws: std::invalid_argument over nothing.
/// Formula: y = min x; dx = g / (number of ties) where x = y, else 0
template <class T>
XTAPE_API Tensor<T> min(const Tensor<T>& x, const Axes& axes = all, bool keepdims = false);

/// The product; 1 over nothing. Halves are multiplied by each other until one value is left, so
/// that the gradient is right where values are 0 too. Formula: y = prod x; dx_i = g times the
/// product of all others
template <class T>
XTAPE_API Tensor<T> prod(const Tensor<T>& x, const Axes& axes = all, bool keepdims = false);

/// The variance: the mean squared distance from the mean, with n - correction for n (1 estimates
/// the variance of what x was drawn from). Throws: std::invalid_argument when n - correction is not
/// above 0. Formula: y = sum (x - m)^2 / (n - correction), m = mean x; dx = 2 g (x - m) / (n -
/// correction)
template <class T>
XTAPE_API Tensor<T> var(const Tensor<T>& x, const Axes& axes = all, bool keepdims = false,
                        double correction = 0);

/// The Euclidean length, accumulated in double, also where squares overflow or underflow; its
/// gradient at the zero vector is 0.
/// Formula: y = (sum x^2)^(1/2); dx = g x / y
template <class T>
XTAPE_API Tensor<T> norm(const Tensor<T>& x, const Axes& axes = all, bool keepdims = false);

/// The position of the largest value along an axis: the first of equal ones, or of the first NaN.
/// Throws: std::invalid_argument over nothing.
/// Not an op: a position has no derivative.
template <class T>
XTAPE_API Index argmax(const Tensor<T>& x, Axis axis = -1, bool keepdims = false);

/// The logarithm of the sum of exponentials, shifted by the maximum: exact for logits of any size;
/// -inf, with gradient 0, over nothing or when all are -inf.
/// Formula: y = ln sum e^x; dx = g e^(x - y)
template <class T>
XTAPE_API Tensor<T> logsumexp(const Tensor<T>& x, const Axes& axes = all, bool keepdims = false);

}  // namespace xtape
