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

/// The logarithm of the sum of exponentials, shifted by the maximum: exact for logits of any size;
/// -inf, with gradient 0, over nothing or when all are -inf.
/// Formula: y = ln sum e^x; dx = g e^(x - y)
template <class T>
XTAPE_API Tensor<T> logsumexp(const Tensor<T>& x, const Axes& axes = all, bool keepdims = false);

}  // namespace xtape
