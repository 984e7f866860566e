// An evaluator of programs that is independent of xtape: plain scalar loops over flat arrays.
// Derivatives are those of dual numbers, pushed forward; no op has a rule for them of its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/program.hpp"

namespace programs {

/// How near an evaluation came to a place without a derivative: a kink, or a tie between values
/// that are not always equal. What is equal to the last bits is so by construction (repeated by a
/// broadcast, padded, cut off): such values move together, so that any share of the slope is right.
class Clearance {
 public:
  void pass(double distance) {
    if (std::abs(distance) > 1e-12) least_ = std::min(least_, std::abs(distance));
  }
  /// For a comparison, whose answer must not hang on rounding.
  void compare(double distance) { least_ = std::min(least_, std::abs(distance)); }
  double least() const { return least_; }

 private:
  double least_ = std::numeric_limits<double>::infinity();
};

/// How near is too near: far more than central differences move any value.
inline constexpr double kClearance = 2e-3;
/// How large a value may be, so that rounding stays small.
inline constexpr double kLargest = 30;

/// The outputs of one step, for the values that it uses.
/// Throws: Invalid when it cannot be done, comes too near a kink, or gives too large values.
std::vector<Plain> evaluate(const Step& step, const std::vector<const Plain*>& from);

/// All values. Throws: Invalid as above.
std::vector<Plain> evaluate(const Program& program);

/// The gradient of the result with respect to each variable.
std::vector<Plain> gradients(const Program& program);

/// The derivative of the result along a direction of all variables, by central differences, once
/// extrapolated (Richardson): the error is of the fourth order of the step.
double difference(const Program& program, const std::vector<Plain>& direction);

}  // namespace programs
