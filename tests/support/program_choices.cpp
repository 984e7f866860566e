// How the operands and the numbers of ops are drawn that compute.
#include <algorithm>
#include <cmath>

#include "support/program_choices.hpp"

namespace programs {

void put_axes(Growing& g, Int rank, const Ints& candidates, Ints& numbers) {
  numbers.push_back(g.dice.chance(0.2) ? 1 : 0);
  if (numbers.back() == 1) return;
  for (Int axis : candidates)
    if (g.dice.chance(0.5)) numbers.push_back(g.dice.chance(0.3) ? axis - rank : axis);
}

Ints all_axes(Int rank) {
  Ints axes;
  for (Int i = 0; i < rank; ++i) axes.push_back(i);
  return axes;
}

void put_positions(Growing& g, const Ints& shape, Int size, Ints& numbers) {
  if (size == 0 && size_of(shape) > 0) throw Invalid("a position inside");
  for (Int n = size_of(shape); n > 0; --n) numbers.push_back(g.dice.between(0, size - 1));
}

namespace {

bool anything(const Plain&) { return true; }

Growing::Fits all_values(bool (*good)(double)) {
  return [good](const Plain& x) { return std::all_of(x.values.begin(), x.values.end(), good); };
}

Step unary(Growing& g, const std::string& op) { return {op, {g.any()}}; }

Step positive(Growing& g, const std::string& op) {
  const auto fits = all_values([](double v) { return v > 0.2; });
  return {op, {g.find_or(fits, g.dice.shape(g.dice.between(0, 3)), 0.3, 3)}};
}

Step clamp(Growing& g, const std::string& op) {
  return {op, {g.any()}, {}, {g.dice.real(-1.5, 0), g.dice.real(0, 1.5)}};
}

/// A step of x and of a value that broadcasts with it, on either side, or of a number.
Step with_partner(Growing& g, const std::string& op, Int x, Int other) {
  if (g.dice.chance(0.2)) return {op, {x}, {}, {g.dice.real(0.3, 2)}};
  return {op, g.dice.chance(0.5) ? Ints{x, other} : Ints{other, x}};
}

Step binary(Growing& g, const std::string& op) {
  const Int x = g.any();
  return with_partner(g, op, x, g.dice.chance(0.1) ? x : g.partner(g.shape(x), anything));
}

Step quotient(Growing& g, const std::string& op) {
  const Int x = g.any();
  const auto fits = all_values([](double v) { return std::abs(v) > 0.3; });
  if (g.dice.chance(0.2)) return {op, {x}, {}, {g.dice.real(-2, -0.5)}};
  return {op, {x, g.partner(g.shape(x), fits, 0.4, 2)}};
}

Step power(Growing& g, const std::string& op) {
  if (g.dice.chance(0.3)) return {op, {g.any()}, {}, {static_cast<double>(g.dice.between(0, 3))}};
  Step step = positive(g, op);
  if (g.dice.chance(0.3))
    step.reals.push_back(g.dice.real(-1, 2));
  else
    step.from.push_back(g.partner(g.shape(step.from[0]), anything));
  return step;
}

Step where(Growing& g, const std::string& op) {
  const Int a = g.any(), b = g.partner(g.shape(a), anything);
  const Int c = g.partner(g.shape(a), anything), d = g.partner(g.shape(a), anything);
  const Int form = g.dice.chance(0.5) ? 0 : g.dice.between(1, 2);
  return {op,
          form == 0 ? Ints{a, b, c, d} : Ints{a, b, c},
          {g.dice.between(0, 5), form},
          {g.dice.real(-1, 1)}};
}

/// Puts a table of zeros and ones that broadcasts to a shape behind the numbers.
void put_mask(Growing& g, const Ints& shape, Ints& numbers) {
  Ints own(shape.begin() + (g.dice.chance(0.3) ? g.dice.between(0, count(shape)) : 0), shape.end());
  for (Int& length : own)
    if (g.dice.chance(0.2)) length = 1;
  numbers.push_back(count(own));
  numbers.insert(numbers.end(), own.begin(), own.end());
  for (Int n = size_of(own); n > 0; --n) numbers.push_back(g.dice.chance(0.6) ? 1 : 0);
}

Step mask(Growing& g, const std::string& op) {
  Step step{op, {g.any()}, {}, {g.dice.real(-1, 1)}};
  put_mask(g, g.shape(step.from[0]), step.numbers);
  return step;
}

Step softmax(Growing& g, const std::string& op) {
  Step step{op, {g.any(1)}};
  step.numbers.push_back(g.dice.axis(g.rank(step.from[0])));
  if (op == "softmax" && g.dice.chance(0.3)) put_mask(g, g.shape(step.from[0]), step.numbers);
  return step;
}

Step reduction(Growing& g, const std::string& op) {
  Step step{op, {g.any()}, {g.dice.between(0, 1)}, {g.dice.chance(0.5) ? 0.0 : 1.0}};
  const Int rank = g.rank(step.from[0]);
  put_axes(g, rank, all_axes(rank), step.numbers);
  return step;
}

Step matmul(Growing& g, const std::string& op) {
  const Int a = g.any(1);
  const Ints& shape = g.shape(a);
  const Int inner = shape.back();
  const auto fits = [&](const Plain& b) {
    return !b.shape.empty() && at(b.shape, std::max<Int>(0, count(b.shape) - 2)) == inner;
  };
  Ints fresh{inner};
  if (g.dice.chance(0.7)) fresh.push_back(g.dice.length());
  if (fresh.size() == 2 && count(shape) > 2 && g.dice.chance(0.5))
    fresh.insert(fresh.begin(), g.dice.chance(0.5) ? 1 : at(shape, count(shape) - 3));
  return {op, {a, g.find_or(fits, fresh)}};
}

Step vectors(Growing& g, const std::string& op) {
  const Int a = g.find_or([](const Plain& x) { return x.shape.size() == 1; }, {g.dice.length()});
  const Int n = g.shape(a)[0];
  const bool equal = op == "dot";
  return {
      op,
      {a,
       g.find_or([&](const Plain& x) { return x.shape.size() == 1 && (!equal || x.shape[0] == n); },
                 {equal ? n : g.dice.length()})}};
}

Step same_shape(Growing& g, Int x, const std::string& op) {
  const Ints shape = g.shape(x);
  return {op, {x, g.find_or([&](const Plain& y) { return y.shape == shape; }, shape)}};
}

Step mse(Growing& g, const std::string& op) { return same_shape(g, g.any(), op); }

Step cross_entropy(Growing& g, const std::string& op) {
  const Int x = g.any(1);
  if (g.dice.chance(0.5)) return same_shape(g, x, op);
  Step step{op, {x}};
  Ints positions = g.shape(x);
  const Int classes = positions.back();
  positions.pop_back();
  put_positions(g, positions, classes, step.numbers);
  return step;
}

Step attention(Growing& g, const std::string& op) {
  const Int b = g.dice.between(0, 2), h = g.dice.between(1, 2), queries = g.dice.between(1, 3);
  const Int keys = g.dice.between(1, 3), width = g.dice.between(1, 2);
  const auto value = [&](const Ints& shape) {
    return g.find_or([&](const Plain& x) { return x.shape == shape; }, shape, -1, 1);
  };
  Step step{
      op, {value({b, h, queries, width}), value({b, h, keys, width})}, {g.dice.between(0, 1)}};
  if (op == "attention") {
    step.from.push_back(value({b, h, keys, g.dice.between(0, 3)}));
    return step;
  }
  step.from.push_back(value({b, h, queries, width}));
  step.from.push_back(value({b, h, keys, width}));
  step.from.push_back(value({b, h, keys, 2 * width}));
  const Int form = g.dice.between(0, 2);
  step.from.push_back(value(form == 0   ? Ints{}
                            : form == 1 ? Ints{h, 1, 1}
                                        : Ints{b, h, queries, 1}));
  return step;
}

}  // namespace

std::vector<Choice> computing_choices() {
  return {
      {"neg", unary},
      {"exp", unary},
      {"exp2", unary},
      {"square", unary},
      {"tanh", unary},
      {"sigmoid", unary},
      {"relu", unary},
      {"abs", unary},
      {"sin", unary},
      {"cos", unary},
      {"erf", unary},
      {"gelu", unary},
      {"silu", unary},
      {"softplus", unary},
      {"contiguous", unary},
      {"log", positive},
      {"sqrt", positive},
      {"clamp", clamp},
      {"add", binary},
      {"sub", binary},
      {"mul", binary},
      {"chain", binary},
      {"maximum", binary},
      {"minimum", binary},
      {"div", quotient},
      {"pow", power},
      {"where", where},
      {"mask", mask},
      {"softmax", softmax},
      {"log_softmax", softmax},
      {"sum", reduction},
      {"mean", reduction},
      {"max", reduction},
      {"min", reduction},
      {"prod", reduction},
      {"var", reduction},
      {"norm", reduction},
      {"logsumexp", reduction},
      {"matmul", matmul},
      {"matmul", matmul},
      {"dot", vectors},
      {"outer", vectors},
      {"mse", mse},
      {"cross_entropy", cross_entropy},
      {"attention", attention},
      {"differential_attention", attention},
  };
}

}  // namespace programs
