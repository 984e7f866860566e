// What reductions and softmax compute: each result from a row of values.
#include <algorithm>

#include "support/program_rules.hpp"

namespace programs {

using std::exp, std::log, std::sqrt;

namespace {

template <class S>
S total(const std::vector<S>& row) {
  S result(0);
  for (const S& v : row) result = result + v;
  return result;
}

template <class S>
S extreme(const std::vector<S>& row, double sign, Clearance& near) {
  double best = sign * number(row[0]);
  for (const S& v : row) best = std::max(best, sign * number(v));
  std::vector<S> tied;
  for (const S& v : row) {
    near.pass(best - sign * number(v));
    if (sign * number(v) == best) tied.push_back(v);
  }
  return total(tied) / S(static_cast<double>(tied.size()));
}

template <class S>
S reduced(const std::string& op, const std::vector<S>& row, const std::vector<double>& reals,
          Clearance& near) {
  const S n(static_cast<double>(row.size()));
  if (op == "sum") return total(row);
  if (op == "max") return extreme(row, 1, near);
  if (op == "min") return extreme(row, -1, near);
  if (op == "prod") {
    S product(1);
    for (const S& v : row) product = product * v;
    return product;
  }
  if (op == "norm") {
    S squares(0);
    for (const S& v : row) squares = squares + v * v;
    near.pass(number(squares));
    return sqrt(squares);
  }
  if (op == "var") {
    const S middle = total(row) / n;
    S squares(0);
    for (const S& v : row) squares = squares + (v - middle) * (v - middle);
    return squares / (n - S(reals[0]));
  }
  if (op == "mean") return total(row) / n;
  S powers(0);  // logsumexp
  for (const S& v : row) powers = powers + exp(v);
  return log(powers);
}

bool is_reduction(const std::string& op) {
  for (const char* name : {"sum", "mean", "max", "min", "prod", "var", "norm", "logsumexp"})
    if (op == name) return true;
  return false;
}

/// numbers: whether the reduced axes stay, then which (see chosen).
template <class S>
Array<S> reduce(const Step& step, const Array<S>& x, Clearance& near) {
  const std::vector<bool> out = chosen(step.numbers, 1, count(x.shape));
  Ints kept = x.shape, dropped;
  Int length = 1;  // of a row
  for (Int i = 0; i < count(x.shape); ++i) {
    if (out[static_cast<std::size_t>(i)])
      at(kept, i) = 1, length *= at(x.shape, i);
    else
      dropped.push_back(at(x.shape, i));
  }
  // Also where there are no rows: whether it is allowed hangs on the length of a row alone.
  const bool some = step.op == "mean" || step.op == "max" || step.op == "min";
  require(length > 0 || !some, "something to take it of");
  require(step.op != "var" || static_cast<double>(length) > step.reals[0], "enough values");
  std::vector<std::vector<S>> rows(static_cast<std::size_t>(size_of(kept)));
  fill<S>(x.shape, [&](const Ints& p) {
    at(rows, place(kept, p)).push_back(value_at(x, p));
    return S(0);
  });
  Array<S> result{step.numbers[0] ? kept : dropped, {}};
  for (const auto& row : rows) result.values.push_back(reduced(step.op, row, step.reals, near));
  return result;
}

/// Softmax of the allowed places of each row along an axis, or its logarithm.
template <class S, class Allowed>
Array<S> softmax(const Array<S>& x, Int axis, bool logarithm, const Allowed& allowed) {
  return fill<S>(x.shape, [&](const Ints& p) {
    S powers(0);
    Ints other = p;
    for (Int& i = at(other, axis) = 0; i < at(x.shape, axis); ++i)
      if (allowed(other)) powers = powers + exp(value_at(x, other));
    if (!allowed(p)) return S(0);
    return logarithm ? value_at(x, p) - log(powers) : exp(value_at(x, p)) / powers;
  });
}

template <class S>
Array<S> mean_of(const std::vector<S>& values) {
  require(!values.empty(), "something to take it of");
  return {{}, {total(values) / S(static_cast<double>(values.size()))}};
}

/// The mean over rows of -sum p ln softmax(x); of one operand, p is 1 at numbers' targets.
template <class S>
Array<S> cross_entropy(const Step& step, const std::vector<const Array<S>*>& from) {
  const Array<S>& x = *from[0];
  require(!x.shape.empty(), "a last axis");
  const Int classes = x.shape.back();
  const bool targets = from.size() == 1;
  require(targets || from[1]->shape == x.shape, "one shape");
  require(classes > 0 && !x.values.empty(), "a position");
  if (targets) require(count(step.numbers) * classes == count(x.values), "a target for each row");
  const Array<S> logs = softmax(x, count(x.shape) - 1, true, [](const Ints&) { return true; });
  std::vector<S> losses;
  for (Int row = 0; row < count(x.values) / classes; ++row) {
    S loss(0);
    for (Int i = row * classes; i < (row + 1) * classes; ++i) {
      if (targets)
        require(at(step.numbers, row) >= 0 && at(step.numbers, row) < classes, "a class");
      const S p =
          targets ? S(at(step.numbers, row) == i % classes ? 1 : 0) : at(from[1]->values, i);
      loss = loss - p * at(logs.values, i);
    }
    losses.push_back(loss);
  }
  return mean_of(losses);
}

}  // namespace

template <class S>
std::vector<Array<S>> apply_rows(const Step& step, const std::vector<const Array<S>*>& from,
                                 Clearance& clearance) {
  const Array<S>& x = *from.at(0);
  if (is_reduction(step.op)) return {reduce(step, x, clearance)};
  if (step.op == "softmax" || step.op == "log_softmax") {  // numbers: the axis, or a table after it
    const Int axis = axis_of(step.numbers[0], count(x.shape));
    const bool logarithm = step.op == "log_softmax";
    if (step.numbers.size() == 1)
      return {softmax(x, axis, logarithm, [](const Ints&) { return true; })};
    const Table allowed(step.numbers, 1);
    require(broadcast(x.shape, allowed.shape) == x.shape, "a mask that broadcasts");
    return {softmax(x, axis, false, [&](const Ints& p) {
      return at(allowed.items, place(allowed.shape, p)) != 0;
    })};
  }
  if (step.op == "cross_entropy") return {cross_entropy(step, from)};
  if (step.op == "mse") {
    require(x.shape == from.at(1)->shape, "one shape");
    std::vector<S> squares;
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      const S error = x.values[i] - from[1]->values[i];
      squares.push_back(error * error);
    }
    return {mean_of(squares)};
  }
  return {};
}

template std::vector<Array<double>> apply_rows(const Step&,
                                               const std::vector<const Array<double>*>&,
                                               Clearance&);
template std::vector<Array<Dual>> apply_rows(const Step&, const std::vector<const Array<Dual>*>&,
                                             Clearance&);

}  // namespace programs
