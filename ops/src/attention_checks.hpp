// What attention asks of its arguments, composed or fused.
#pragma once

#include <cmath>

#include <xtape/ops/attention.hpp>

#include "storage.hpp"

namespace xtape::detail {

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

/// Throws unless the coefficient is [], [H, 1, 1] or [B, H, T, 1].
inline void check_coefficient(const char* op, const Dims& given, const Dims& q) {
  const Dims per_head = to_dims({q[1], 1, 1}, op);
  Dims per_token = q;
  per_token[3] = 1;
  if (given.rank() != 0 && given != per_head && given != per_token)
    fail(op, "coefficient of shape ", given, ": [], ", per_head, " or ", per_token,
         " is required, one a call, a head or a query.");
}

/// Throws unless the arguments are attention's.
template <class T>
void check_attention(const char* op, In<T> q, In<T> k, In<T> value, const Visible& visible) {
  check_query_key(op, "q", q, "k", k);
  Dims expected = body(k, op).shape;
  if (body(value, op).shape.rank() == 4) expected[3] = value.dim(3);
  check(op, "value", value, expected, "but for any width");
  check_visible(op, q, k, visible);
}

/// Throws unless the arguments are differential attention's.
template <class T>
void check_differential_attention(const char* op, In<T> q1, In<T> k1, In<T> q2, In<T> k2,
                                  In<T> value, In<T> coefficient, const Visible& visible) {
  check_query_key(op, "q1", q1, "k1", k1);
  check(op, "q2", q2, body(q1, op).shape, "as q1 has");
  check(op, "k2", k2, body(k1, op).shape, "as k1 has");
  Dims expected = k1.raw()->shape;
  expected[3] *= 2;
  check(op, "value", value, expected, "twice as wide as k1");
  check_coefficient(op, body(coefficient, op).shape, q1.raw()->shape);
  check_visible(op, q1, k1, visible);
}

/// Throws unless a number can be a coefficient.
template <class T>
void check_number(const char* op, double coefficient) {
  if (!std::isfinite(static_cast<T>(coefficient)))
    fail(op, "coefficient ", coefficient, ": a finite number is required.");
}

}  // namespace xtape::detail
