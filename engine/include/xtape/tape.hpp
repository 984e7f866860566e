// Tape<T>: a Wengert list. Whatever is computed from a tape's variables is written on it, line by
// line, and a sweep from a line back to the variables gives gradients.
//
//   Tape<float> tape;  // ends, and frees, with its scope
//   tape.watch(w, b);  // the same as w = tape.variable(w), b = tape.variable(b)
//   auto r = matmul(x, w) + b - y;
//   auto [dw, db] = tape.gradient(sum(r * r), w, b);
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <xtape/parameters.hpp>
#include <xtape/tensor.hpp>

namespace xtape {

/// Which values a tape keeps: those that a pullback reads, or all of them (to be shown). What a
/// function under grad wrote before it met this tape keeps only the first.
enum class Keep { needed, values };

/// Whether a sweep's own operations are written on the tape, so that its result has gradients too.
enum class Record { no, yes };

/// An input of a line: the line that it came from, or a constant.
template <class T>
struct Operand {
  std::int64_t line = -1;  // -1: a constant
  Tensor<T> constant;      // a constant's value when it is a single number, else no value
};

/// One line of a tape, as printed: `%7: f32[2, 4] = matmul(%3, %5)`.
template <class T>
struct Node {
  std::string op;
  std::string label;       // a variable's name, else empty
  std::string attributes;  // `axes=[1]`, else empty
  std::vector<Operand<T>> inputs;
  Shape shape;
  Tensor<T> value;  // no value unless the tape keeps it
  int outputs = 1;  // lines that this op fills, itself first; -k for the k-th that follows it
};

/// A cotangent that a sweep passed on to an earlier line.
template <class T>
struct Contribution {
  std::int64_t line;
  Tensor<T> cotangent;
};

/// Called by a sweep for each line that it passes: the line, its cotangent, what it passed on.
template <class T>
using Observer =
    std::function<void(std::int64_t line, In<T> cotangent, const std::vector<Contribution<T>>&)>;

/// How a sweep is done: `Record::yes`, or with an observer too.
template <class T>
struct Sweep {
  Sweep(Record record_ = Record::no, Observer<T> observer_ = {})
      : record(record_), observer(std::move(observer_)) {}
  Record record;
  Observer<T> observer;
};

namespace detail {

/// What the arguments after a target ask for: variables, alone, in a vector or as a model's
/// parameters, and at last a sweep.
template <class T>
struct Request {
  template <class... Args>
  explicit Request(const Args&... args) {
    (take(args), ...);
  }
  void take(const Tensor<T>& x) { wrt.push_back(x); }
  void take(const std::vector<Tensor<T>>& xs) { wrt.insert(wrt.end(), xs.begin(), xs.end()); }
  void take(const Parameters<T>& model) {
    for (const Parameter<T>& p : model) wrt.push_back(p.value);
  }
  void take(const Sweep<T>& s) { sweep = s; }

  std::vector<Tensor<T>> wrt;
  Sweep<T> sweep;
};

template <class T, class Arg>
inline constexpr bool is_tensor = std::is_base_of_v<Tensor<T>, Arg>;
template <class T, class Arg>
inline constexpr bool is_list =
    std::is_same_v<Arg, std::vector<Tensor<T>>> || std::is_same_v<Arg, Parameters<T>>;

/// Gradients in the form that the arguments were given in: one Tensor for one, else a std::array;
/// a std::vector for a std::vector or a model's parameters.
template <class T, class... Args>
auto answer(std::vector<Tensor<T>> gradients) {
  constexpr std::size_t count = (std::size_t{0} + ... + std::size_t{is_tensor<T, Args>});
  if constexpr ((is_list<T, Args> || ...)) {
    static_assert(count == 0, "ask for tensors or for one vector of tensors, not for both");
    return gradients;
  } else if constexpr (count == 1) {
    return std::move(gradients[0]);
  } else {
    static_assert(count > 0, "a gradient needs the variables to differentiate with respect to");
    std::array<Tensor<T>, count> result;
    for (std::size_t i = 0; i < count; ++i) result[i] = std::move(gradients[i]);
    return result;
  }
}

}  // namespace detail

template <class T>
class XTAPE_API Tape {
 public:
  explicit Tape(Keep keep = Keep::needed);
  Tape(Tape&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Tape& operator=(Tape&& other) noexcept;
  ~Tape();

  /// A new line that holds x's value and depends on nothing; a name shows in every print.
  /// Throws: std::logic_error when x stands on another living tape (its derivative would be lost).
  Tensor<T> variable(const Tensor<T>& x, const std::string& name = {});
  std::vector<Tensor<T>> variable(const std::vector<Tensor<T>>& xs);
  Parameters<T> variable(const Parameters<T>& model);
  /// Replaces each tensor, vector of tensors, or model by variables with its values; a model's have
  /// its names.
  template <class... X>
  void watch(X&... x) {
    ((x = variable(x)), ...);
  }

  /// The gradient of a one-element target with respect to lines of this tape, each in its
  /// variable's shape: of one variable a Tensor, of several a std::array, of a std::vector or a
  /// model's parameters a std::vector. The last argument may be `Record::yes` or a Sweep. A target
  /// that never was on a tape, or does not depend on a variable, gives zeros. Throws:
  /// std::invalid_argument when the target has more than one element (see vjp); std::logic_error
  /// when a variable never was on this tape, or the tape of either has ended.
  template <class... Args>
  auto gradient(In<T> target, const Args&... args) & {
    return detail::answer<T, Args...>(
        sweep("gradient", target, nullptr, detail::Request<T>(args...), false));
  }
  /// The same, freeing what each line kept on the way, and then clearing the tape.
  template <class... Args>
  auto gradient(In<T> target, const Args&... args) && {
    return detail::answer<T, Args...>(
        sweep("gradient", target, nullptr, detail::Request<T>(args...), true));
  }

  /// The vector-Jacobian product: the gradient of sum(target * seed), seed in target's shape.
  template <class... Args>
  auto vjp(In<T> target, In<T> seed, const Args&... args) & {
    return detail::answer<T, Args...>(
        sweep("vjp", target, &seed, detail::Request<T>(args...), false));
  }
  template <class... Args>
  auto vjp(In<T> target, In<T> seed, const Args&... args) && {
    return detail::answer<T, Args...>(
        sweep("vjp", target, &seed, detail::Request<T>(args...), true));
  }

  /// The number of lines.
  std::int64_t size() const;
  /// One line. Throws: std::invalid_argument when there is no such line.
  Node<T> node(std::int64_t line) const;
  /// The line where x stands. Throws: std::logic_error when it does not stand on this tape.
  std::int64_t line(In<T> x) const;
  /// Frees every line; tensors that stood on them become constants.
  void clear();

 private:
  detail::TapeState<T>& state(const char* op) const;
  std::vector<Tensor<T>> sweep(const char* op, In<T> target, const Tensor<T>* seed,
                               const detail::Request<T>& request, bool consume);

  detail::TapeState<T>* state_ = nullptr;
};

/// The value of x as a constant: no gradient flows through it.
template <class T>
XTAPE_API Tensor<T> stop_gradient(const Tensor<T>& x);

}  // namespace xtape
