// How far numbers are apart, and whether tensors agree to the last bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <xtape/tensor.hpp>

namespace closeness {

/// max |found - expected| / max |expected|, at least 1e-36 below the line: 0 when all are equal
/// (NaN equals NaN), infinite for other sizes or where one is not finite and they differ.
template <class T>
double error(const std::vector<T>& found, const std::vector<double>& expected) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (found.size() != expected.size()) return kInfinity;
  double difference = 0, largest = 1e-36;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double f = static_cast<double>(found[i]), e = expected[i];
    if (f == e || (std::isnan(f) && std::isnan(e))) {
      if (std::isfinite(e)) largest = std::max(largest, std::abs(e));
      continue;
    }
    if (!std::isfinite(f) || !std::isfinite(e)) return kInfinity;
    difference = std::max(difference, std::abs(f - e));
    largest = std::max(largest, std::abs(e));
  }
  return difference / largest;
}

/// What the error of an op may be: some roundings of the largest value.
template <class T>
constexpr double tolerance() {
  return sizeof(T) == sizeof(double) ? 1e-12 : 2e-5;
}

/// The same shape and the same values to the last bit.
template <class T>
bool same_bits(const xtape::Tensor<T>& a, const xtape::Tensor<T>& b) {
  const std::vector<T> x = a.values(), y = b.values();
  return a.shape() == b.shape() &&
         (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0);
}

}  // namespace closeness
