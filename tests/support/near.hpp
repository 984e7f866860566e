// Comparison of numbers to a stated relative difference.
#pragma once

#include <cmath>

namespace xtape::test {

/// The largest relative error of one operation rounded to double.
inline constexpr double kRounding = 0x1p-53;

/// |value - expected| <= relative |expected|; never for NaN.
inline bool near(double value, double expected, double relative) {
  return std::abs(value - expected) <= relative * std::abs(expected);
}

}  // namespace xtape::test
