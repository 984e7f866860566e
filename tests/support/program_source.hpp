// What random programs are drawn from: numbers, shapes, and operands among a program's values.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "support/program.hpp"

namespace programs {

/// The largest number of values and of axes of a drawn tensor.
inline constexpr Int kMostValues = 64;
inline constexpr Int kMostAxes = 6;

/// SplitMix64: the same numbers on every machine.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// From low to high, both included.
  Int between(Int low, Int high);
  double real(double low, double high);
  bool chance(double probability) { return real(0, 1) < probability; }
  /// The length of an axis: often 1, at times 0.
  Int length();
  Ints shape(Int axes);
  /// An axis out of `rank`, counted from either end; throws Invalid for none.
  Int axis(Int rank);

 private:
  std::uint64_t state_;
};

/// A program that grows.
class Growing {
 public:
  explicit Growing(std::uint64_t seed) : dice(seed) {}

  /// Adds a step when it can be evaluated; its first value. Throws: Invalid.
  Int add(const Step& step);
  /// A new input: at first, and mostly, a variable.
  Int input(const Ints& shape, double low = -2, double high = 2);
  /// A value for which `fits` holds, if there is one; a late one more often.
  using Fits = std::function<bool(const Plain&)>;
  Int find(const Fits& fits);
  /// The same, or else a new input of the shape.
  Int find_or(const Fits& fits, const Ints& otherwise, double low = -2, double high = 2);
  /// Any value, with at least so many axes.
  Int any(Int axes = 0);
  /// A value or a new input that broadcasts with a shape, to no more than kMostValues.
  Int partner(const Ints& shape, const Fits& fits, double low = -2, double high = 2);
  const Ints& shape(Int value) const { return at(values_, value).shape; }
  Int rank(Int value) const { return count(shape(value)); }
  /// The number of steps that are ops.
  Int ops() const;

  Dice dice;
  Program program;

 private:
  std::vector<Plain> values_;
};

}  // namespace programs
