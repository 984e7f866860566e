// Programs run by xtape, and compared with the evaluator.
#include "support/program_xtape.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>

#include <xtape/xtape.hpp>

#include "support/program_evaluator.hpp"
#include "support/program_rules.hpp"

namespace programs {

namespace {

namespace xt = xtape;
using Tensor = xt::Tensor<double>;
using Tensors = std::vector<Tensor>;
using Rule = std::function<Tensors(const Step& step, const Tensors& x)>;

Ints rest(const Ints& numbers, Int first) { return Ints(numbers.begin() + first, numbers.end()); }

/// The axes of a list {every, axes...}.
xt::Axes axes(const Ints& numbers, Int first) {
  return at(numbers, first) ? xt::Axes(xt::all) : xt::Axes(rest(numbers, first + 1));
}

xt::Mask allowed(const Ints& numbers, Int first) {
  const Table table(numbers, first);
  return xt::Mask(table.shape, std::vector<bool>(table.items.begin(), table.items.end()));
}

xt::Index index(const Ints& numbers, Int first) {
  const Table table(numbers, first);
  return xt::Index(table.shape, table.items);
}

Rule one(Tensor (*f)(const Tensor&)) {
  return [f](const Step&, const Tensors& x) { return Tensors{f(x[0])}; };
}

/// Two tensors, or a tensor and a number.
Rule two(Tensor (*f)(const Tensor&, const Tensor&)) {
  return [f](const Step& s, const Tensors& x) {
    return Tensors{x.size() == 1 ? f(x[0], s.reals[0]) : f(x[0], x[1])};
  };
}

Rule reduction(Tensor (*f)(const Tensor&, const xt::Axes&, bool)) {
  return [f](const Step& s, const Tensors& x) {
    return Tensors{f(x[0], axes(s.numbers, 1), s.numbers[0] != 0)};
  };
}

template <class F>
Rule rule(F f) {
  return [f](const Step& s, const Tensors& x) { return Tensors{f(s, s.numbers, x)}; };
}

xt::Mask comparison(Int kind, const Tensor& a, const Tensor& b) {
  switch (kind) {
    case 0:
      return a < b;
    case 1:
      return a <= b;
    case 2:
      return a > b;
    case 3:
      return !(a < b);
    case 4:
      return (a > b) | equal(a, b);
    default:
      return (a <= b) & !equal(a, b);
  }
}

Tensor where(const Step& s, const Tensors& x) {
  const xt::Mask condition = comparison(s.numbers[0], x[0], x[1]);
  if (s.numbers[1] == 1) return xt::where(condition, x[2], s.reals[0]);
  if (s.numbers[1] == 2) return xt::where(condition, s.reals[0], x[2]);
  return xt::where(condition, x[2], x[3]);
}

std::map<std::string, Rule> elementwise_rules() {
  return {
      {"neg", one(xt::neg)},
      {"exp", one(xt::exp)},
      {"log", one(xt::log)},
      {"sqrt", one(xt::sqrt)},
      {"square", one(xt::square)},
      {"exp2", one(xt::exp2)},
      {"tanh", one(xt::tanh)},
      {"sigmoid", one(xt::sigmoid)},
      {"relu", one(xt::relu)},
      {"abs", one(xt::abs)},
      {"sin", one(xt::sin)},
      {"cos", one(xt::cos)},
      {"erf", one(xt::erf)},
      {"gelu", one(xt::gelu)},
      {"silu", one(xt::silu)},
      {"softplus", one(xt::softplus)},
      {"add", two(xt::add)},
      {"sub", two(xt::sub)},
      {"mul", two(xt::mul)},
      {"chain", two(xt::chain)},
      {"div", two(xt::div)},
      {"pow", two(xt::pow)},
      {"maximum", two(xt::maximum)},
      {"minimum", two(xt::minimum)},
      {"clamp", rule([](auto& s, auto&, auto& x) { return clamp(x[0], s.reals[0], s.reals[1]); })},
      {"where", rule([](auto& s, auto&, auto& x) { return where(s, x); })},
      {"mask",
       rule([](auto& s, auto& n, auto& x) { return mask(x[0], allowed(n, 0), s.reals[0]); })},
  };
}

std::map<std::string, Rule> row_rules() {
  return {
      {"sum", reduction(xt::sum)},
      {"mean", reduction(xt::mean)},
      {"max", reduction(xt::max)},
      {"min", reduction(xt::min)},
      {"prod", reduction(xt::prod)},
      {"norm", reduction(xt::norm)},
      {"logsumexp", reduction(xt::logsumexp)},
      {"var", rule([](auto& s, auto& n, auto& x) {
         return var(x[0], axes(n, 1), n[0] != 0, s.reals[0]);
       })},
      {"softmax", rule([](auto&, auto& n, auto& x) {
         return n.size() == 1 ? softmax(x[0], n[0]) : softmax(x[0], allowed(n, 1), n[0]);
       })},
      {"log_softmax", rule([](auto&, auto& n, auto& x) { return log_softmax(x[0], n[0]); })},
      {"mse", rule([](auto&, auto&, auto& x) { return mse(x[0], x[1]); })},
      {"cross_entropy", rule([](auto&, auto& n, auto& x) {
         if (x.size() == 2) return cross_entropy(x[0], x[1]);
         xt::Shape positions = x[0].shape();
         positions.pop_back();
         return cross_entropy(x[0], xt::Index(positions, n));
       })},
      {"matmul", rule([](auto&, auto&, auto& x) { return matmul(x[0], x[1]); })},
      {"dot", rule([](auto&, auto&, auto& x) { return dot(x[0], x[1]); })},
      {"outer", rule([](auto&, auto&, auto& x) { return outer(x[0], x[1]); })},
      {"attention",
       rule([](auto&, auto& n, auto& x) { return attention(x[0], x[1], x[2], n[0] != 0); })},
      {"differential_attention", rule([](auto&, auto& n, auto& x) {
         return differential_attention(x[0], x[1], x[2], x[3], x[4], x[5], n[0] != 0);
       })},
  };
}

std::map<std::string, Rule> move_rules() {
  return {
      {"contiguous", one(xt::contiguous)},
      {"reshape", rule([](auto&, auto& n, auto& x) { return reshape(x[0], n); })},
      {"transpose", rule([](auto&, auto& n, auto& x) {
         return n.empty() ? transpose(x[0]) : transpose(x[0], n);
       })},
      {"unsqueeze", rule([](auto&, auto& n, auto& x) { return unsqueeze(x[0], n[0]); })},
      {"squeeze", rule([](auto&, auto& n, auto& x) { return squeeze(x[0], axes(n, 0)); })},
      {"slice", rule([](auto&, auto& n, auto& x) { return slice(x[0], n[0], n[1], n[2], n[3]); })},
      {"unslice",
       rule([](auto&, auto& n, auto& x) { return unslice(x[0], n[0], n[1], n[2], n[3]); })},
      {"split", [](const Step& s,
                   const Tensors& x) { return split(x[0], rest(s.numbers, 1), s.numbers[0]); }},
      {"unstack", [](const Step& s, const Tensors& x) { return unstack(x[0], s.numbers[0]); }},
      {"concatenate", rule([](auto&, auto& n, auto& x) { return concatenate(x, n[0]); })},
      {"stack", rule([](auto&, auto& n, auto& x) { return stack(x, n[0]); })},
      {"broadcast_to", rule([](auto&, auto& n, auto& x) { return broadcast_to(x[0], n); })},
      {"flip", rule([](auto&, auto& n, auto& x) { return flip(x[0], axes(n, 0)); })},
      {"gather", rule([](auto&, auto& n, auto& x) { return gather(x[0], index(n, 1), n[0]); })},
      {"scatter_add",
       rule([](auto&, auto& n, auto& x) { return scatter_add(x[0], index(n, 2), n[1], n[0]); })},
      {"take_along_axis", rule([](auto&, auto& n, auto& x) {
         xt::Shape shape = x[0].shape();
         at(shape, axis_of(n[0], x[0].rank())) = n[1];
         return take_along_axis(x[0], xt::Index(shape, rest(n, 2)), n[0]);
       })},
      {"pad", rule([](auto& s, auto& n, auto& x) {
         std::vector<std::array<Int, 2>> widths;
         for (std::size_t i = 0; i < n.size(); i += 2) widths.push_back({n[i], n[i + 1]});
         return pad(x[0], widths, s.reals[0]);
       })},
      {"triu", rule([](auto&, auto& n, auto& x) { return triu(x[0], n[0]); })},
      {"tril", rule([](auto&, auto& n, auto& x) { return tril(x[0], n[0]); })},
  };
}

const Rule& rule_of(const std::string& op) {
  static const auto rules = [] {
    auto all = elementwise_rules();
    all.merge(row_rules());
    all.merge(move_rules());
    return all;
  }();
  return rules.at(op);
}

Plain plain(const Tensor& x) { return {x.shape(), x.values()}; }

/// The sum of x's values, each times its weight.
Tensor weigh(const Tensor& x) {
  std::vector<double> weights;
  for (Int i = 0; i < x.size(); ++i) weights.push_back(weight(i));
  return sum(x * Tensor(x.shape(), weights));
}

std::string text(const Ints& shape) { return xt::to_string(shape); }

/// How a value or a gradient differs from what is expected; empty when it does not.
std::string difference_of(const std::string& name, const Plain& found, const Plain& expected) {
  if (found.shape != expected.shape)
    return name + " has shape " + text(found.shape) + ", not " + text(expected.shape);
  double largest = 1;  // below it, cancellation may leave nothing but the rounding of larger parts
  for (double v : expected.values) largest = std::max(largest, std::abs(v));
  for (Int i = 0; i < count(expected.values); ++i) {
    const double f = at(found.values, i), e = at(expected.values, i);
    if (!(std::abs(f - e) <= 1e-10 * largest))
      return name + "'s value " + std::to_string(i) + " is " + std::to_string(f) + ", not " +
             std::to_string(e);
  }
  return "";
}

}  // namespace

Run run(const Program& program) {
  xt::Tape<double> tape;
  Tensors values, inputs;
  for (const Step& step : program.steps) {
    if (is_input(step)) {
      Tensor x(step.input.shape, step.input.values);
      if (step.op == "variable") inputs.push_back(x = tape.variable(x));
      values.push_back(x);
      continue;
    }
    Tensors from;
    for (Int value : step.from) from.push_back(at(values, value));
    for (Tensor& output : rule_of(step.op)(step, from)) values.push_back(std::move(output));
  }
  Run result;
  for (const Tensor& x : values) result.values.push_back(plain(x));
  Tensor y = 0;
  for (Int i : results(program)) y = y + weigh(at(values, i));
  for (const Tensor& g : tape.gradient(y, inputs)) result.gradients.push_back(plain(g));
  std::size_t next = 0;
  for (const Tensor& g : std::move(tape).gradient(y, inputs))
    if (g.values() != result.gradients[next++].values)
      throw std::logic_error("the gradient asked again is another");
  return result;
}

std::string compare(const Program& program) {
  const std::vector<Plain> values = evaluate(program), slopes = gradients(program);
  Run found;
  try {
    found = run(program);
  } catch (const std::exception& error) {
    return std::string("xtape throws: ") + error.what();
  }
  if (found.values.size() != values.size()) return "an op has another number of outputs";
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string wrong = difference_of("v" + std::to_string(i), found.values[i], values[i]);
    if (!wrong.empty()) return wrong;
  }
  const Ints names = variables(program);
  for (std::size_t k = 0; k < slopes.size(); ++k) {
    const std::string name = "the gradient of v" + std::to_string(names[k]);
    const std::string wrong = difference_of(name, found.gradients[k], slopes[k]);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

std::string compare_differences(const Program& program) {
  const std::vector<Plain> slopes = run(program).gradients;
  std::vector<Plain> direction = slopes;
  std::minstd_rand random(1);
  double along = 0, size = 1;
  for (std::size_t k = 0; k < slopes.size(); ++k)
    for (std::size_t i = 0; i < slopes[k].values.size(); ++i) {
      direction[k].values[i] = static_cast<double>(random()) / random.max() - 0.5;
      along += direction[k].values[i] * slopes[k].values[i];
      size += std::abs(direction[k].values[i] * slopes[k].values[i]);
    }
  const double slope = difference(program, direction);
  // Differences lose half the digits of the result to rounding, and more to its fifth derivative.
  if (!(std::abs(slope - along) <= 1e-6 * size))
    return "the derivative along a direction is " + std::to_string(along) + ", by differences " +
           std::to_string(slope);
  return "";
}

}  // namespace programs
