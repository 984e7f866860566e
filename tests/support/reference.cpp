// Scalar loops for lambda, attention and differential attention, one head at a time, every map
// stored whole: as slow and as plain as can be.
#include "support/reference.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace reference {
namespace {

// ---- one head's matrices --------------------------------------------------------------------

struct Matrix {
  Matrix(std::size_t row_count, std::size_t column_count)
      : rows(row_count), columns(column_count), values(row_count * column_count, 0.0) {}

  double& at(std::size_t i, std::size_t j) { return values[i * columns + j]; }
  double at(std::size_t i, std::size_t j) const { return values[i * columns + j]; }

  std::size_t rows, columns;
  Values values;
};

// all: [B, H, rows, columns] -> [rows, columns], number = b H + h
Matrix head_of(const Values& all, std::size_t number, std::size_t rows, std::size_t columns) {
  Matrix head(rows, columns);
  const std::size_t start = number * rows * columns;
  for (std::size_t n = 0; n < rows * columns; ++n) head.values[n] = all[start + n];
  return head;
}

// head: [rows, columns] -> its place in all: [B, H, rows, columns]
void put_head(Values& all, std::size_t number, const Matrix& head) {
  const std::size_t start = number * head.values.size();
  for (std::size_t n = 0; n < head.values.size(); ++n) all[start + n] = head.values[n];
}

// a: [M, N] -> [N, M]
Matrix transposed(const Matrix& a) {
  Matrix result(a.columns, a.rows);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < a.columns; ++j) result.at(j, i) = a.at(i, j);
  return result;
}

// a: [M, K]  b: [K, N] -> [M, N]
Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result(a.rows, b.columns);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t k = 0; k < a.columns; ++k)
      for (std::size_t j = 0; j < b.columns; ++j) result.at(i, j) += a.at(i, k) * b.at(k, j);
  return result;
}

// a: [M, N], factor: a number -> [M, N]
Matrix scaled(Matrix a, double factor) {
  for (double& x : a.values) x *= factor;
  return a;
}

// a: [M, N], factors: [M], one a row -> [M, N]
Matrix rows_scaled(Matrix a, const Values& factors) {
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < a.columns; ++j) a.at(i, j) *= factors[i];
  return a;
}

// a, b: [M, N] -> [M, N]
Matrix difference(Matrix a, const Matrix& b) {
  for (std::size_t n = 0; n < a.values.size(); ++n) a.values[n] -= b.values[n];
  return a;
}

// a: [M, N] -> [M, N]
Matrix absolute(Matrix a) {
  for (double& x : a.values) x = std::abs(x);
  return a;
}

// a, b: [M, N] -> the sum over row i of a * b
double row_dot(const Matrix& a, const Matrix& b, std::size_t i) {
  double sum = 0.0;
  for (std::size_t j = 0; j < a.columns; ++j) sum += a.at(i, j) * b.at(i, j);
  return sum;
}

// ---- softmax over the visible keys ----------------------------------------------------------

// number = b H + h, query i, key j
bool sees(const Visibility& visible, const Sizes& sizes, std::size_t number, std::size_t i,
          std::size_t j) {
  return visible[(number * sizes.queries + i) * sizes.keys + j];
}

// logits: [Tq, Tk] -> A: [Tq, Tk]; a row without a visible key is zeros.
Matrix softmax(const Matrix& logits, const Visibility& visible, const Sizes& sizes,
               std::size_t number) {
  Matrix map(logits.rows, logits.columns);
  for (std::size_t i = 0; i < logits.rows; ++i) {
    double maximum = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < logits.columns; ++j)
      if (sees(visible, sizes, number, i, j) && logits.at(i, j) > maximum)
        maximum = logits.at(i, j);
    // -inf - (-inf) would be NaN: a row of nothing but -inf is as empty as a masked one.
    const double shift = std::isinf(maximum) && maximum < 0 ? 0.0 : maximum;
    double total = 0.0;
    for (std::size_t j = 0; j < logits.columns; ++j) {
      if (!sees(visible, sizes, number, i, j)) continue;
      map.at(i, j) = std::exp(logits.at(i, j) - shift);
      total += map.at(i, j);
    }
    if (total == 0.0) continue;
    for (std::size_t j = 0; j < logits.columns; ++j) map.at(i, j) /= total;
  }
  return map;
}

