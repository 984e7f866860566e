// What every row of the op table must fulfil. Each check gives "" or what is wrong; so the mutation
// test can see that a wrong op is rejected.
#pragma once

#include <cstdint>
#include <string>

#include "op_table.hpp"

namespace checks {

using op_table::Op;
using op_table::Row;
using op_table::Sample;

/// A row at one of its samples. `op` is the row's own unless a test puts another in its place.
struct Case {
  Case(const Row& row_, const Sample& sample_, std::uint64_t seed_)
      : row(row_), sample(sample_), seed(seed_), op(row_.op) {}
  const Row& row;
  const Sample& sample;
  std::uint64_t seed;
  Op op;
};

/// `softmax at [2, 3], seed 7`
std::string describe(const Case& c);

/// The value is the scalar loop's, in shape and numbers.
template <class T>
std::string value(const Case& c);

/// The gradients are the hand-derived ones, in numbers and in the inputs' exact shapes.
template <class T>
std::string vjp(const Case& c);

/// The gradients are central differences, in double; at order 2 the second derivatives too.
std::string differences(const Case& c, int order);

/// Inputs and cotangent give the same bits in every layout: transposed, with gaps (that hold NaN),
/// reversed, repeated by strides of 0. Counts the layouts that were no dense copy.
template <class T>
std::string layouts(const Case& c, int& strided);

/// Values of inputs and cotangent are the same before and after value and gradients.
template <class T>
std::string inputs_unchanged(const Case& c);

/// An input that is a constant gets no line, and the gradients of the others keep their bits;
/// without variables nothing is written.
template <class T>
std::string constants(const Case& c);

/// The same gradient asked twice, and on a second tape, has the same bits.
template <class T>
std::string repeated(const Case& c);

/// Whatever memory held before, value and gradients have the same bits.
template <class T>
std::string unwritten(const Case& c);

/// All lines have T's dtype.
template <class T>
std::string dtypes(const Case& c);

/// The op with its pullback for one input multiplied by `factor`: its value is unchanged.
Op with_pullback_times(const Op& op, std::size_t input, double factor);

/// The op with its value multiplied by `factor`, and all pullbacks unchanged.
Op with_value_times(const Op& op, double factor);

/// The op with its pullback for one input giving constants: right, but not differentiable.
Op with_constant_pullback(const Op& op, std::size_t input);

/// The largest magnitude in the hand-derived gradient of one input.
double largest_gradient(const Case& c, std::size_t input);

}  // namespace checks
