// Closures: the lines that one call of a differentiated function writes.
#include <xtape/grad.hpp>

#include "state.hpp"
#include "storage.hpp"

namespace xtape::detail {

template <class T>
Closure<T>::Closure(const Tensors<T>& at) {
  TapeState<T>* tape = tape_of("grad", at);
  if (!tape) {
    tape = own_ = acquire_state<T>(Keep::needed, true);
    epoch_ = own_->epoch.load(std::memory_order_relaxed);
  }
  // A line of its own for each argument: its old line would collect the derivatives of all that
  // the function uses besides.
  for (const Tensor<T>& x : at)
    arguments_.push_back(find_recording(x).state
                             ? record<T>("argument", alias(x), {{x, [](In<T> g) { return g; }}})
                             : write_variable(*tape, x, {}));
}

template <class T>
Closure<T>::~Closure() {
  // A tape that was appended to another belongs to that one, and was given back if that has ended.
  if (own_ && !own_->host && own_->epoch.load(std::memory_order_relaxed) == epoch_)
    release_state(own_);
}

template <class T>
Tensors<T> Closure<T>::vjp(const char* op, In<T> y, const Tensor<T>* seed) {
  if (arguments_.empty()) return {};
  TapeState<T>* tape = find(arguments_[0]).state;
  if (!tape)
    misuse(op,
           "the tape of the arguments ended inside the function: let it live "
           "until the gradient is there.");
  if (seed) tape = join(op, tape, find_recording(*seed).state);
  const Request<T> request(arguments_, Sweep<T>(tape == own_ ? Record::no : Record::yes));
  const TapeState<T>* place = find(y).state;
  // A result that stands on another tape does not depend on the arguments.
  return run_sweep(*tape, op, place && place != tape ? alias(y) : y, seed, request, false);
}

template class Closure<float>;
template class Closure<double>;

}  // namespace xtape::detail
