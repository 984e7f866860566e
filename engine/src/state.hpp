// What a tape is made of: lines, their edges to earlier lines, and how tensors find them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <xtape/record.hpp>
#include <xtape/tape.hpp>

namespace xtape::detail {

/// A list that never moves its items: a recording sweep appends while it reads.
template <class Item>
class Chunks {
 public:
  Chunks() = default;
  Chunks(const Chunks&) = delete;
  Chunks& operator=(const Chunks&) = delete;
  ~Chunks() { clear(); }

  std::int64_t size() const noexcept { return size_; }
  Item& operator[](std::int64_t i) noexcept { return *std::launder(static_cast<Item*>(at(i))); }

  Item& append() {
    if (size_ == static_cast<std::int64_t>(chunks_.size()) * kItems)
      chunks_.push_back(std::make_unique<Chunk>());
    Item* item = ::new (at(size_)) Item;
    ++size_;
    return *item;
  }
  void clear() noexcept {
    for (std::int64_t i = 0; i < size_; ++i) (*this)[i].~Item();
    size_ = 0;
    if (chunks_.size() > kKept) chunks_.resize(kKept);
  }

 private:
  static constexpr std::int64_t kItems = 128;
  static constexpr std::size_t kKept = 64;  // about 2 MB stay for the next tape
  struct Chunk {
    alignas(Item) std::byte items[kItems * sizeof(Item)];
  };

  void* at(std::int64_t i) noexcept {
    return chunks_[static_cast<std::size_t>(i / kItems)]->items +
           static_cast<std::size_t>(i % kItems) * sizeof(Item);
  }

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::int64_t size_ = 0;
};

/// An input of a line: where it came from (-1: a constant) and the rule for its cotangent.
template <class T>
struct Edge {
  std::int64_t line = -1;
  Tensor<T> constant;  // kept only when it is a single number, for printing
  Pullback<T> pullback;
};

template <class T>
struct Line {
  const char* op = "";
  std::string text;  // a variable's name, an op's attributes
  Dims shape;
  Tensor<T> value;  // kept when a pullback reads it, or for display
  std::unique_ptr<JointPullback<T>> joint;
  std::int64_t first_edge = 0;
  std::int32_t edges = 0;
  std::int32_t outputs = 1;  // of a joint op: their number on its first line, -k on the k-th other
};

/// States are recycled and never freed, and an epoch is never used twice: a place that names a
/// state may outlive the tape, and finds out by comparing epochs.
template <class T>
struct TapeState {
  std::atomic<std::uint64_t> epoch{0};
  Keep keep = Keep::needed;
  bool closure = false;  // made by grad: may be appended to another tape
  bool paused = false;   // a sweep that is not recorded runs: tensors look like constants
  int sweeps = 0;
  Chunks<Line<T>> lines;
  Chunks<Edge<T>> edges;
  TapeState* host = nullptr;  // the tape that this one was appended to, `offset` lines further
  std::int64_t offset = 0;
  std::vector<TapeState*> guests;
};

template <class T>
TapeState<T>* acquire_state(Keep keep, bool closure);
template <class T>
void release_state(TapeState<T>* state) noexcept;
/// Drops all lines; the state stays in use under a new epoch.
template <class T>
void clear_state(TapeState<T>& state) noexcept;

/// Where a tensor stands: a null state when it is a constant.
template <class T>
struct Spot {
  TapeState<T>* state = nullptr;
  std::int64_t line = -1;
};

/// Where x stands on a living tape, following tapes that were appended to others.
template <class T>
Spot<T> find(const Tensor<T>& x) noexcept {
  const Body<T>* body = x.raw();
  if (!body || !body->place.state) return {};
  TapeState<T>* state = body->place.state;
  if (state->epoch.load(std::memory_order_relaxed) != body->place.epoch) return {};
  std::int64_t line = body->place.line;
  for (; state->host; state = state->host) line += state->offset;
  return {state, line};
}

/// The same as ops see it: a tensor of a paused tape is a constant.
template <class T>
Spot<T> find_recording(const Tensor<T>& x) noexcept {
  Spot<T> spot = find(x);
  return spot.state && spot.state->paused ? Spot<T>{} : spot;
}

/// The tape that an op with operands on both is written on; either may be null.
template <class T>
TapeState<T>* join(const char* op, TapeState<T>* a, TapeState<T>* b);
/// The same for all inputs of an op; throws in its name for one without a value.
template <class T>
TapeState<T>* tape_of(const char* op, const std::vector<Tensor<T>>& inputs);

/// A tensor with x's values that is held by nobody else and stands nowhere.
template <class T>
Tensor<T> alias(const Tensor<T>& x);

/// A new line of `tape` without inputs; returns x's value standing there.
template <class T>
Tensor<T> write_variable(TapeState<T>& tape, const Tensor<T>& x, const std::string& name);

/// The sweep behind gradient and vjp: `seed` null stands for ones.
template <class T>
std::vector<Tensor<T>> run_sweep(TapeState<T>& tape, const char* op, const Tensor<T>& target,
                                 const Tensor<T>* seed, const Request<T>& request, bool consume);

}  // namespace xtape::detail
