// Small programs of tensor ops as data.
#include "support/program.hpp"

#include <cmath>

namespace programs {

Int size_of(const Ints& shape) {
  Int n = 1;
  for (Int length : shape) n *= length;
  return n;
}

Int axis_of(Int axis, Int rank) {
  if (axis < -rank || axis >= rank) throw Invalid("no such axis");
  return axis < 0 ? axis + rank : axis;
}

bool is_input(const Step& step) { return step.op == "variable" || step.op == "constant"; }

Int first_value(const Program& program, Int step) {
  Int first = 0;
  for (Int i = 0; i < step; ++i) first += at(program.steps, i).outputs;
  return first;
}

Int value_count(const Program& program) { return first_value(program, count(program.steps)); }

Ints results(const Program& program) {
  std::vector<bool> used(static_cast<std::size_t>(value_count(program)));
  for (const Step& step : program.steps)
    for (Int value : step.from) used[static_cast<std::size_t>(value)] = true;
  Ints unused;
  for (std::size_t i = 0; i < used.size(); ++i)
    if (!used[i]) unused.push_back(static_cast<Int>(i));
  return unused;
}

Ints variables(const Program& program) {
  Ints values;
  for (Int i = 0; i < count(program.steps); ++i)
    if (at(program.steps, i).op == "variable") values.push_back(first_value(program, i));
  return values;
}

double weight(Int i) { return std::cos(static_cast<double>(i)); }

Program without(const Program& program, const std::vector<bool>& keep) {
  Program result;
  Ints renumbered;
  Int next = 0;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    Step step = program.steps[i];
    for (Int k = 0; k < step.outputs; ++k) renumbered.push_back(keep[i] ? next++ : -1);
    if (!keep[i]) continue;
    for (Int& value : step.from) value = at(renumbered, value);
    result.steps.push_back(std::move(step));
  }
  return result;
}

}  // namespace programs
