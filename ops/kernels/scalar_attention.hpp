// Attention by plain loops, one query at a time: what the fused kernels must equal.
#pragma once

#include <cmath>
#include <limits>

#include "kernels.hpp"

namespace xtape::detail {
namespace {

template <class T>
T dot(std::int64_t n, const T* a, std::int64_t a_step, const T* b, std::int64_t b_step) {
  T total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += a[i * a_step] * b[i * b_step];
  return total;
}

template <class T>
bool sees(const Head<T>& head, std::int64_t i, std::int64_t j) {
  if (head.causal) return j <= i + head.keys - head.queries;
  return !head.allowed || head.allowed[i * head.allowed_row + j * head.allowed_column];
}

template <class T>
T attention_scale(const Head<T>& head) {
  return static_cast<T>(1 / std::sqrt(static_cast<double>(head.depth)));
}

/// to[j] = s q_i . k_j where query i sees key j, -inf elsewhere.
template <class T>
void attention_scores(const Head<T>& head, int map, std::int64_t i, T* to) {
  const Strided<T>&q = head.q[map], &k = head.k[map];
  for (std::int64_t j = 0; j < head.keys; ++j)
    to[j] = sees(head, i, j) ? attention_scale(head) * dot(head.depth, q.data + i * q.row, q.column,
                                                           k.data + j * k.row, k.column)
                             : -std::numeric_limits<T>::infinity();
}

/// y += a x for n values.
template <class T>
void add_scaled(std::int64_t n, T a, const T* x, std::int64_t x_step, T* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] += a * x[i * x_step];
}

/// p += A_1 or -lambda A_2 for one query, from its scores a, which become A.
template <class T>
void add_map(const Head<T>& head, int map, std::int64_t i, T* a, T* p) {
  const T* const stats = head.stats + 2 * map * head.queries + i;
  for (std::int64_t j = 0; j < head.keys; ++j)
    a[j] = std::exp(a[j] - stats[0]) * stats[head.queries];
  add_scaled(head.keys, map == 0 ? T(1) : -head.coefficient[i * head.coefficient_step], a, 1, p);
}

template <class T>
void attention(const Head<T>& head, std::int64_t begin, std::int64_t end, T* scratch) {
  T *const a = scratch, *const p = scratch + head.keys;
  for (std::int64_t i = begin; i < end; ++i) {
    std::fill_n(p, head.keys, T(0));
    for (int map = 0; map < head.maps; ++map) {
      attention_scores(head, map, i, a);
      T largest = -std::numeric_limits<T>::infinity(), total = 0;
      for (std::int64_t j = 0; j < head.keys; ++j) largest = std::max(largest, a[j]);
      if (largest == -std::numeric_limits<T>::infinity()) largest = 0;
      for (std::int64_t j = 0; j < head.keys; ++j) total += std::exp(a[j] - largest);
      T* const stats = head.stats + 2 * map * head.queries + i;
      stats[0] = largest;
      stats[head.queries] = total == 0 ? T(0) : 1 / total;
      add_map(head, map, i, a, p);
    }
    T* const out = head.out + i * head.width;
    std::fill_n(out, head.width, T(0));
    for (std::int64_t j = 0; j < head.keys; ++j)
      add_scaled(head.width, p[j], head.value.data + j * head.value.row, head.value.column, out);
  }
}

template <class T>
void attention_gradient(const Head<T>& head, std::int64_t begin, std::int64_t end, T* scratch) {
  T *const a = scratch, *const p = scratch + head.keys, *const dp = scratch + 2 * head.keys;
  for (std::int64_t i = begin; i < end; ++i) {
    const T* const g = head.g.data + i * head.g.row;
    for (std::int64_t j = 0; j < head.keys; ++j)  // dP = G V^T
      dp[j] = dot(head.width, g, head.g.column, head.value.data + j * head.value.row,
                  head.value.column);
    std::fill_n(p, head.keys, T(0));
    for (int map = 0; map < head.maps; ++map) {
      attention_scores(head, map, i, a);
      add_map(head, map, i, a, p);
      double total = 0;  // rowsum(A dP)
      for (std::int64_t j = 0; j < head.keys; ++j)
        total += static_cast<double>(a[j]) * static_cast<double>(dp[j]);
      if (map == 1) head.dcoefficient[i] = -total;
      // dS = A (dA - rowsum(dA A)), dA = dP or -lambda dP
      const T sign = map == 0 ? T(1) : -head.coefficient[i * head.coefficient_step];
      const T scale = sign * attention_scale(head);
      const Strided<T>&q = head.q[map], &k = head.k[map];
      T* const dq = head.dq[map] + i * head.depth;
      std::fill_n(dq, head.depth, T(0));
      for (std::int64_t j = 0; j < head.keys; ++j) {
        const T ds = a[j] * (dp[j] - static_cast<T>(total)) * scale;
        add_scaled(head.depth, ds, k.data + j * k.row, k.column, dq);
        add_scaled(head.depth, ds, q.data + i * q.row, q.column, head.dk[map] + j * head.depth);
      }
    }
    for (std::int64_t j = 0; j < head.keys; ++j)  // dV = P^T G
      add_scaled(head.width, p[j], g, head.g.column, head.dvalue + j * head.width);
  }
}

}  // namespace
}  // namespace xtape::detail
