// check_gradients: a function's gradients by its tape, against central differences and, where it is
// given, an analytic VJP.
//
//   auto report = check_gradients<double>(
//       [](const auto& x) { return matmul(x[0], x[1]); }, {a, b});
//   if (!report) std::cout << report.message;
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <xtape/tensor.hpp>

namespace xtape {

template <class T>
using Function = std::function<Tensor<T>(const std::vector<Tensor<T>>&)>;

/// Inputs and the cotangent of the result, to one cotangent per input.
template <class T>
using AnalyticVjp =
    std::function<std::vector<Tensor<T>>(const std::vector<Tensor<T>>& inputs, In<T> cotangent)>;

template <class T>
struct GradientCheck {
  /// The step of the central differences.
  double step = sizeof(T) == sizeof(double) ? 1e-5 : 1e-2;
  /// Allowed difference, relative to 1 + the largest magnitude in the input's gradient. In float,
  /// differences themselves are good to three digits only.
  double tolerance = sizeof(T) == sizeof(double) ? 1e-7 : 1e-2;
  /// Allowed difference from the analytic VJP, relative to the largest magnitude in it.
  double analytic_tolerance = sizeof(T) == sizeof(double) ? 1e-12 : 2e-5;
  /// 1 checks gradients; 2 also checks gradients of gradients, along a random direction.
  int order = 1;
  /// The seed of the cotangent (and of that direction).
  std::uint64_t seed = 1;
  AnalyticVjp<T> analytic = {};
};

/// What a check found. It is true when all is well; else `message` names the input, the index and
/// the numbers.
struct GradientReport {
  bool ok = true;
  std::string message = {};
  explicit operator bool() const noexcept { return ok; }
};

/// Compares at every input and every index. f is called twice per input value.
/// Throws: std::invalid_argument for an order other than 1 or 2, and whatever f throws.
template <class T>
XTAPE_API GradientReport check_gradients(const Function<T>& f, const std::vector<Tensor<T>>& inputs,
                                         const GradientCheck<T>& options = {});

}  // namespace xtape
