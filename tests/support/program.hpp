// Small programs of tensor ops as data: what the random tests draw, evaluate, shrink and print.
// Nothing here knows xtape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace programs {

using Int = std::int64_t;
using Ints = std::vector<Int>;

/// v[i] and the length of v, for signed numbers.
template <class V>
auto& at(V& v, Int i) {
  return v[static_cast<std::size_t>(i)];
}
template <class V>
Int count(const V& v) {
  return static_cast<Int>(v.size());
}

/// An array of numbers, flat and in row-major order.
template <class S>
struct Array {
  Ints shape;
  std::vector<S> values;
};
using Plain = Array<double>;

Int size_of(const Ints& shape);
/// An axis that may count from the last; throws Invalid outside.
Int axis_of(Int axis, Int rank);

/// One op. An op named "variable" or "constant" is an input, with the values it begins with.
/// What `numbers` hold is the op's own affair: see the rules of the evaluator.
struct Step {
  std::string op;
  std::vector<Int> from = {};  // of which values
  Ints numbers = {};           // axes, lengths, positions
  std::vector<double> reals = {};
  Plain input = {};
  Int outputs = 1;
};

/// Values are numbered over the outputs of all steps. All values that no step uses, each weighed
/// by weight(i), make the result.
struct Program {
  std::vector<Step> steps;
};

/// A step that cannot be done, or is too near a place where it has no derivative.
struct Invalid : std::runtime_error {
  using std::runtime_error::runtime_error;
};

bool is_input(const Step& step);
/// The number of a step's first value.
Int first_value(const Program& program, Int step);
Int value_count(const Program& program);
/// The values that no step uses.
Ints results(const Program& program);
/// The values of all "variable" steps.
Ints variables(const Program& program);
/// How a result's i-th value counts.
double weight(Int i);

/// The program without the steps that `keep` does not name, which no kept one uses.
Program without(const Program& program, const std::vector<bool>& keep);

}  // namespace programs
