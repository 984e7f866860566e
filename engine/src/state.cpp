// Tape states: their recycling, and appending one tape to another.
#include "state.hpp"

#include <mutex>

#include "storage.hpp"

namespace xtape::detail {

namespace {

std::uint64_t next_epoch() noexcept {
  static std::atomic<std::uint64_t> count{0};
  return 1 + count.fetch_add(1, std::memory_order_relaxed);
}

/// States that no tape uses. It is never destroyed: places may be asked about until the very end.
template <class T>
struct Pool {
  std::mutex mutex;
  std::vector<TapeState<T>*> free;
};
template <class T>
Pool<T>& pool() {
  static Pool<T>* const pool = new Pool<T>;
  return *pool;
}

/// Moves all lines of `guest` to the end of `host`; places on the guest stay valid.
template <class T>
void append(TapeState<T>& host, TapeState<T>& guest) {
  guest.offset = host.lines.size();
  const std::int64_t edge_offset = host.edges.size();
  host.guests.push_back(&guest);
  for (std::int64_t i = 0; i < guest.edges.size(); ++i) {
    Edge<T>& edge = host.edges.append() = std::move(guest.edges[i]);
    if (edge.line >= 0) edge.line += guest.offset;
  }
  for (std::int64_t i = 0; i < guest.lines.size(); ++i) {
    Line<T>& line = host.lines.append() = std::move(guest.lines[i]);
    line.first_edge += edge_offset;
  }
  guest.lines.clear();
  guest.edges.clear();
  guest.host = &host;
}

}  // namespace

template <class T>
TapeState<T>* acquire_state(Keep keep, bool closure) {
  TapeState<T>* state = nullptr;
  {
    Pool<T>& states = pool<T>();
    const std::lock_guard<std::mutex> lock(states.mutex);
    if (states.free.empty()) {
      states.free.reserve(states.free.capacity() + 1);
      state = new TapeState<T>;
    } else {
      state = states.free.back();
      states.free.pop_back();
    }
  }
  state->keep = keep;
  state->closure = closure;
  state->epoch.store(next_epoch(), std::memory_order_relaxed);
  return state;
}

template <class T>
void clear_state(TapeState<T>& state) noexcept {
  // New epoch first: tensors that a pullback holds must find the tape ended.
  state.epoch.store(next_epoch(), std::memory_order_relaxed);
  state.lines.clear();
  state.edges.clear();
  for (TapeState<T>* guest : state.guests) release_state(guest);
  state.guests.clear();
  state.host = nullptr;
  state.offset = 0;
}

template <class T>
void release_state(TapeState<T>* state) noexcept {
  clear_state(*state);
  Pool<T>& states = pool<T>();
  const std::lock_guard<std::mutex> lock(states.mutex);
  states.free.push_back(state);
}

template <class T>
TapeState<T>* join(const char* op, TapeState<T>* a, TapeState<T>* b) {
  if (!a || !b || a == b) return a ? a : b;
  const bool a_first =
      a->epoch.load(std::memory_order_relaxed) < b->epoch.load(std::memory_order_relaxed);
  TapeState<T>* older = a_first ? a : b;
  TapeState<T>* younger = a_first ? b : a;
  if (older->closure && !younger->closure)
    misuse(op,
           "mixes an argument of a function under grad with a variable of a Tape made inside that "
           "function: pass the tensor in as an argument.");
  if (!younger->closure)
    misuse(
        op,
        "mixes tensors of two living tapes: put all variables on one tape, or pass stop_gradient "
        "of one of the tensors.");
  if (younger->sweeps > 0)
    misuse(
        op,
        "mixes tapes while the gradient of one of them is computed: a pullback may use its inputs "
        "and its output only.");
  append(*older, *younger);
  return older;
}

template <class T>
TapeState<T>* tape_of(const char* op, const Tensors<T>& inputs) {
  TapeState<T>* tape = nullptr;
  for (const Tensor<T>& x : inputs) {
    body(x, op);
    tape = join(op, tape, find_recording(x).state);
  }
  return tape;
}

template <class T>
Tensor<T> alias(const Tensor<T>& x) {
  const Body<T>& body = *x.raw();
  return view<T>(x, body.shape, body.strides);
}

#define XTAPE_INSTANTIATE(T)                                              \
  template TapeState<T>* acquire_state(Keep, bool);                       \
  template void clear_state(TapeState<T>&) noexcept;                      \
  template void release_state(TapeState<T>*) noexcept;                    \
  template TapeState<T>* join(const char*, TapeState<T>*, TapeState<T>*); \
  template TapeState<T>* tape_of(const char*, const Tensors<T>&);         \
  template Tensor<T> alias(const Tensor<T>&);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape::detail
