// Attention by kernels that store no map: the same contracts as in ops/attention.hpp, the same
// values and gradients up to rounding, in memory that grows with the number of tokens, not with its
// square. A sweep that is recorded takes the composition instead, so that second derivatives are
// right.
#pragma once

#include <xtape/ops/attention.hpp>

namespace xtape::fused {

/// attention, fused: a block of queries is worked on at once, and the backward pass computes its
/// scores again from each row's maximum and sum.
/// q: [B, H, Tq, D]  k: [B, H, Tk, D]  value: [B, H, Tk, Dv] -> [B, H, Tq, Dv]
/// Throws: std::invalid_argument as attention does.
/// Formula: y = softmax(q k^T / sqrt(D) + M) value; gradients as of attention
/// Source: Dao et al., FlashAttention (NeurIPS 2022), for recomputing maps from row statistics
template <class T>
XTAPE_API Tensor<T> attention(const Tensor<T>& q, const Tensor<T>& k, const Tensor<T>& value,
                              const Visible& visible = true);

/// differential_attention, fused: both maps of a block of queries are subtracted before their one
/// product with the values. At coefficient 0 it gives attention's bits.
/// q1, q2: [B, H, Tq, D]  k1, k2: [B, H, Tk, D]  value: [B, H, Tk, 2D]
/// coefficient: [], [H, 1, 1] or [B, H, Tq, 1] -> [B, H, Tq, 2D]
/// Throws: std::invalid_argument as differential_attention does.
/// Formula: y = (A_1 - coefficient A_2) value; gradients as of differential_attention
/// Source: Ye et al., Differential Transformer, section 2.1 (ICLR 2025)
template <class T>
XTAPE_API Tensor<T> differential_attention(const Tensor<T>& q1, const Tensor<T>& k1,
                                           const Tensor<T>& q2, const Tensor<T>& k2,
                                           const Tensor<T>& value, const Tensor<T>& coefficient,
                                           const Visible& visible = true);
/// The same with a number: finite, no gradient.
template <class T>
XTAPE_API Tensor<T> differential_attention(const Tensor<T>& q1, const Tensor<T>& k1,
                                           const Tensor<T>& q2, const Tensor<T>& k2,
                                           const Tensor<T>& value, double coefficient,
                                           const Visible& visible = true);

}  // namespace xtape::fused
