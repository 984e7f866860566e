// Gradients against central differences and analytic VJPs.
#include <xtape/gradient_check.hpp>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include <xtape/grad.hpp>
#include <xtape/random.hpp>

#include "storage.hpp"

namespace xtape {

using namespace detail;

namespace {

/// sum(a * b) in double, whatever T is.
template <class T>
double inner(const Tensor<T>& a, const Tensor<T>& b) {
  return sum(cast<double>(a) * cast<double>(b)).item();
}

double largest(const std::vector<double>& values) {
  double result = 0;
  for (double v : values) result = std::max(result, std::abs(v));
  return result;
}

/// Compares one input's gradient with what it should be; NaN never passes.
std::string compare(std::size_t input, const Shape& shape, const std::vector<double>& found,
                    const std::vector<double>& expected, double allowed, const char* by) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double difference = std::abs(found[i] - expected[i]);
    if (difference <= allowed) continue;
    Shape index(shape.size());
    for (std::size_t axis = shape.size(), rest = i; axis-- > 0;) {
      index[axis] = static_cast<std::int64_t>(rest) % shape[axis];
      rest /= static_cast<std::size_t>(shape[axis]);
    }
    std::ostringstream out;
    out.precision(17);
    out << "input " << input << " at " << to_string(index) << ": the tape gives " << found[i]
        << ", " << by << " " << expected[i] << ", a difference of " << difference << " where "
        << allowed << " is allowed.";
    return out.str();
  }
  return {};
}

template <class T>
Tensors<T> tape_gradients(const Function<T>& f, const Tensors<T>& inputs, const Tensor<T>& seed) {
  Tape<T> tape;
  const Tensors<T> x = tape.variable(inputs);
  return tape.vjp(f(x), seed, x);
}

/// The derivative of sum(f * seed) with respect to each value of one input, by central differences.
template <class T>
std::vector<double> differences(const Function<T>& f, Tensors<T> inputs, std::size_t input,
                                const Tensor<T>& seed, double step) {
  const Tensor<T> at = inputs[input];
  std::vector<double> result;
  for (std::size_t i = 0; i < static_cast<std::size_t>(at.size()); ++i) {
    std::vector<T> values = at.values();
    const T middle = values[i];
    const auto moved = [&](double by) {
      values[i] = static_cast<T>(static_cast<double>(middle) + by);
      inputs[input] = Tensor<T>(at.shape(), values);
      return static_cast<double>(values[i]);
    };
    const double high = moved(step);
    const double above = inner(f(inputs), seed);
    const double low = moved(-step);
    const double below = inner(f(inputs), seed);
    result.push_back((above - below) / (high - low));  // by the steps as they were rounded
  }
  return result;
}

/// inputs -> the sum of their gradients' scalar products with random directions: its gradient is a
/// second derivative of f.
template <class T>
Function<T> directional_gradient(const Function<T>& f, const Tensor<T>& seed,
                                 const Tensors<T>& directions) {
  return [f, seed, directions](const Tensors<T>& x) {
    Closure<T> closure(x);
    const Tensors<T> g = closure.vjp("check_gradients", f(closure.arguments()), &seed);
    Tensor<T> total = 0;
    for (std::size_t i = 0; i < g.size(); ++i) total = total + sum(g[i] * directions[i]);
    return total;
  };
}

template <class T>
std::string check_first(const Function<T>& f, const Tensors<T>& inputs, const Tensor<T>& seed,
                        const GradientCheck<T>& options) {
  const Tensors<T> found = tape_gradients(f, inputs, seed);
  Tensors<T> analytic;
  if (options.analytic) analytic = options.analytic(inputs, seed);
  if (options.analytic && analytic.size() != inputs.size())
    fail("check_gradients", "the analytic VJP gave ", analytic.size(), " cotangents for ",
         inputs.size(), " inputs: one an input is required.");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Shape shape = inputs[i].shape();
    const std::vector<double> g = cast<double>(found[i]).values();
    const std::vector<double> expected = differences(f, inputs, i, seed, options.step);
    const double allowed = options.tolerance * (1 + largest(expected));
    std::string message = compare(i, shape, g, expected, allowed, "central differences");
    if (message.empty() && options.analytic) {
      const std::vector<double> values = cast<double>(analytic[i]).values();
      if (analytic[i].shape() != shape)
        fail("check_gradients", "the analytic VJP gave shape ", analytic[i].shape(), " for input ",
             i, " of shape ", shape, ": the shapes must be equal.");
      message = compare(i, shape, g, values, options.analytic_tolerance * largest(values),
                        "the analytic VJP");
    }
    if (!message.empty()) return message;
  }
  return {};
}

}  // namespace

template <class T>
GradientReport check_gradients(const Function<T>& f, const Tensors<T>& inputs,
                               const GradientCheck<T>& options) {
  if (options.order != 1 && options.order != 2)
    fail("check_gradients", "order ", options.order, ": 1 or 2 is required.");
  Random random(options.seed);
  const Tensor<T> seed = random.normal<T>(f(inputs).shape());
  std::string message = check_first(f, inputs, seed, options);
  if (message.empty() && options.order == 2) {
    Tensors<T> directions;
    for (const Tensor<T>& x : inputs) directions.push_back(random.normal<T>(x.shape()));
    GradientCheck<T> second = options;
    second.analytic = {};
    message =
        check_first<T>(directional_gradient(f, seed, directions), inputs, Tensor<T>(1), second);
    if (!message.empty()) message = "second order, " + message;
  }
  return {message.empty(), message};
}

#define XTAPE_INSTANTIATE(T)                                                     \
  template GradientReport check_gradients(const Function<T>&, const Tensors<T>&, \
                                          const GradientCheck<T>&);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
