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

#include "storage.hpp"

namespace xtape {

using namespace detail;

namespace {

/// Throws unless x has shape [B, H, rows, columns], as its description says.
template <class T>
void check(const char* op, const char* name, In<T> x, const Dims& expected,
           const char* description) {
  if (body(x, op).shape != expected)
    fail(op, name, " of shape ", x.shape(), ": ", expected, " is required, ", description, ".");
}

/// Throws unless q and k are [B, H, T, D] with a D.
template <class T>
void check_query_key(const char* op, const char* q_name, In<T> q, const char* k_name, In<T> k) {
  const Dims& shape = body(q, op).shape;
  if (shape.rank() != 4 || shape[3] == 0)
    fail(op, q_name, " of shape ", shape, ": [B, H, T, D] with D of at least 1 is required.");
  Dims expected = shape;
  if (body(k, op).shape.rank() == 4) expected[2] = k.dim(2);
  check(op, k_name, k, expected, "but for any number of keys");
}

/// Throws unless a mask broadcasts to [B, H, Tq, Tk].
template <class T>
void check_visible(const char* op, In<T> q, In<T> k, const Visible& visible) {
  if (!visible.allowed().has_value()) return;
  Dims scores = q.raw()->shape;
  scores[3] = k.dim(2);
  const Dims& given = visible.allowed().raw()->shape;
  if (!broadcasts_to(given, scores))
    fail(op, "a mask of shape ", given, " for scores of shape ", scores,
         ": it must broadcast to them.");
}

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

constexpr const char* kDifferential = "differential_attention";

/// Throws unless the coefficient is [], [H, 1, 1] or [B, H, T, 1].
void check_coefficient(const Dims& given, const Dims& q) {
  const Dims per_head = to_dims({q[1], 1, 1}, kDifferential);
  Dims per_token = q;
  per_token[3] = 1;
  if (given.rank() != 0 && given != per_head && given != per_token)
    fail(kDifferential, "coefficient of shape ", given, ": [], ", per_head, " or ", per_token,
         " is required, one a call, a head or a query.");
}

}  // namespace

template <class T>
Tensor<T> attention(In<T> q, In<T> k, In<T> value, const Visible& visible) {
  check_query_key("attention", "q", q, "k", k);
  Dims expected = body(k, "attention").shape;
  if (body(value, "attention").shape.rank() == 4) expected[3] = value.dim(3);
  check("attention", "value", value, expected, "but for any width");
  check_visible("attention", q, k, visible);
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
  check_query_key(kDifferential, "q1", q1, "k1", k1);
  check(kDifferential, "q2", q2, body(q1, kDifferential).shape, "as q1 has");
  check(kDifferential, "k2", k2, body(k1, kDifferential).shape, "as k1 has");
  Dims expected = k1.raw()->shape;
  expected[3] *= 2;
  check(kDifferential, "value", value, expected, "twice as wide as k1");
  check_coefficient(body(coefficient, kDifferential).shape, q1.raw()->shape);
  check_visible(kDifferential, q1, k1, visible);
  const Tensor<T> a1 = attention_map(q1, k1, visible);
  const Tensor<T> a2 = attention_map(q2, k2, visible);
  return matmul(a1 - coefficient * a2, value);
}

template <class T>
Tensor<T> differential_attention(In<T> q1, In<T> k1, In<T> q2, In<T> k2, In<T> value,
                                 double coefficient, const Visible& visible) {
  if (!std::isfinite(static_cast<T>(coefficient)))
    fail(kDifferential, "coefficient ", coefficient, ": a finite number is required.");
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
