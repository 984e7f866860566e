// Tape: the list as users hold it.
#include <xtape/tape.hpp>

#include "state.hpp"
#include "storage.hpp"

namespace xtape {

using namespace detail;

namespace {

template <class T>
void check_idle(const TapeState<T>& state, const char* op) {
  if (state.sweeps > 0)
    misuse(op, "a sweep of this tape is running: wait until its gradient is there.");
}

}  // namespace

template <class T>
Tape<T>::Tape(Keep keep) : state_(acquire_state<T>(keep, false)) {}

template <class T>
Tape<T>& Tape<T>::operator=(Tape&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

template <class T>
Tape<T>::~Tape() {
  if (state_) release_state(state_);
}

template <class T>
TapeState<T>& Tape<T>::state(const char* op) const {
  if (!state_) misuse(op, "this tape was moved from or never made: assign a Tape first.");
  return *state_;
}

template <class T>
Tensor<T> Tape<T>::variable(const Tensor<T>& x, const std::string& name) {
  TapeState<T>& tape = state("variable");
  body(x, "variable");
  check_idle(tape, "variable");
  const TapeState<T>* elsewhere = find_recording(x).state;
  if (elsewhere && elsewhere != &tape)
    misuse("variable",
           "a tensor of another living tape was given, and its derivative would be lost: "
           "compute with it on that tape, or give stop_gradient of it.");
  return write_variable(tape, x, name);
}

template <class T>
Tensors<T> Tape<T>::variable(const Tensors<T>& xs) {
  Tensors<T> result;
  for (const Tensor<T>& x : xs) result.push_back(variable(x));
  return result;
}

template <class T>
Parameters<T> Tape<T>::variable(const Parameters<T>& model) {
  Parameters<T> result;
  for (const Parameter<T>& p : model) result.push_back({p.name, variable(p.value, p.name)});
  return result;
}

template <class T>
Tensors<T> Tape<T>::sweep(const char* op, In<T> target, const Tensor<T>* seed,
                          const Request<T>& request, bool consume) {
  return run_sweep(state(op), op, target, seed, request, consume);
}

template <class T>
std::int64_t Tape<T>::size() const {
  return state("size").lines.size();
}

template <class T>
Node<T> Tape<T>::node(std::int64_t line) const {
  TapeState<T>& tape = state("node");
  if (line < 0 || line >= tape.lines.size())
    fail("node", "line ", line, " of a tape with ", tape.lines.size(), " lines: there is none.");
  const Line<T>& from = tape.lines[line];
  Node<T> node;
  node.op = from.op;
  const bool variable = from.edges == 0 && node.op == "variable";
  (variable ? node.label : node.attributes) = from.text;
  for (int i = 0; i < from.edges; ++i) {
    const Edge<T>& edge = tape.edges[from.first_edge + i];
    node.inputs.push_back({edge.line, edge.constant});
  }
  node.shape = to_shape(from.shape);
  node.value = from.value;
  node.outputs = from.outputs;
  return node;
}

template <class T>
std::int64_t Tape<T>::line(In<T> x) const {
  const TapeState<T>& tape = state("line");
  body(x, "line");
  const Spot<T> spot = find(x);
  if (spot.state != &tape)
    misuse(
        "line",
        "the tensor does not stand on this tape: give one of its variables, or what was computed "
        "from them.");
  return spot.line;
}

template <class T>
void Tape<T>::clear() {
  TapeState<T>& tape = state("clear");
  check_idle(tape, "clear");
  clear_state(tape);
}

template <class T>
Tensor<T> stop_gradient(const Tensor<T>& x) {
  body(x, "stop_gradient");
  return alias(x);
}

template class Tape<float>;
template class Tape<double>;
template Tensor<float> stop_gradient(const Tensor<float>&);
template Tensor<double> stop_gradient(const Tensor<double>&);

}  // namespace xtape
