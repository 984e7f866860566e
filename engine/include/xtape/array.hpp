// Array<E>: an immutable array with a shape, possibly strided, that shares its values with its
// views. It is what Tensor, Mask and Index have in common. An array is one pointer; none means "no
// value", and then every method throws.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

#include <xtape/export.hpp>
#include <xtape/shape.hpp>

namespace xtape {

template <class E>
class Array;

namespace detail {

template <class T>
struct TapeState;

/// Where a tensor stands on a tape. It owns nothing: whether the tape lives is asked by comparing
/// epochs, and states outlive every place that names them.
template <class T>
struct Place {
  TapeState<T>* state = nullptr;
  std::uint64_t epoch = 0;
  std::int64_t line = 0;
};

/// What an array points to. `data` belongs to this body, or to `owner` when this is a view.
template <class E>
struct Body {
  static constexpr std::size_t kLocal = 32 / sizeof(E);

  std::atomic<std::uint32_t> references{1};
  bool contiguous = true;
  std::int64_t size = 1;
  const E* data = nullptr;
  Body* owner = nullptr;
  Place<E> place;
  Dims shape;
  Dims strides;  // in values, not bytes
  E local[kLocal];
};

/// Drops one reference; true when it was the last. The only holder needs no atomic subtraction,
/// which costs more than all the rest of dropping a tensor.
template <class E>
bool release(Body<E>& body) noexcept {
  return body.references.load(std::memory_order_acquire) == 1 ||
         body.references.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

/// Gives a body back when the last array that holds it lets go.
template <class E>
XTAPE_API void destroy(Body<E>* body) noexcept;

/// A new body of shape [] that holds one value.
template <class E>
XTAPE_API Body<E>* scalar(E value);

/// The body of an array; throws for an array without a value, in the name of `op`.
template <class E>
const Body<E>& body(const Array<E>& x, const char* op);

/// True for the numbers that convert to values of type E: bool to bool only, whole numbers to whole
/// numbers, every number to float and double.
template <class S, class E>
inline constexpr bool converts_to = std::is_arithmetic_v<S>&& std::is_same_v<S, bool> ==
                                        std::is_same_v<E, bool> &&
                                    (std::is_integral_v<S> || std::is_floating_point_v<E>);

/// What may stand at one place of a nested list: a value, or a list one level deeper.
template <class E>
class Nested {
 public:
  template <class S, std::enable_if_t<detail::converts_to<S, E>, int> = 0>
  Nested(S value) : value_(static_cast<E>(value)) {}
  Nested(std::initializer_list<Nested> items) : items_(items), leaf_(false) {}

  bool leaf() const noexcept { return leaf_; }
  E value() const noexcept { return value_; }
  const std::vector<Nested>& items() const noexcept { return items_; }

 private:
  std::vector<Nested> items_;
  E value_{};
  bool leaf_ = true;
};

}  // namespace detail

template <class E>
class XTAPE_API Array {
 public:
  /// No value: every method throws until one is assigned.
  Array() noexcept = default;
  /// `values` in row-major order. Throws: std::invalid_argument when their number is not the
  /// shape's, a length is negative, or there are more than 8 axes.
  Array(const Shape& shape, const std::vector<E>& values);
  Array(const Shape& shape) = delete;
  /// Nested lists: `{{1, 2}, {3, 4}}` has shape [2, 2]. Throws: std::invalid_argument when ragged.
  Array(std::initializer_list<detail::Nested<E>> items);
  /// A scalar, of shape [], from any number that E can hold: a Mask takes bool only, an Index no
  /// fractions.
  template <class S, std::enable_if_t<detail::converts_to<S, E>, int> = 0>
  Array(S value) : body_(detail::scalar(static_cast<E>(value))) {}

  Array(const Array& other) noexcept : body_(other.body_) {
    if (body_) body_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Array(Array&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  Array& operator=(Array other) noexcept {
    std::swap(body_, other.body_);
    return *this;
  }
  ~Array() {
    if (body_ && detail::release(*body_)) detail::destroy(body_);
  }

  bool has_value() const noexcept { return body_ != nullptr; }
  Shape shape() const;
  /// The number of axes.
  int rank() const { return detail::body(*this, "rank").shape.rank(); }
  /// The number of values.
  std::int64_t size() const { return detail::body(*this, "size").size; }
  /// The length of one axis; negative axes count from the last.
  std::int64_t dim(Axis axis) const;
  /// All values, in row-major order.
  std::vector<E> values() const;
  /// The value of an array that has exactly one.
  E item() const;
  /// One value; negative positions count from the end of their axis.
  E at(const std::vector<std::int64_t>& position) const;
  /// The first value; the others lie `strides()` apart. Valid while this array or a view of it
  /// lives.
  const E* data() const { return detail::body(*this, "data").data; }
  /// The distance along each axis, in values.
  std::vector<std::int64_t> strides() const;
  /// True when the values lie in row-major order without gaps.
  bool is_contiguous() const { return detail::body(*this, "is_contiguous").contiguous; }

  /// For the library: takes over a reference to `body`. No constructor: a list of the number 0 is
  /// taken for a pointer by Clang 14, in generic lambdas.
  static Array adopt(detail::Body<E>* body) noexcept {
    Array result;
    result.body_ = body;
    return result;
  }
  /// For the library: the body, null for none.
  detail::Body<E>* raw() const noexcept { return body_; }

 private:
  detail::Body<E>* body_ = nullptr;
};

/// True where attending, taking or keeping is allowed; never on a tape, and not a number.
using Mask = Array<bool>;

/// Whole numbers: token ids, positions to gather.
using Index = Array<std::int64_t>;

namespace detail {

/// Throws std::invalid_argument: `op` was given an array without a value.
[[noreturn]] XTAPE_API void throw_no_value(const char* op);

template <class E>
const Body<E>& body(const Array<E>& x, const char* op) {
  if (!x.raw()) throw_no_value(op);
  return *x.raw();
}

}  // namespace detail

}  // namespace xtape
