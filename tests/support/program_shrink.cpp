// Smaller programs that fail as a given one does.
#include "support/program_shrink.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "support/program_evaluator.hpp"

namespace programs {

namespace {

using Fails = std::function<bool(const Program&)>;

/// Makes `program` the candidate when that fails too.
bool take(Program& program, const Program& candidate, const Fails& fails) {
  try {
    if (!fails(candidate)) return false;
  } catch (const Invalid&) {
    return false;
  }
  program = candidate;
  return true;
}

/// Without the steps from `end` on, and without those that no value in `kept` needs.
Program needed_for(const Program& program, const Ints& kept) {
  std::vector<bool> value(static_cast<std::size_t>(value_count(program)));
  for (Int i : kept) value[static_cast<std::size_t>(i)] = true;
  std::vector<bool> keep(program.steps.size());
  for (Int i = count(program.steps) - 1; i >= 0; --i) {
    const Step& step = at(program.steps, i);
    const Int first = first_value(program, i);
    for (Int k = first; k < first + step.outputs; ++k)
      if (value[static_cast<std::size_t>(k)]) keep[static_cast<std::size_t>(i)] = true;
    if (keep[static_cast<std::size_t>(i)])
      for (Int from : step.from) value[static_cast<std::size_t>(from)] = true;
  }
  return without(program, keep);
}

/// Only what one step needs, the step being the result.
bool keep_one_result(Program& program, const Fails& fails) {
  for (Int i = 0; i < count(program.steps); ++i) {
    Ints outputs;
    for (Int k = 0; k < at(program.steps, i).outputs; ++k)
      outputs.push_back(first_value(program, i) + k);
    const Program candidate = needed_for(program, outputs);
    if (candidate.steps.size() < program.steps.size() && take(program, candidate, fails))
      return true;
  }
  return false;
}

/// An op replaced by inputs with its values, or left out where its operand has its shape.
bool drop_an_op(Program& program, const Fails& fails) {
  const std::vector<Plain> values = evaluate(program);
  const Ints kept = results(program);
  for (Int i = count(program.steps) - 1; i >= 0; --i) {
    const Step& step = at(program.steps, i);
    if (is_input(step)) continue;
    const Int first = first_value(program, i);
    for (const char* kind : {"variable", "constant"}) {
      Program candidate = program;
      candidate.steps.erase(candidate.steps.begin() + i);
      for (Int k = step.outputs; k-- > 0;) {
        Step input{kind};
        input.input = at(values, first + k);
        candidate.steps.insert(candidate.steps.begin() + i, input);
      }
      if (take(program, needed_for(candidate, kept), fails)) return true;
    }
  }
  return false;
}

/// A variable made a constant.
bool hold_a_variable(Program& program, const Fails& fails) {
  for (Int i = 0; i < count(program.steps); ++i) {
    if (at(program.steps, i).op != "variable" || variables(program).size() == 1) continue;
    Program candidate = program;
    at(candidate.steps, i).op = "constant";
    if (take(program, candidate, fails)) return true;
  }
  return false;
}

/// A table's shape and items behind `first` numbers, cut to a shape of as many axes.
void cut_table(Ints& numbers, Int first, const Ints& like, Int below) {
  const Int rank = at(numbers, first);
  Ints shape(numbers.begin() + first + 1, numbers.begin() + first + 1 + rank);
  Ints items(numbers.begin() + first + 1 + rank, numbers.end());
  const Int extra = count(like) - rank;
  for (Int i = 0; i < rank; ++i)
    if (extra >= 0) at(shape, i) = std::min(at(shape, i), at(like, i + extra));
  items.resize(static_cast<std::size_t>(size_of(shape)));
  for (Int& item : items) item = below > 0 ? std::min(item, below - 1) : item;
  numbers.resize(static_cast<std::size_t>(first + 1));
  numbers.insert(numbers.end(), shape.begin(), shape.end());
  numbers.insert(numbers.end(), items.begin(), items.end());
}

/// Cuts a step's numbers to operands that have become shorter, where that is easy: the other
/// candidates are found to be none.
void refit(Step& step, const Ints& shape) {
  Ints& n = step.numbers;
  const Int rank = count(shape);
  const auto along = [&](Int axis) { return at(shape, axis < 0 ? axis + rank : axis); };
  if (step.op == "mask") cut_table(n, 0, shape, 0);
  if (step.op == "softmax" && n.size() > 1) cut_table(n, 1, shape, 0);
  if (step.op == "gather") cut_table(n, 1, Ints(static_cast<std::size_t>(n[1]), 4), along(n[0]));
  if (step.op == "scatter_add")
    cut_table(n, 2, Ints(shape.begin() + n[0], shape.begin() + n[0] + n[2]), n[1]);
  if (step.op == "reshape") n = {size_of(shape)};
  if (step.op == "unslice") n[2] = n[1] + (along(n[0]) - 1) * n[3] + 1;
  if (step.op == "broadcast_to")
    for (Int i = 1; i <= rank; ++i)
      if (at(shape, rank - i) != 1) at(n, count(n) - i) = at(shape, rank - i);
  if (step.op == "cross_entropy" && step.from.size() == 1) {
    n.resize(static_cast<std::size_t>(size_of(shape) / std::max<Int>(1, shape.back())));
    for (Int& target : n) target = std::min(target, shape.back() - 1);
  }
  if (step.op == "take_along_axis") {
    Ints wanted = shape;
    at(wanted, n[0] < 0 ? n[0] + rank : n[0]) = n[1];
    n.resize(static_cast<std::size_t>(2 + size_of(wanted)));
    for (Int i = 2; i < count(n); ++i) at(n, i) = std::min(at(n, i), along(n[0]) - 1);
  }
  if (step.op == "split") {
    Int left = along(n[0]);
    for (Int i = 1; i < count(n); ++i) left -= at(n, i) = std::min(at(n, i), left);
  }
}

/// The first values along an axis.
void shorten(Plain& x, Int axis, Int length) {
  Plain cut{x.shape, {}};
  Int inner = 1;
  for (Int i = axis + 1; i < count(x.shape); ++i) inner *= at(x.shape, i);
  for (Int i = 0; i < count(x.values); ++i)
    if (i / inner % at(x.shape, axis) < length) cut.values.push_back(at(x.values, i));
  at(cut.shape, axis) = length;
  x = cut;
}

/// The program with every step refitted to its operands. Throws: Invalid.
Program refitted(Program program) {
  std::vector<Plain> values;
  for (Step& step : program.steps) {
    std::vector<const Plain*> from;
    for (Int value : step.from) from.push_back(&at(values, value));
    try {
      for (Plain& x : evaluate(step, from)) values.push_back(std::move(x));
    } catch (const Invalid&) {
      refit(step, from[0]->shape);
      for (Plain& x : evaluate(step, from)) values.push_back(std::move(x));
    }
  }
  return program;
}

/// Axes that are shortened together: those of a length, of one input or all, of one number or all.
struct Axes {
  static constexpr Int kAll = -1;
  Int length;
  Int step;
  Int axis;
};

std::vector<Axes> shortenable(const Program& program) {
  std::vector<Axes> all;
  for (Int i = 0; i < count(program.steps); ++i) {
    const Ints& shape = at(program.steps, i).input.shape;
    for (Int axis = 0; axis < count(shape); ++axis) {
      if (at(shape, axis) < 2) continue;
      all.push_back({at(shape, axis), i, axis});
      all.push_back({at(shape, axis), i, Axes::kAll});
      all.push_back({at(shape, axis), Axes::kAll, Axes::kAll});
    }
  }
  return all;
}

/// Throws: Invalid when it is none.
Program shortened(Program program, const Axes& axes, Int length) {
  for (Int i = 0; i < count(program.steps); ++i) {
    Plain& x = at(program.steps, i).input;
    for (Int axis = 0; axis < count(x.shape); ++axis)
      if (at(x.shape, axis) == axes.length && (axes.step == Axes::kAll || axes.step == i) &&
          (axes.axis == Axes::kAll || axes.axis == axis))
        shorten(x, axis, length);
  }
  return refitted(program);
}

bool shorten_axes(Program& program, const Fails& fails) {
  for (const Axes& axes : shortenable(program))
    for (const Int length : {Int{1}, axes.length - 1}) {
      try {
        if (take(program, shortened(program, axes, length), fails)) return true;
      } catch (const Invalid&) {
      }
    }
  return false;
}

/// An axis of length 1 of an input left out.
bool drop_an_axis(Program& program, const Fails& fails) {
  for (Int i = 0; i < count(program.steps); ++i)
    for (Int axis = 0; axis < count(at(program.steps, i).input.shape); ++axis) {
      Program candidate = program;
      Ints& shape = at(candidate.steps, i).input.shape;
      if (at(shape, axis) != 1) continue;
      shape.erase(shape.begin() + axis);
      if (take(program, candidate, fails)) return true;
    }
  return false;
}

/// The numbers of inputs and of steps with fewer digits. Adding 0 makes -0 a 0.
void round_numbers(Program& program, const Fails& fails) {
  for (const double digits : {1.0, 10.0, 100.0})
    for (Int i = 0; i < count(program.steps); ++i) {
      Program candidate = program;
      for (double& v : at(candidate.steps, i).input.values)
        v = std::round(v * digits) / digits + 0.0;
      for (double& v : at(candidate.steps, i).reals) v = std::round(v * digits) / digits + 0.0;
      take(program, candidate, fails);
    }
}

}  // namespace

Program shrink(Program program, const std::function<bool(const Program&)>& fails) {
  while (keep_one_result(program, fails) || drop_an_op(program, fails)) {
  }
  while (hold_a_variable(program, fails) || shorten_axes(program, fails) ||
         drop_an_axis(program, fails) || drop_an_op(program, fails)) {
  }
  round_numbers(program, fails);
  return program;
}

}  // namespace programs
