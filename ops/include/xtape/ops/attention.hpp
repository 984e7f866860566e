// Attention and differential attention, composed from matmul, transpose, mask, softmax, exp, add,
// sub, mul and sum alone, so that their gradients come from composition.
#pragma once

#include <type_traits>
#include <utility>

#include <xtape/tensor.hpp>

namespace xtape {

/// Which keys a query attends to: `true` for the causal mask, `false` for all, or a Mask (true =
/// may attend) that broadcasts to [B, H, Tq, Tk].
class Visible {
 public:
  template <class B, std::enable_if_t<std::is_same_v<B, bool>, int> = 0>
  Visible(B causal) : causal_(causal) {}
  /// Throws: std::invalid_argument for a mask without a value.
  Visible(Mask allowed) : allowed_(std::move(allowed)) { detail::body(allowed_, "attention"); }

  bool causal() const noexcept { return causal_; }
  /// No value when there is only the causal flag.
  const Mask& allowed() const noexcept { return allowed_; }

 private:
  bool causal_ = false;
  Mask allowed_;
};

/// Scaled dot-product attention, softmax over keys; a query with no visible key gives zeros.
/// q: [B, H, Tq, D]  k: [B, H, Tk, D]  value: [B, H, Tk, Dv] -> [B, H, Tq, Dv]
/// Causal: key j is visible to query i when j <= i + Tk - Tq.
/// Throws: std::invalid_argument for other shapes, D = 0, or a mask that does not broadcast.
/// Formula: y = softmax(q k^T / sqrt(D) + M) value; gradients by composition
/// Source: Vaswani et al., Attention Is All You Need, section 3.2.1 (NeurIPS 2017)
template <class T>
XTAPE_API Tensor<T> attention(In<T> q, In<T> k, In<T> value, const Visible& visible = true);

/// The weight of the second map. It overflows as IEEE says and is not bounded.
/// q1, k1, q2, k2: [D] -> []
/// Throws: std::invalid_argument for other shapes, or D = 0.
/// Formula: y = e^(q1 . k1) - e^(q2 . k2) + lambda_init; dq1 = g e^(q1 . k1) k1, and so on
/// Source: Ye et al., Differential Transformer, section 2.1 (ICLR 2025)
template <class T>
XTAPE_API Tensor<T> differential_lambda(In<T> q1, In<T> k1, In<T> q2, In<T> k2,
                                        double lambda_init = 0.2);

/// The paper's lambda_init by layer = 1, 2, ...: 0.8 - 0.6 e^(-0.3 (layer - 1)).
/// Throws: std::invalid_argument below 1.
/// Not an op: it takes no tensor.
XTAPE_API double lambda_init(std::int64_t layer);

/// The difference of two attention maps, applied to shared values; both maps are masked. The result
/// is the aggregate before head normalisation. At coefficient 0 it is ordinary attention; rows of
/// the signed map sum to 1 - coefficient.
/// q1, q2: [B, H, Tq, D]  k1, k2: [B, H, Tk, D]  value: [B, H, Tk, 2D]
/// coefficient: [], [H, 1, 1] or [B, H, Tq, 1], any real numbers -> [B, H, Tq, 2D]
/// Throws: std::invalid_argument for other shapes, D = 0, or a mask that does not broadcast.
/// Formula: y = (softmax(q1 k1^T / sqrt(D) + M) - coefficient softmax(q2 k2^T / sqrt(D) + M))
/// value; gradients by composition
/// Source: Ye et al., Differential Transformer, section 2.1 (ICLR 2025)
template <class T>
XTAPE_API Tensor<T> differential_attention(In<T> q1, In<T> k1, In<T> q2, In<T> k2, In<T> value,
                                           In<T> coefficient, const Visible& visible = true);
/// The same with a number for coefficient.
/// Throws: std::invalid_argument also when it is not finite.
/// Formula: as above
template <class T>
XTAPE_API Tensor<T> differential_attention(In<T> q1, In<T> k1, In<T> q2, In<T> k2, In<T> value,
                                           double coefficient, const Visible& visible = true);

}  // namespace xtape