// map A, its cotangent dA: [Tq, Tk] -> dS = A * (dA - r), r = rowsum(dA * A): [Tq, Tk]
//
// Where a row's largest A is 1 to the last bit, r rounds to the dA there and dS is 0 instead of
// minus the sum of the others. That is below the rounding of dA, but in a gradient of nothing but
// such rows (golden case 9: logits near 1900, gradients below 1e-37) it is an error of order 1.
Matrix softmax_vjp(const Matrix& map, const Matrix& dmap, const Visibility& visible,
                   const Sizes& sizes, std::size_t number) {
  Matrix dlogits(map.rows, map.columns);
  for (std::size_t i = 0; i < map.rows; ++i) {
    const double r = row_dot(dmap, map, i);
    for (std::size_t j = 0; j < map.columns; ++j)
      if (sees(visible, sizes, number, i, j)) dlogits.at(i, j) = map.at(i, j) * (dmap.at(i, j) - r);
  }
  return dlogits;
}

// ---- one map A_i of one head ----------------------------------------------------------------

double logit_scale(const Sizes& sizes) {
  return 1.0 / std::sqrt(static_cast<double>(sizes.features));
}

// q: [B, H, Tq, D]  k: [B, H, Tk, D] -> A = softmax(s Q K^T + M) of one head: [Tq, Tk]
Matrix attention_map(const Values& q, const Values& k, const Visibility& visible,
                     const Sizes& sizes, std::size_t number) {
  const Matrix head_q = head_of(q, number, sizes.queries, sizes.features);
  const Matrix head_k = head_of(k, number, sizes.keys, sizes.features);
  const Matrix logits = scaled(product(head_q, transposed(head_k)), logit_scale(sizes));
  return softmax(logits, visible, sizes, number);
}

// dlogits: [Tq, Tk] -> one head of dq: [B, H, Tq, D] and of dk: [B, H, Tk, D]
void put_logits_vjp(const Matrix& dlogits, const Values& q, const Values& k, const Sizes& sizes,
                    std::size_t number, Values& dq, Values& dk) {
  const Matrix head_q = head_of(q, number, sizes.queries, sizes.features);
  const Matrix head_k = head_of(k, number, sizes.keys, sizes.features);
  const double s = logit_scale(sizes);
  put_head(dq, number, scaled(product(dlogits, head_k), s));              // dQ = s dS K
  put_head(dk, number, scaled(product(transposed(dlogits), head_q), s));  // dK = s dS^T Q
}

// ---- the coefficient ------------------------------------------------------------------------

// -> which of the coefficient's values query i of head number = b H + h uses
std::size_t coefficient_index(Spread spread, const Sizes& sizes, std::size_t number,
                              std::size_t i) {
  switch (spread) {
    case Spread::scalar:
      return 0;
    case Spread::per_head:
      return number % sizes.heads;
    case Spread::per_token:
      return number * sizes.queries + i;
  }
  throw std::invalid_argument("[reference] unknown spread of the coefficient");
}

// -> lambda of each query of one head: [Tq]
Values coefficient_rows(const Coefficient& coefficient, const Sizes& sizes, std::size_t number) {
  Values rows(sizes.queries);
  for (std::size_t i = 0; i < sizes.queries; ++i)
    rows[i] = coefficient.values[coefficient_index(coefficient.spread, sizes, number, i)];
  return rows;
}

// g: [Tq, Dv]  map2: [Tq, Tk]  value: [Tk, Dv] -> added to dcoefficient and to its scale
void add_coefficient_vjp(const Matrix& g, const Matrix& map2, const Matrix& value, Spread spread,
                         const Sizes& sizes, std::size_t number, DifferentialGradients& gradients) {
  const Matrix output2 = product(map2, value);
  const Matrix g_size = absolute(g);
  const Matrix output2_size = product(map2, absolute(value));
  for (std::size_t i = 0; i < sizes.queries; ++i) {
    const std::size_t at = coefficient_index(spread, sizes, number, i);
    gradients.dcoefficient[at] -= row_dot(g, output2, i);  // dlambda = -sum(G * (A_2 V))
    gradients.dcoefficient_scale[at] += row_dot(g_size, output2_size, i);
  }
}

// ---- arguments ------------------------------------------------------------------------------

