// Two ops of a user's own, written outside the library.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include <xtape/xtape.hpp>

using namespace xtape;

/// The softsign, between -1 and 1.
/// Formula: y = x / (1 + |x|); dx = g (1 - |y|)^2
template <class T>
Tensor<T> softsign(const Tensor<T>& x) {
  std::vector<T> values = x.values();
  for (T& v : values) v /= 1 + std::abs(v);
  return record<T>("softsign", {x.shape(), values},
                   {{x, [](In<T> g, In<T> y) { return chain(g, square(1 - abs(y))); }}});
}

/// Rows over their root mean square: one pass here, and the derivatives of the plain definition.
/// Formula: y = x / (mean of x^2 over the last axis + 1e-6)^(1/2)
template <class T>
Tensor<T> unit_rms(const Tensor<T>& x) {
  std::vector<T> values = x.values();
  const auto n = static_cast<std::size_t>(x.dim(-1));
  for (std::size_t row = 0; row < values.size(); row += n) {
    double squares = 0;
    for (std::size_t i = row; i < row + n; ++i) squares += double(values[i]) * double(values[i]);
    const T scale = T(1 / std::sqrt(squares / double(n) + 1e-6));
    for (std::size_t i = row; i < row + n; ++i) values[i] *= scale;
  }
  return record_fused<T>("unit_rms", {x.shape(), values}, {x}, [](const auto& in) {
    return in[0] / sqrt(mean(square(in[0]), -1, true) + 1e-6);
  });
}
