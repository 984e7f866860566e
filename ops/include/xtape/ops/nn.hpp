// Softmax and losses, shifted by the row maximum: exact for logits of any size.
#pragma once

#include <type_traits>

#include <xtape/tensor.hpp>

namespace xtape {

/// Weights that are positive and sum to 1 along an axis. Entries of -inf get 0; where all are -inf
/// (nothing allowed) all weights are 0, and so is the gradient.
/// Formula: y = e^(x - max) / sum e^(x - max); dx = y (g - sum g y)
template <class T>
XTAPE_API Tensor<T> softmax(const Tensor<T>& x, Axis axis = -1);

/// Softmax over the allowed entries alone; the others get weight 0, and so do rows of none.
/// allowed broadcasts to x.
/// Formula: y = softmax(mask(x, allowed)); dx = y (g - sum g y) where allowed, else 0
template <class T>
XTAPE_API Tensor<T> softmax(const Tensor<T>& x, const Mask& allowed, Axis axis = -1);

// A bool is neither an axis nor a mask here, though it would convert to a mask.
template <class T, class B, std::enable_if_t<std::is_same_v<B, bool>, int> = 0>
void softmax(const Tensor<T>& x, B allowed) = delete;

/// The mean squared error. prediction, target: one shape -> []
/// Throws: std::invalid_argument when the shapes differ (they would broadcast in silence), or for
/// no values.
/// Formula: y = mean (p - t)^2; dp = 2 g (p - t) / n, dt = -dp
template <class T>
XTAPE_API Tensor<T> mse(const Tensor<T>& prediction, Arg<T> target);

/// The logarithm of softmax, without a loss where that is tiny; -inf where x is -inf.
/// Formula: y = x - ln sum e^x; dx = g - e^y sum g, and 0 where y = -inf in a row of nothing else
template <class T>
XTAPE_API Tensor<T> log_softmax(const Tensor<T>& x, Axis axis = -1);

/// The mean of -ln softmax(logits)[target] over all positions, in nats.
/// logits: [..., C]  targets: [...], each from 0 to C - 1 -> []
/// Throws: std::invalid_argument for no positions, other shapes, or a target outside.
/// Formula: y = mean(ln sum e^x - x_t); dx = g (softmax(x) - onehot(t)) / n
template <class T>
XTAPE_API Tensor<T> cross_entropy(const Tensor<T>& logits, const Index& targets);
/// The same for a distribution over the classes at each position; a class of probability 0 adds 0,
/// whatever its logit. logits, probabilities: [..., C] -> []
/// Formula: y = mean(-sum p ln softmax(x)); dx = g (softmax(x) sum p - p) / n, dp = -g ln
/// softmax(x) / n
template <class T>
XTAPE_API Tensor<T> cross_entropy(const Tensor<T>& logits, const Tensor<T>& probabilities);

}  // namespace xtape