void require_size(const char* name, std::size_t given, std::size_t required) {
  if (given == required) return;
  throw std::invalid_argument("[reference] " + std::string(name) + " has " + std::to_string(given) +
                              " values: the sizes require " + std::to_string(required) + ".");
}

std::size_t head_count(const Sizes& sizes) { return sizes.batches * sizes.heads; }
std::size_t query_size(const Sizes& s) { return head_count(s) * s.queries * s.features; }
std::size_t key_size(const Sizes& s) { return head_count(s) * s.keys * s.features; }
std::size_t value_size(const Sizes& s) { return head_count(s) * s.keys * s.value_features; }
std::size_t output_size(const Sizes& s) { return head_count(s) * s.queries * s.value_features; }
std::size_t map_size(const Sizes& s) { return head_count(s) * s.queries * s.keys; }

std::size_t coefficient_size(Spread spread, const Sizes& sizes) {
  if (spread == Spread::scalar) return 1;
  return spread == Spread::per_head ? sizes.heads : head_count(sizes) * sizes.queries;
}

void require_sizes(const AttentionInputs& in) {
  require_size("q", in.q.size(), query_size(in.sizes));
  require_size("k", in.k.size(), key_size(in.sizes));
  require_size("value", in.value.size(), value_size(in.sizes));
  require_size("visible", in.visible.size(), map_size(in.sizes));
}

void require_sizes(const DifferentialInputs& in) {
  require_size("q1", in.q1.size(), query_size(in.sizes));
  require_size("k1", in.k1.size(), key_size(in.sizes));
  require_size("q2", in.q2.size(), query_size(in.sizes));
  require_size("k2", in.k2.size(), key_size(in.sizes));
  require_size("value", in.value.size(), value_size(in.sizes));
  require_size("coefficient", in.coefficient.values.size(),
               coefficient_size(in.coefficient.spread, in.sizes));
  require_size("visible", in.visible.size(), map_size(in.sizes));
}

// a, b: [D] -> []
double dot(const Values& a, const Values& b) {
  require_size("a lambda vector", b.size(), a.size());
  double sum = 0.0;
  for (std::size_t n = 0; n < a.size(); ++n) sum += a[n] * b[n];
  return sum;
}

// a: [D], factor: a number -> [D]
Values times(double factor, Values a) {
  for (double& x : a) x *= factor;
  return a;
}

}  // namespace

Visibility everything(const Sizes& sizes) { return Visibility(map_size(sizes), true); }

Visibility causal(const Sizes& sizes) {
  Visibility visible;
  visible.reserve(map_size(sizes));
  for (std::size_t number = 0; number < head_count(sizes); ++number)
    for (std::size_t i = 0; i < sizes.queries; ++i)
      for (std::size_t j = 0; j < sizes.keys; ++j)
        visible.push_back(j + sizes.queries <= i + sizes.keys);  // unsigned: no differences
  return visible;
}

double differential_lambda(const Values& q1, const Values& k1, const Values& q2, const Values& k2,
                           double lambda_init) {
  return std::exp(dot(q1, k1)) - std::exp(dot(q2, k2)) + lambda_init;
}

LambdaGradients differential_lambda_vjp(const Values& q1, const Values& k1, const Values& q2,
                                        const Values& k2, double g) {
  const double exp_a = std::exp(dot(q1, k1));
  const double exp_b = std::exp(dot(q2, k2));
  LambdaGradients gradients;
  gradients.dq1 = times(g * exp_a, k1);   // dq1 = g e^a k1
  gradients.dk1 = times(g * exp_a, q1);   // dk1 = g e^a q1
  gradients.dq2 = times(-g * exp_b, k2);  // dq2 = -g e^b k2
  gradients.dk2 = times(-g * exp_b, q2);  // dk2 = -g e^b q2
  return gradients;
}

double differential_lambda_scale(const Values& q1, const Values& k1, const Values& q2,
                                 const Values& k2, double lambda_init) {
  return std::exp(dot(q1, k1)) + std::exp(dot(q2, k2)) + std::abs(lambda_init);
}

double lambda_init(int layer) { return 0.8 - 0.6 * std::exp(-0.3 * (layer - 1)); }

