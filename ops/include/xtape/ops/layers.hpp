// The layers of language models: norms of rows, products with weights, gated units, positions,
// dropout, embeddings. Weights lie as PyTorch has them.
#pragma once

#include <cstdint>

#include <xtape/random.hpp>
#include <xtape/tensor.hpp>

namespace xtape {

/// Each row over the root of its mean square, which is taken in double.
/// x: [..., N] -> [..., N]
/// Throws: std::invalid_argument for x of shape [], or an epsilon that is negative or not finite.
/// Formula: y = x r, r = (mean x^2 + epsilon)^(-1/2); dx = r (g - y mean(g y))
/// Source: Zhang and Sennrich, Root Mean Square Layer Normalization (NeurIPS 2019)
template <class T>
XTAPE_API Tensor<T> rms_norm(const Tensor<T>& x, double epsilon = 1e-5);
/// The same, times a gain for each feature. x: [..., N]  gain: [N] -> [..., N]
/// Throws: std::invalid_argument also for another shape of the gain.
/// Formula: y = x r gain, r = (mean x^2 + epsilon)^(-1/2); dx = r (h - x r^2 mean(h x)), h = g
/// gain, dgain = g x r
template <class T>
XTAPE_API Tensor<T> rms_norm(const Tensor<T>& x, const Tensor<T>& gain, double epsilon = 1e-5);

/// Each row less its mean, over its standard deviation, times a gain and plus a bias.
/// x: [..., N]  gain, bias: [N] -> [..., N]
/// Throws: std::invalid_argument for other shapes, or an epsilon that is negative or not finite.
/// Formula: y = u gain + bias, u = (x - mean x) / (var x + epsilon)^(1/2); dx = (h - mean h - u
/// mean(h u)) / (var x + epsilon)^(1/2), h = g gain, dgain = g u, dbias = g
/// Source: Ba, Kiros and Hinton, Layer Normalization (2016)
template <class T>
XTAPE_API Tensor<T> layer_norm(const Tensor<T>& x, const Tensor<T>& gain, const Tensor<T>& bias,
                               double epsilon = 1e-5);

/// Every row times a matrix: one product, forward and for each gradient, however many axes x has.
/// x: [..., K]  weight: [N, K] -> [..., N]
/// Throws: std::invalid_argument for other shapes.
/// Formula: y = x weight^T; dx = g weight, dweight = g^T x, summed over the rows
template <class T>
XTAPE_API Tensor<T> linear(const Tensor<T>& x, const Tensor<T>& weight);
/// The same, plus a bias. bias: [N]
/// Formula: y = x weight^T + bias; dx = g weight, dweight = g^T x, dbias = g, summed over the rows
template <class T>
XTAPE_API Tensor<T> linear(const Tensor<T>& x, const Tensor<T>& weight, const Tensor<T>& bias);

/// A gated unit, in one pass. gate, up: one shape
/// Throws: std::invalid_argument when the shapes differ.
/// Formula: y = silu(gate) up; dgate = g up silu'(gate), dup = g silu(gate)
/// Source: Shazeer, GLU Variants Improve Transformer (2020)
template <class T>
XTAPE_API Tensor<T> swiglu(const Tensor<T>& gate, const Tensor<T>& up);

/// Rotates the pair (2i, 2i + 1) of the features at place t by the angle (start + t) theta^(-2i/D),
/// so that a product of two depends on how far apart they stand. Angles are taken in double.
/// `start` is the place of the first, where others are in a cache. x: [..., T, D] -> [..., T, D]
/// Throws: std::invalid_argument for fewer axes, an odd D, a negative start, or a theta that is not
/// positive and finite.
/// Formula: y = R x; dx = R^T g
/// Source: Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding (2021)
template <class T>
XTAPE_API Tensor<T> rotary(const Tensor<T>& x, std::int64_t start = 0, double theta = 1e4);

/// Puts 0 in the place of each value with a probability, and makes up for it in the others. One
/// number is drawn for each value, in row-major order: the same values everywhere. Where not in
/// training, or at probability 0, it is x itself, and nothing is drawn.
/// Throws: std::invalid_argument for a probability below 0, or not below 1.
/// Formula: y = x / (1 - p) where kept, else 0; dx = g / (1 - p) where kept, else 0
/// Source: Srivastava et al., Dropout (JMLR 2014)
template <class T>
XTAPE_API Tensor<T> dropout(const Tensor<T>& x, double probability, Random& random,
                            bool training = true);

/// The rows of a table at given positions: `gather` along axis 0.
/// weight: [N, D]  ids: [I...], each from 0 to N - 1 -> [I..., D]
/// Throws: std::invalid_argument for a weight of other rank, or an id outside.
/// Formula: y_i = weight[ids_i]; dweight = scatter_add(g, ids, N)
template <class T>
XTAPE_API Tensor<T> embedding(const Tensor<T>& weight, const Index& ids);

}  // namespace xtape
