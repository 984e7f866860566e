// Seeded random tensors: the same numbers on every platform, since they need nothing but the four
// operations and the square root, which IEEE 754 fixes to the last bit.
//
//   Random random(42);
//   auto w = random.normal<float>({64, 64}, 0, 0.02);
#pragma once

#include <cstdint>

#include <xtape/tensor.hpp>

namespace xtape {

class XTAPE_API Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  /// Independent draws from the normal distribution. Throws: a deviation below 0.
  template <class T>
  Tensor<T> normal(const Shape& shape, double mean = 0, double deviation = 1);
  /// Independent draws, evenly from low up to, not including, high (up to float's rounding).
  template <class T>
  Tensor<T> uniform(const Shape& shape, double low = 0, double high = 1);

  /// One draw from [0, 1), a multiple of 2^-53.
  double uniform() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// One draw from the standard normal distribution.
  double normal() noexcept;
  /// One draw from 0, 1, ..., count - 1. Throws: std::invalid_argument for count < 1.
  std::int64_t below(std::int64_t count);
  /// Where the sequence stands: `Random(r.state())` goes on as r does.
  std::uint64_t state() const noexcept { return state_; }

 private:
  // Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

}  // namespace xtape
