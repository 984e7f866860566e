// The sweep: from a target's line back to the variables, one pullback after the other.
#include <string>

#include <xtape/ops/elementwise.hpp>
#include <xtape/ops/reduce.hpp>
#include <xtape/ops/shape.hpp>

#include "state.hpp"
#include "storage.hpp"

namespace xtape::detail {

namespace {

template <class T>
std::string describe(const Tensor<T>& x) {
  return text(dtype<T>(), x.raw()->shape);
}

/// The line of a target or variable; -1 for a tensor that never stood on any tape.
template <class T>
std::int64_t line_on(const TapeState<T>& tape, const char* op, const char* role,
                     const Tensor<T>& x) {
  const Body<T>& b = body(x, op);
  if (!b.place.state) return -1;
  const Spot<T> spot = find(x);
  if (!spot.state)
    misuse(op, role, " ", describe(x),
           " stood on a tape that has ended or was cleared: ask before that, or put it on a tape "
           "again with variable.");
  if (spot.state != &tape)
    misuse(op, role, " ", describe(x),
           " stands on another tape: ask the tape that it was computed on.");
  return spot.line;
}

/// Sums a cotangent over the axes along which an input of this shape was broadcast.
template <class T>
Tensor<T> sum_to(Tensor<T> g, const Dims& shape, const char* op) {
  if (body(g, op).shape == shape) return g;
  const Dims given = g.raw()->shape;
  if (!broadcasts_to(shape, given))
    fail(op, "a pullback returned shape ", given, " for an input of shape ", shape,
         ": it must be a shape that the input broadcasts to.");
  const int extra = given.rank() - shape.rank();
  std::vector<std::int64_t> axes;
  for (int i = 0; i < given.rank(); ++i)
    if (i < extra || shape[i - extra] != given[i]) axes.push_back(i);
  return reshape(sum(g, axes, true), to_shape(shape));
}

/// Pauses a tape for the time of a sweep that is not recorded, marks it as being swept, and clears
/// it afterwards when it is used up: also when the sweep ends with an exception.
template <class T>
class Sweeping {
 public:
  Sweeping(TapeState<T>& tape, Record record, bool consume)
      : tape_(tape), paused_(tape.paused), consume_(consume) {
    tape_.paused = paused_ || record == Record::no;
    ++tape_.sweeps;
  }
  Sweeping(const Sweeping&) = delete;
  ~Sweeping() {
    tape_.paused = paused_;
    --tape_.sweeps;
    if (consume_) clear_state(tape_);
  }

 private:
  TapeState<T>& tape_;
  bool paused_;
  bool consume_;
};

/// to += g where nobody else can see `to`, and there is so little that an array for the sum would
/// take longer than the sum; false elsewhere.
template <class T>
bool add_in_place(Body<T>& to, const Body<T>& g) noexcept {
  constexpr std::int64_t kFew = 64;
  if (to.size > kFew || to.references.load(std::memory_order_acquire) != 1 || to.owner ||
      to.place.state || !g.contiguous || to.shape != g.shape)
    return false;
  T* const sum = const_cast<T*>(to.data);
  for (std::int64_t i = 0; i < to.size; ++i) sum[i] += g.data[i];
  return true;
}

/// One sweep over the lines from `last` down to `first`.
template <class T>
class Backward {
 public:
  Backward(TapeState<T>& tape, std::int64_t first, std::int64_t last)
      : tape_(tape),
        first_(first),
        needed_(static_cast<std::size_t>(last - first + 1)),
        wanted_(needed_.size()),
        adjoints_(needed_.size()) {}

  /// Asks for the adjoint of a line: it is kept, and all that depends on the line is needed.
  void want(std::int64_t line) {
    if (inside(line)) needed_[index(line)] = wanted_[index(line)] = true;
  }

  /// Finds the lines that depend on a wanted one: only their cotangents are computed.
  void mark() {
    for (std::int64_t at = first_; inside(at); ++at) {
      const Line<T>& line = tape_.lines[at];
      char& needed = needed_[index(at)];
      if (line.outputs < 0 && inside(at + line.outputs))
        needed = needed || needed_[index(at + line.outputs)];
      for (int i = 0; i < line.edges && !needed; ++i) needed = reaches(edge(line, i));
    }
  }

  void add(std::int64_t at, Tensor<T> g) {
    Tensor<T>& adjoint = adjoints_[index(at)];
    if (!adjoint.has_value())
      adjoint = std::move(g);
    else if (!tape_.paused || !add_in_place(*adjoint.raw(), *g.raw()))
      adjoint = xtape::add(adjoint, g);
  }

  /// The adjoint of a wanted line, zeros where the target does not depend on it.
  Tensor<T> adjoint(std::int64_t at) { return or_zeros(take(at), at); }

  using Passed = std::vector<Contribution<T>>;

  void pass(std::int64_t at, const Observer<T>& observer, bool free) {
    Line<T>& line = tape_.lines[at];
    if (line.outputs < 0) return;  // its cotangent waits for the first line of its op
    Passed passed;
    if (line.joint) {
      const Tensors<T> g = pass_joint(line, at, observer ? &passed : nullptr);
      for (std::size_t i = observer ? g.size() : 0; i-- > 0;)
        observer(at + static_cast<std::int64_t>(i), g[i], i == 0 ? passed : Passed());
    } else {
      const Tensor<T> g = pass_edges(line, at, observer ? &passed : nullptr);
      if (observer && g.has_value()) observer(at, g, passed);
    }
    if (free) {
      line.value = {};
      line.joint.reset();
      for (int i = 0; i < line.edges; ++i) edge(line, i).pullback.reset();
    }
  }

