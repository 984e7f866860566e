// Random operands for kernels, with NaN, infinities and denormals among them, and results that show
// who writes beyond their ends.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <vector>

namespace {

std::mt19937 random_bits(7);  // the same numbers everywhere

std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_bits()) % n; }

/// The usual numbers, and one in `rarity` that is not.
template <class T>
T draw(std::int64_t rarity) {
  using Limits = std::numeric_limits<T>;
  const T usual = static_cast<T>(static_cast<double>(random_bits()) / 1e9 - 2);
  if (below(rarity) > 0) return usual;
  const T unusual[] = {Limits::quiet_NaN(),
                       Limits::infinity(),
                       -Limits::infinity(),
                       Limits::denorm_min(),
                       -Limits::min() / 8,
                       Limits::min() / 2 * usual,
                       T(0),
                       -T(0),
                       Limits::max() / 4};
  return unusual[below(static_cast<std::int64_t>(std::size(unusual)))];
}

/// n values that lie aligned to no vector. Behind them the allocation ends, so that the address
/// sanitizer sees whoever reads on.
template <class T>
class Operand {
 public:
  explicit Operand(std::int64_t n, std::int64_t rarity)
      : all_(static_cast<std::size_t>(n + kBefore)) {
    for (T& x : all_) x = draw<T>(rarity);
  }
  T* data() { return all_.data() + kBefore; }

 private:
  static constexpr std::int64_t kBefore = 3;
  std::vector<T> all_;
};

/// n values for a result, the same ones each time, and values around them that must not change.
template <class T>
class Result {
 public:
  explicit Result(std::int64_t n)
      : n_(n), all_(static_cast<std::size_t>(n + kBefore + kAfter), T(12345)) {}
  T* data() { return all_.data() + kBefore; }
  bool intact() const {
    const auto same = [](T x) { return x == T(12345); };
    return std::all_of(all_.begin(), all_.begin() + kBefore, same) &&
           std::all_of(all_.begin() + kBefore + n_, all_.end(), same);
  }

 private:
  static constexpr std::int64_t kBefore = 5, kAfter = 40;
  std::int64_t n_;
  std::vector<T> all_;
};

template <class T>
bool near(T found, T expected, double tolerance) {
  if (std::isnan(expected) || std::isinf(expected))
    return std::isnan(expected) ? std::isnan(found) : found == expected;
  return std::abs(static_cast<double>(found) - static_cast<double>(expected)) <= tolerance;
}

template <class T>
bool same(T found, T expected) {
  return std::isnan(expected) ? std::isnan(found)
                              : found == expected && std::signbit(found) == std::signbit(expected);
}

}  // namespace
