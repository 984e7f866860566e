// Programs evaluated by plain loops, and their derivatives by dual numbers and by differences.
#include "support/program_evaluator.hpp"

#include <cmath>

#include "support/program_dual.hpp"
#include "support/program_rules.hpp"

namespace programs {

namespace {

template <class S>
using Values = std::vector<Array<S>>;

/// All values of a program whose inputs' values are `inputs`, in order.
template <class S>
Values<S> run(const Program& program, const Values<S>& inputs, Clearance& clearance) {
  Values<S> values;
  values.reserve(static_cast<std::size_t>(value_count(program)));  // pointers stay valid
  std::size_t next = 0;
  for (const Step& step : program.steps) {
    if (is_input(step)) {
      values.push_back(inputs[next++]);
      continue;
    }
    std::vector<const Array<S>*> from;
    for (Int value : step.from) from.push_back(&at(values, value));
    for (auto& output : apply<S>(step, from, clearance)) values.push_back(std::move(output));
  }
  return values;
}

/// The weighed sum of all values that no step uses.
template <class S>
S result_of(const Program& program, const Values<S>& values) {
  S sum(0);
  for (Int result : results(program))
    for (Int i = 0; i < count(at(values, result).values); ++i)
      sum = sum + S(weight(i)) * at(at(values, result).values, i);
  return sum;
}

/// The inputs of a program; variable k's i-th value is what change(k, i, value) returns.
template <class S, class F>
Values<S> inputs_of(const Program& program, const F& change) {
  Values<S> inputs;
  std::size_t variable = 0;
  for (const Step& step : program.steps) {
    if (!is_input(step)) continue;
    Array<S> x{step.input.shape, {}};
    for (std::size_t i = 0; i < step.input.values.size(); ++i) {
      const double v = step.input.values[i];
      x.values.push_back(step.op == "variable" ? change(variable, i, v) : S(v));
    }
    variable += step.op == "variable" ? 1 : 0;
    inputs.push_back(std::move(x));
  }
  return inputs;
}

}  // namespace

std::vector<Plain> evaluate(const Step& step, const std::vector<const Plain*>& from) {
  if (is_input(step)) return {step.input};
  Clearance clearance;
  std::vector<Plain> values = apply<double>(step, from, clearance);
  require(clearance.least() >= kClearance, "far from kinks and ties");
  for (const Plain& x : values)
    for (double v : x.values) require(std::abs(v) <= kLargest, "small values");
  return values;
}

std::vector<Plain> evaluate(const Program& program) {
  std::vector<Plain> values;
  for (const Step& step : program.steps) {
    std::vector<const Plain*> from;
    for (Int value : step.from) from.push_back(&values.at(static_cast<std::size_t>(value)));
    for (Plain& output : evaluate(step, from)) values.push_back(std::move(output));
  }
  return values;
}

std::vector<Plain> gradients(const Program& program) {
  std::vector<Plain> result;
  for (const Step& step : program.steps)
    if (step.op == "variable") result.push_back({step.input.shape, {}});
  std::size_t total = 0;
  for (const Step& step : program.steps)
    if (step.op == "variable") total += step.input.values.size();
  std::vector<double> flat;
  for (std::size_t first = 0; first < total; first += Dual::kDirections) {
    std::size_t number = 0;  // of the variables' values, one after the other
    Clearance ignored;
    const auto inputs = inputs_of<Dual>(program, [&](std::size_t, std::size_t, double v) {
      Dual x(v);
      if (number >= first && number < first + Dual::kDirections) x.slope[number - first] = 1;
      ++number;
      return x;
    });
    const Dual y = result_of(program, run<Dual>(program, inputs, ignored));
    flat.insert(flat.end(), y.slope.begin(), y.slope.end());
  }
  auto next = flat.begin();
  for (Plain& gradient : result) {
    const auto end = next + size_of(gradient.shape);
    gradient.values.assign(next, end);
    next = end;
  }
  return result;
}

double difference(const Program& program, const std::vector<Plain>& direction) {
  const auto result_at = [&](double distance) {
    Clearance ignored;
    const auto inputs = inputs_of<double>(program, [&](std::size_t k, std::size_t i, double v) {
      return v + distance * direction[k].values[i];
    });
    return result_of(program, run<double>(program, inputs, ignored));
  };
  constexpr double kStep = 2e-5;
  const auto slope = [&](double h) { return (result_at(h) - result_at(-h)) / (2 * h); };
  return (4 * slope(kStep / 2) - slope(kStep)) / 3;
}

}  // namespace programs
