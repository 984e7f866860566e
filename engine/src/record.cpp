// Writing ops on tapes.
#include <xtape/record.hpp>

#include <algorithm>

#include <xtape/grad.hpp>

#include "state.hpp"
#include "storage.hpp"

namespace xtape {

using namespace detail;

namespace {

/// An edge to where x stands; a constant is kept only when it is a single number.
template <class T>
void write_edge(TapeState<T>& tape, const Tensor<T>& x, Pullback<T>* pullback, bool& keep_output) {
  Edge<T>& edge = tape.edges.append();
  edge.line = find_recording(x).line;
  if (edge.line < 0) {
    if (x.raw()->size == 1) edge.constant = x;
  } else if (pullback) {
    edge.pullback = std::move(*pullback);
    keep_output = keep_output || edge.pullback.needs_output();
  }
}

/// Appends a line whose edges are the last of the tape; returns the value standing there.
template <class T>
Tensor<T> write_line(TapeState<T>& tape, const char* op, Tensor<T> value, int edges, bool keep,
                     std::string attributes) {
  // A value that others hold, or that stands elsewhere already, must not learn a new place.
  if (value.raw()->references.load(std::memory_order_acquire) != 1 || value.raw()->place.state)
    value = alias(value);
  Line<T>& line = tape.lines.append();
  line.op = op;
  line.text = std::move(attributes);
  line.shape = value.raw()->shape;
  line.first_edge = tape.edges.size() - edges;
  line.edges = edges;
  value.raw()->place = {&tape, tape.epoch.load(std::memory_order_relaxed), tape.lines.size() - 1};
  if (keep || tape.keep == Keep::values) line.value = value;
  return value;
}

}  // namespace

template <class T>
Tensor<T> record(const char* name, Tensor<T> value, std::initializer_list<Input<T>> inputs,
                 std::string attributes) {
  body(value, name);
  TapeState<T>* tape = nullptr;
  for (const Input<T>& in : inputs) {
    body(in.x, name);
    if (TapeState<T>* state = find_recording(in.x).state) {
      if (!in.pullback)
        fail(name, "an input that stands on a tape has no pullback: one is required.");
      tape = join(name, tape, state);
    }
  }
  if (!tape) return value;
  bool keep = false;
  for (const Input<T>& in : inputs) write_edge(*tape, in.x, &in.pullback, keep);
  return write_line(*tape, name, std::move(value), static_cast<int>(inputs.size()), keep,
                    std::move(attributes));
}

template <class T>
Tensor<T> detail::write_variable(TapeState<T>& tape, const Tensor<T>& x, const std::string& name) {
  return write_line(tape, "variable", alias(x), 0, false, name);
}

template <class T>
bool is_recorded(const Tensor<T>& x) noexcept {
  return find_recording(x).state != nullptr;
}

template <class T>
Tensors<T> record_joint(const char* name, Tensors<T> values, const Tensors<T>& inputs,
                        JointPullback<T> pullback, std::string attributes) {
  for (const Tensor<T>& value : values) body(value, name);
  if (!pullback) fail(name, "no joint pullback: one for all inputs is required.");
  TapeState<T>* tape = tape_of(name, inputs);
  if (!tape || values.empty()) return values;
  bool keep = false;
  auto joint = std::make_unique<JointPullback<T>>(std::move(pullback));
  for (const Tensor<T>& x : inputs) write_edge<T>(*tape, x, nullptr, keep);
  const std::int64_t first = tape->lines.size();
  int edges = static_cast<int>(inputs.size());
  for (Tensor<T>& value : values) {
    value = write_line(*tape, name, std::move(value), edges, false, std::move(attributes));
    const std::int64_t behind = tape->lines.size() - 1 - first;
    tape->lines[first + behind].outputs = static_cast<std::int32_t>(-behind);
    edges = 0;
    attributes.clear();
  }
  tape->lines[first].outputs = static_cast<std::int32_t>(values.size());
  tape->lines[first].joint = std::move(joint);
  return values;
}

template <class T>
Tensor<T> record_fused(const char* name, Tensor<T> value, const Tensors<T>& inputs,
                       Composition<T> composition, FastPullback<T> fast, std::string attributes) {
  if (!composition) fail(name, "no composition: the derivatives are taken from it.");
  auto pullback = [name, inputs, composition = std::move(composition), fast = std::move(fast)](
                      const Tensors<T>& g, const std::vector<bool>& needed) {
    const bool recorded =
        is_recorded(g[0]) || std::any_of(inputs.begin(), inputs.end(), is_recorded<T>);
    if (fast && !recorded) return fast(g[0], needed);
    Tensors<T> wanted;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (needed[i]) wanted.push_back(inputs[i]);
    Closure<T> closure(wanted);
    Tensors<T> arguments = inputs;
    for (std::size_t i = 0, next = 0; i < inputs.size(); ++i)
      if (needed[i]) arguments[i] = closure.arguments()[next++];
    const Tensors<T> found = closure.vjp(name, composition(arguments), &g[0]);
    Tensors<T> result(inputs.size());
    for (std::size_t i = 0, next = 0; i < inputs.size(); ++i)
      if (needed[i]) result[i] = found[next++];
    return result;
  };
  return record_joint<T>(name, {std::move(value)}, inputs, std::move(pullback),
                         std::move(attributes))[0];
}

#define XTAPE_INSTANTIATE(T)                                                                       \
  template Tensor<T> detail::write_variable(TapeState<T>&, const Tensor<T>&, const std::string&);  \
  template bool is_recorded(const Tensor<T>&) noexcept;                                            \
  template Tensor<T> record(const char*, Tensor<T>, std::initializer_list<Input<T>>, std::string); \
  template Tensors<T> record_joint(const char*, Tensors<T>, const Tensors<T>&, JointPullback<T>,   \
                                   std::string);                                                   \
  template Tensor<T> record_fused(const char*, Tensor<T>, const Tensors<T>&, Composition<T>,       \
                                  FastPullback<T>, std::string);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
