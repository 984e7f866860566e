// How an op is written: compute the value, then record it with one pullback per differentiable
// input. Pullbacks are written with public ops, so that they are differentiable themselves.
//
//   template <class T> Tensor<T> square(const Tensor<T>& x) {
//     return record<T>("square", values_of_the_square,
//                      {{x, [x](In<T> g) { return chain(g, 2 * x); }}});
//   }
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <xtape/pullback.hpp>
#include <xtape/tape.hpp>

namespace xtape {

/// An input and the rule for its cotangent.
template <class T>
struct Input {
  const Tensor<T>& x;
  mutable Pullback<T> pullback;  // taken by record
};

/// Puts an op's value on the tape of its inputs, or returns it as it is when they are constants.
/// A pullback may return any shape that the input broadcasts to: the sweep sums it back.
/// `name` is a string literal; `attributes` show in prints.
/// Throws: std::logic_error when inputs stand on two living tapes.
template <class T>
XTAPE_API Tensor<T> record(const char* name, Tensor<T> value,
                           std::initializer_list<Input<T>> inputs, std::string attributes = {});

/// True when ops on x are written on a tape: it stands on one that lives and is not paused.
template <class T>
XTAPE_API bool is_recorded(const Tensor<T>& x) noexcept;

/// A rule for all inputs at once: the cotangent of each output, and which inputs need theirs, to
/// one cotangent per input (those not needed are not looked at).
template <class T>
using JointPullback = std::function<std::vector<Tensor<T>>(const std::vector<Tensor<T>>& g,
                                                           const std::vector<bool>& needed)>;

/// The same for an op with any number of inputs and outputs; each output has its line.
template <class T>
XTAPE_API std::vector<Tensor<T>> record_joint(const char* name, std::vector<Tensor<T>> values,
                                              const std::vector<Tensor<T>>& inputs,
                                              JointPullback<T> pullback,
                                              std::string attributes = {});

/// The plain definition of a fused op, from its inputs to its value.
template <class T>
using Composition = std::function<Tensor<T>(const std::vector<Tensor<T>>&)>;

/// A hand-written backward of a fused op: cotangent and needed inputs to cotangents.
template <class T>
using FastPullback =
    std::function<std::vector<Tensor<T>>(In<T> g, const std::vector<bool>& needed)>;

/// Records a kernel's value with the derivatives of its composition, which must not close over
/// tensors that stand on a tape. `fast` is used instead while the sweep itself is not recorded.
template <class T>
XTAPE_API Tensor<T> record_fused(const char* name, Tensor<T> value,
                                 const std::vector<Tensor<T>>& inputs, Composition<T> composition,
                                 FastPullback<T> fast = {}, std::string attributes = {});

}  // namespace xtape
