// Attention, composed from public ops: gradients come from composition.
#include <xtape/ops/attention.hpp>

#include <cmath>
#include <string>

#include <xtape/ops/compare.hpp>
#include <xtape/ops/elementwise.hpp>
#include <xtape/ops/linalg.hpp>
#include <xtape/ops/nn.hpp>
#include <xtape/ops/reduce.hpp>
#include <xtape/ops/shape.hpp>

#include "attention_checks.hpp"

namespace xtape {

using namespace detail;

namespace {

/// -inf in place of the scores that are not visible.
template <class T>
Tensor<T> hide(In<T> scores, const Visible& visible) {
  if (visible.allowed().has_value()) return mask(scores, visible.allowed());
  return visible.causal() ? mask(scores, causal_mask(scores.dim(2), scores.dim(3))) : scores;
}

/// A = softmax(q k^T / sqrt(D) + M): [B, H, Tq, Tk]
template <class T>
Tensor<T> attention_map(In<T> q, In<T> k, const Visible& visible) {
  const double scale = 1 / std::sqrt(static_cast<double>(q.dim(3)));
  return softmax(hide(matmul(q * scale, transpose(k)), visible));
}

}  // namespace

template <class T>
Tensor<T> attention(In<T> q, In<T> k, In<T> value, const Visible& visible) {
  check_attention("attention", q, k, value, visible);
  return matmul(attention_map(q, k, visible), value);
}

template <class T>
Tensor<T> differential_lambda(In<T> q1, In<T> k1, In<T> q2, In<T> k2, double lambda_init) {
  const char* op = "differential_lambda";
  const Dims& shape = body(q1, op).shape;
  if (shape.rank() != 1 || shape[0] == 0)
    fail(op, "q1 of shape ", shape, ": a vector [D] with D of at least 1 is required.");
  check(op, "k1", k1, shape, "as q1 has");
  check(op, "q2", q2, shape, "as q1 has");
  check(op, "k2", k2, shape, "as q1 has");
  return exp(sum(q1 * k1)) - exp(sum(q2 * k2)) + lambda_init;
}

double lambda_init(std::int64_t layer) {
  if (layer < 1) fail("lambda_init", "layer ", layer, ": layers count from 1.");
  return 0.8 - 0.6 * std::exp(-0.3 * static_cast<double>(layer - 1));
}

template <class T>
Tensor<T> differential_attention(In<T> q1, In<T> k1, In<T> q2, In<T> k2, In<T> value,
                                 In<T> coefficient, const Visible& visible) {
  check_differential_attention("differential_attention", q1, k1, q2, k2, value, coefficient,
                               visible);
  const Tensor<T> a1 = attention_map(q1, k1, visible);
  const Tensor<T> a2 = attention_map(q2, k2, visible);
  return matmul(a1 - coefficient * a2, value);
}

template <class T>
Tensor<T> differential_attention(In<T> q1, In<T> k1, In<T> q2, In<T> k2, In<T> value,
                                 double coefficient, const Visible& visible) {
  check_number<T>("differential_attention", coefficient);
  return differential_attention(q1, k1, q2, k2, value, Tensor<T>(coefficient), visible);
}

#define XTAPE_INSTANTIATE(T)                                                           \
  template Tensor<T> attention(In<T>, In<T>, In<T>, const Visible&);                   \
  template Tensor<T> differential_lambda(In<T>, In<T>, In<T>, In<T>, double);          \
  template Tensor<T> differential_attention(In<T>, In<T>, In<T>, In<T>, In<T>, In<T>,  \
                                            const Visible&);                           \
  template Tensor<T> differential_attention(In<T>, In<T>, In<T>, In<T>, In<T>, double, \
                                            const Visible&);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