Values attention(const AttentionInputs& in) {
  require_sizes(in);
  const Sizes& sizes = in.sizes;
  Values out(output_size(sizes));
  for (std::size_t number = 0; number < head_count(sizes); ++number) {
    const Matrix map = attention_map(in.q, in.k, in.visible, sizes, number);
    const Matrix value = head_of(in.value, number, sizes.keys, sizes.value_features);
    put_head(out, number, product(map, value));  // O = A V
  }
  return out;
}

AttentionGradients attention_vjp(const AttentionInputs& in, const Values& g) {
  require_sizes(in);
  const Sizes& sizes = in.sizes;
  require_size("g", g.size(), output_size(sizes));
  AttentionGradients gradients{Values(in.q.size()), Values(in.k.size()), Values(in.value.size())};
  for (std::size_t number = 0; number < head_count(sizes); ++number) {
    const Matrix map = attention_map(in.q, in.k, in.visible, sizes, number);
    const Matrix value = head_of(in.value, number, sizes.keys, sizes.value_features);
    const Matrix head_g = head_of(g, number, sizes.queries, sizes.value_features);
    put_head(gradients.dvalue, number, product(transposed(map), head_g));  // dV = A^T G
    const Matrix dmap = product(head_g, transposed(value));                // dA = G V^T
    const Matrix dlogits = softmax_vjp(map, dmap, in.visible, sizes, number);
    put_logits_vjp(dlogits, in.q, in.k, sizes, number, gradients.dq, gradients.dk);
  }
  return gradients;
}

Values differential_attention(const DifferentialInputs& in) {
  require_sizes(in);
  const Sizes& sizes = in.sizes;
  Values out(output_size(sizes));
  for (std::size_t number = 0; number < head_count(sizes); ++number) {
    const Matrix map1 = attention_map(in.q1, in.k1, in.visible, sizes, number);
    const Matrix map2 = attention_map(in.q2, in.k2, in.visible, sizes, number);
    const Values lambda = coefficient_rows(in.coefficient, sizes, number);
    const Matrix signed_map = difference(map1, rows_scaled(map2, lambda));  // P = A_1 - lambda A_2
    const Matrix value = head_of(in.value, number, sizes.keys, sizes.value_features);
    put_head(out, number, product(signed_map, value));  // O = P V
  }
  return out;
}

DifferentialGradients differential_attention_vjp(const DifferentialInputs& in, const Values& g) {
  require_sizes(in);
  const Sizes& sizes = in.sizes;
  require_size("g", g.size(), output_size(sizes));
  const Spread spread = in.coefficient.spread;
  const std::size_t coefficients = in.coefficient.values.size();
  DifferentialGradients gradients{
      Values(in.q1.size()),    Values(in.k1.size()), Values(in.q2.size()), Values(in.k2.size()),
      Values(in.value.size()), Values(coefficients), Values(coefficients)};
  for (std::size_t number = 0; number < head_count(sizes); ++number) {
    const Matrix map1 = attention_map(in.q1, in.k1, in.visible, sizes, number);
    const Matrix map2 = attention_map(in.q2, in.k2, in.visible, sizes, number);
    const Values lambda = coefficient_rows(in.coefficient, sizes, number);
    const Matrix signed_map = difference(map1, rows_scaled(map2, lambda));
    const Matrix value = head_of(in.value, number, sizes.keys, sizes.value_features);
    const Matrix head_g = head_of(g, number, sizes.queries, sizes.value_features);

    put_head(gradients.dvalue, number, product(transposed(signed_map), head_g));  // dV = P^T G
    add_coefficient_vjp(head_g, map2, value, spread, sizes, number, gradients);

    const Matrix dmap1 = product(head_g, transposed(value));        // dA_1 = dP = G V^T
    const Matrix dmap2 = scaled(rows_scaled(dmap1, lambda), -1.0);  // dA_2 = -lambda dP
    const Matrix ds1 = softmax_vjp(map1, dmap1, in.visible, sizes, number);
    const Matrix ds2 = softmax_vjp(map2, dmap2, in.visible, sizes, number);
    put_logits_vjp(ds1, in.q1, in.k1, sizes, number, gradients.dq1, gradients.dk1);
    put_logits_vjp(ds2, in.q2, in.k2, sizes, number, gradients.dq2, gradients.dk2);
  }
  return gradients;
}

}  // namespace reference