 private:
  std::size_t index(std::int64_t line) const { return static_cast<std::size_t>(line - first_); }
  bool inside(std::int64_t line) const { return line >= first_ && index(line) < needed_.size(); }
  Edge<T>& edge(const Line<T>& line, int i) { return tape_.edges[line.first_edge + i]; }
  bool reaches(const Edge<T>& edge) const { return inside(edge.line) && needed_[index(edge.line)]; }

  Tensor<T> or_zeros(const Tensor<T>& adjoint, std::int64_t at) {
    return adjoint.has_value() ? adjoint : Tensor<T>::zeros(to_shape(tape_.lines[at].shape));
  }

  /// The cotangent of a line, which leaves the sweep unless it is wanted.
  Tensor<T> take(std::int64_t at) {
    if (!inside(at)) return {};
    return wanted_[index(at)] ? adjoints_[index(at)] : std::exchange(adjoints_[index(at)], {});
  }

  Tensor<T> pass_edges(const Line<T>& line, std::int64_t at, Passed* passed) {
    Tensor<T> g = take(at);
    if (g.has_value())
      for (int i = 0; i < line.edges; ++i)
        if (const Edge<T>& e = edge(line, i); reaches(e))
          deliver(line, e.line, e.pullback(g, line.value), passed);
    return g;
  }

  /// A joint pullback gets the cotangents of all outputs, zeros for those that the target does not
  /// depend on.
  Tensors<T> pass_joint(const Line<T>& line, std::int64_t at, Passed* passed) {
    Tensors<T> g;
    bool reached = false;
    for (std::int64_t i = at; i < at + line.outputs; ++i) {
      g.push_back(take(i));
      reached = reached || g.back().has_value();
    }
    if (!reached || !needed_[index(at)]) return {};
    for (std::size_t i = 0; i < g.size(); ++i)
      g[i] = or_zeros(g[i], at + static_cast<std::int64_t>(i));

    std::vector<bool> needed;
    for (int i = 0; i < line.edges; ++i) needed.push_back(reaches(edge(line, i)));
    Tensors<T> found = (*line.joint)(g, needed);
    if (found.size() != needed.size())
      fail(line.op, "a joint pullback returned ", found.size(), " cotangents for ", needed.size(),
           " inputs: one an input is required.");
    for (int i = 0; i < line.edges; ++i)
      if (needed[static_cast<std::size_t>(i)])
        deliver(line, edge(line, i).line, std::move(found[static_cast<std::size_t>(i)]), passed);
    return g;
  }

  void deliver(const Line<T>& line, std::int64_t to, Tensor<T> g, Passed* passed) {
    g = sum_to(std::move(g), tape_.lines[to].shape, line.op);
    if (passed) passed->push_back({to, g});
    add(to, std::move(g));
  }

  TapeState<T>& tape_;
  std::int64_t first_;
  std::vector<char> needed_;
  std::vector<char> wanted_;
  Tensors<T> adjoints_;
};

}  // namespace

template <class T>
Tensors<T> run_sweep(TapeState<T>& tape, const char* op, const Tensor<T>& target,
                     const Tensor<T>* seed, const Request<T>& request, bool consume) {
  const std::int64_t last = line_on(tape, op, "target", target);
  std::int64_t first = last + 1;
  std::vector<std::int64_t> lines;
  for (const Tensor<T>& x : request.wrt) {
    lines.push_back(line_on(tape, op, "variable", x));
    if (lines.back() < 0)
      misuse(op, "variable ", describe(x),
             " never was on this tape: put it there with variable or watch, and compute the target "
             "from what that returns.");
    first = std::min(first, lines.back());
  }
  const Dims& shape = target.raw()->shape;
  if (!seed && target.raw()->size != 1)
    fail(op, "target ", describe(target), " has ", target.raw()->size,
         " elements: one is required, or a seed of its shape given to vjp.");
  if (seed && body(*seed, op).shape != shape)
    fail(op, "seed ", describe(*seed), " for target ", describe(target),
         ": the shapes must be equal.");
  if (consume && (request.sweep.record == Record::yes || tape.sweeps > 0))
    misuse(op, "the tape is to be freed while its sweep is recorded or running: keep the tape.");

  const Sweeping<T> sweeping(tape, request.sweep.record, consume);
  Backward<T> backward(tape, first, last);
  for (std::int64_t line : lines) backward.want(line);
  if (first <= last) {
    backward.mark();
    backward.add(last, seed ? *seed : Tensor<T>::ones(to_shape(shape)));
  }
  for (std::int64_t at = last; at >= first; --at)
    backward.pass(at, request.sweep.observer, consume);
  Tensors<T> result;
  for (std::int64_t line : lines) result.push_back(backward.adjoint(line));
  return result;
}

#define XTAPE_INSTANTIATE(T)                                                         \
  template Tensors<T> run_sweep(TapeState<T>&, const char*, In<T>, const Tensor<T>*, \
                                const Request<T>&, bool);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape::detail
