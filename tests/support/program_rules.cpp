// What elementwise ops compute, and what all rules share.
#include "support/program_rules.hpp"

#include <algorithm>
#include <map>

namespace programs {

using std::cos, std::erf, std::exp, std::log, std::sin, std::sqrt, std::tanh;

Table::Table(const Ints& numbers, Int first) {
  const auto start = numbers.begin() + first + 1;
  shape.assign(start, start + at(numbers, first));
  items.assign(start + at(numbers, first), numbers.end());
  require(count(items) == size_of(shape), "as many items as places");
}

Ints broadcast(const Ints& a, const Ints& b) {
  const Int rank = std::max(count(a), count(b));
  Ints shape;
  for (Int i = 0; i < rank; ++i) {
    const Int ia = i - rank + count(a), ib = i - rank + count(b);
    const Int la = ia < 0 ? 1 : at(a, ia), lb = ib < 0 ? 1 : at(b, ib);
    require(la == lb || la == 1 || lb == 1, "lengths that broadcast");
    shape.push_back(la == 1 ? lb : la);
  }
  return shape;
}

std::vector<bool> chosen(const Ints& numbers, Int first, Int rank) {
  std::vector<bool> axes(static_cast<std::size_t>(rank), at(numbers, first) != 0);
  for (Int i = first + 1; i < count(numbers); ++i) {
    const auto axis = static_cast<std::size_t>(axis_of(at(numbers, i), rank));
    require(!axes[axis], "each axis once");
    axes[axis] = true;
  }
  return axes;
}

namespace {

template <class S>
S one_of(const std::string& op, const S& x, const std::vector<double>& reals, Clearance& near) {
  const double v = number(x);
  if (op == "neg") return -x;
  if (op == "exp") return exp(x);
  if (op == "exp2") return exp(x * S(std::log(2.0)));
  if (op == "log") return require(v > 0.2, "far from a pole"), log(x);
  if (op == "sqrt") return require(v > 0.05, "far from a pole"), sqrt(x);
  if (op == "square") return x * x;
  if (op == "tanh") return tanh(x);
  if (op == "sigmoid") return S(1) / (S(1) + exp(-x));
  if (op == "relu") return near.pass(v), v > 0 ? x : S(0);
  if (op == "abs") return near.pass(v), v > 0 ? x : v < 0 ? -x : S(0);
  if (op == "sin") return sin(x);
  if (op == "cos") return cos(x);
  if (op == "erf") return erf(x);
  if (op == "gelu") return x * S(0.5) * (S(1) + erf(x / S(std::sqrt(2.0))));
  if (op == "silu") return x / (S(1) + exp(-x));
  if (op == "softplus") return log(S(1) + exp(x));
  // clamp
  near.pass(v - reals[0]), near.pass(v - reals[1]);
  return v < reals[0] ? S(reals[0]) : v > reals[1] ? S(reals[1]) : x;
}

template <class S>
S power(const S& a, const S& b, bool constant) {
  if (constant && number(b) >= 0 && number(b) == std::floor(number(b))) {
    S product(1);
    for (int i = 0; i < static_cast<int>(number(b)); ++i) product = product * a;
    return product;
  }
  require(number(a) > 0.2, "a base above 0");
  return exp(b * log(a));
}

template <class S>
S two_of(const std::string& op, const S& a, const S& b, bool constant, Clearance& near) {
  const double distance = number(a) - number(b);
  if (op == "add") return a + b;
  if (op == "sub") return a - b;
  if (op == "mul" || op == "chain") return a * b;
  if (op == "div") return require(std::abs(number(b)) > 0.2, "far from a pole"), a / b;
  if (op == "pow") return power(a, b, constant);
  near.pass(distance);
  if (distance == 0) return (a + b) * S(0.5);
  return (op == "maximum") == (distance > 0) ? a : b;
}

bool compared(Int kind, double a, double b, Clearance& near) {
  near.compare(a - b);
  return kind == 0 || kind == 1 || kind == 5 ? a < b : a > b;
}

const std::vector<std::string> kOneOperand{"neg",  "exp",     "exp2", "log",      "sqrt", "square",
                                           "tanh", "sigmoid", "relu", "abs",      "sin",  "cos",
                                           "erf",  "gelu",    "silu", "softplus", "clamp"};
const std::vector<std::string> kTwoOperands{"add", "sub", "mul",     "chain",
                                            "div", "pow", "maximum", "minimum"};

bool is_among(const std::vector<std::string>& names, const std::string& op) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

}  // namespace

template <class S>
std::vector<Array<S>> apply_elementwise(const Step& step, const std::vector<const Array<S>*>& from,
                                        Clearance& clearance) {
  const Array<S>& x = *from.at(0);
  if (is_among(kOneOperand, step.op))
    return {fill<S>(x.shape, [&](const Ints& p) {
      return one_of(step.op, value_at(x, p), step.reals, clearance);
    })};
  if (is_among(kTwoOperands, step.op)) {
    const bool constant = from.size() == 1;
    const Array<S> real{{}, {S(constant ? step.reals[0] : 0)}};
    const Array<S>& y = constant ? real : *from[1];
    return {fill<S>(broadcast(x.shape, y.shape), [&](const Ints& p) {
      return two_of(step.op, value_at(x, p), value_at(y, p), constant, clearance);
    })};
  }
  if (step.op == "where") {  // numbers: which comparison, which side is a number (0: neither)
    const Array<S>& y = *from.at(1);
    const Array<S> real{{}, {S(step.numbers[1] == 0 ? 0 : step.reals[0])}};
    const Array<S>& yes = step.numbers[1] == 2 ? real : *from.at(2);
    const Array<S>& no = step.numbers[1] == 1 ? real : *from.back();
    const Ints shape = broadcast(broadcast(x.shape, y.shape), broadcast(yes.shape, no.shape));
    return {fill<S>(shape, [&](const Ints& p) {
      return compared(step.numbers[0], number(value_at(x, p)), number(value_at(y, p)), clearance)
                 ? value_at(yes, p)
                 : value_at(no, p);
    })};
  }
  if (step.op == "mask") {  // numbers: a table of which are allowed
    const Table allowed(step.numbers, 0);
    require(broadcast(x.shape, allowed.shape) == x.shape, "a mask that broadcasts");
    return {fill<S>(x.shape, [&](const Ints& p) {
      return at(allowed.items, place(allowed.shape, p)) ? value_at(x, p) : S(step.reals[0]);
    })};
  }
  return {};
}

template <class S>
std::vector<Array<S>> apply(const Step& step, const std::vector<const Array<S>*>& from,
                            Clearance& clearance) {
  auto result = apply_elementwise(step, from, clearance);
  if (result.empty()) result = apply_rows(step, from, clearance);
  if (result.empty()) result = apply_products(step, from);
  if (result.empty()) result = apply_moves(step, from);
  require(count(result) == step.outputs, "a known op, and as many outputs as it has");
  return result;
}

template std::vector<Array<double>> apply(const Step&, const std::vector<const Array<double>*>&,
                                          Clearance&);
template std::vector<Array<Dual>> apply(const Step&, const std::vector<const Array<Dual>*>&,
                                        Clearance&);

}  // namespace programs
