// The independent evaluator that the library is tested against: plain scalar loops in double over
// flat row-major vectors, straight from the paper's formulas. It includes nothing of xtape, so that
// a mistake there cannot hide here.
//
//   reference::DifferentialInputs inputs{sizes, q1, k1, q2, k2, value, {{0.3}}, causal(sizes)};
//   reference::Values out = reference::differential_attention(inputs);
//   auto [dq1, dk1, dq2, dk2, dvalue, dcoefficient, scale] = differential_attention_vjp(inputs, g);
//
// Source: Differential Transformer, section 2.1 (ICLR 2025); derivations by the chain rule.
#pragma once

#include <cstddef>
#include <vector>

namespace reference {

using Values = std::vector<double>;

/// B batches, H heads, Tq queries, Tk keys, D features of a query, Dv features of a value.
struct Sizes {
  std::size_t batches = 1;
  std::size_t heads = 1;
  std::size_t queries = 1;
  std::size_t keys = 1;
  std::size_t features = 1;
  std::size_t value_features = 1;
};

/// Which keys a query may attend to: [B, H, Tq, Tk], true = may attend.
using Visibility = std::vector<bool>;

/// Every query sees every key.
Visibility everything(const Sizes& sizes);

/// Key j is visible to query i when j <= i + Tk - Tq: the last query sees the last key.
Visibility causal(const Sizes& sizes);

/// The coefficient's shape: [], [H, 1, 1] or [B, H, Tq, 1].
enum class Spread { scalar, per_head, per_token };

/// A coefficient with its shape; {{0.3}} is a scalar.
struct Coefficient {
  Values values;
  Spread spread = Spread::scalar;
};

// ---- lambda ---------------------------------------------------------------------------------

struct LambdaGradients {
  Values dq1, dk1, dq2, dk2;
};

/// e^a - e^b + lambda_init, a = q1 . k1, b = q2 . k2.  q1, k1, q2, k2: [D] -> []
double differential_lambda(const Values& q1, const Values& k1, const Values& q2, const Values& k2,
                           double lambda_init);

/// The four gradients, [D] each, for the cotangent g: [].
LambdaGradients differential_lambda_vjp(const Values& q1, const Values& k1, const Values& q2,
                                        const Values& k2, double g);

/// e^a + e^b + |lambda_init|, what lambda's error is measured against: lambda itself may cancel.
double differential_lambda_scale(const Values& q1, const Values& k1, const Values& q2,
                                 const Values& k2, double lambda_init);

/// 0.8 - 0.6 exp(-0.3 (layer - 1)), layer = 1, 2, ...
double lambda_init(int layer);

// ---- attention ------------------------------------------------------------------------------

/// q: [B, H, Tq, D]  k: [B, H, Tk, D]  value: [B, H, Tk, Dv]  visible: [B, H, Tq, Tk]
struct AttentionInputs {
  Sizes sizes;
  Values q, k, value;
  Visibility visible;
};

struct AttentionGradients {
  Values dq, dk, dvalue;
};

/// softmax(Q K^T / sqrt(D) + M) V -> [B, H, Tq, Dv]; a query that sees no key gives zeros.
/// Throws: std::invalid_argument if an array is not of the size that `sizes` says, here and below.
Values attention(const AttentionInputs& inputs);

/// The gradients, each of its input's shape, for the cotangent g: [B, H, Tq, Dv].
AttentionGradients attention_vjp(const AttentionInputs& inputs, const Values& g);

// ---- differential attention -----------------------------------------------------------------

/// q1, q2: [B, H, Tq, D]  k1, k2: [B, H, Tk, D]  value: [B, H, Tk, Dv]  visible: [B, H, Tq, Tk]
struct DifferentialInputs {
  Sizes sizes;
  Values q1, k1, q2, k2, value;
  Coefficient coefficient;
  Visibility visible;
};

/// dcoefficient_scale is sum(|G| * (A_2 |V|)), of the coefficient's shape: what the error of
/// dcoefficient is measured against, which is a sum that may cancel.
struct DifferentialGradients {
  Values dq1, dk1, dq2, dk2, dvalue, dcoefficient, dcoefficient_scale;
};

/// (A_1 - lambda A_2) V, A_i = softmax(Q_i K_i^T / sqrt(D) + M) -> [B, H, Tq, Dv]; a query that
/// sees no key gives zeros.
Values differential_attention(const DifferentialInputs& inputs);

/// The gradients, each of its input's shape, for the cotangent g: [B, H, Tq, Dv].
DifferentialGradients differential_attention_vjp(const DifferentialInputs& inputs, const Values& g);

}  // namespace reference
