// New arrays for ops to fill, and views of old ones.
#pragma once

#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <xtape/tensor.hpp>

namespace xtape::detail {

template <class T>
using Tensors = std::vector<Tensor<T>>;

using xtape::to_string;
std::string to_string(const Dims& dims);

// Not inline: there are many errors, and none is in a hurry.
void append(std::string& text, const char* part);
void append(std::string& text, const std::string& part);
void append(std::string& text, const Shape& part);
void append(std::string& text, const Dims& part);
template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
void append(std::string& text, Number part) {
  append(text, std::to_string(part));
}

/// Texts, numbers and shapes, one after the other.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::string result;
  (append(result, parts), ...);
  return result;
}

/// Throws std::invalid_argument with `[op] parts`.
template <class... Parts>
[[noreturn]] void fail(const char* op, const Parts&... parts) {
  throw std::invalid_argument(text("[", op, "] ", parts...));
}

/// Throws std::logic_error with `[op] parts`.
template <class... Parts>
[[noreturn]] void misuse(const char* op, const Parts&... parts) {
  throw std::logic_error(text("[", op, "] ", parts...));
}

/// A contiguous array that only its maker may fill, before it is handed over.
template <class E>
struct Fresh {
  Array<E> array;
  E* data;
};
template <class E>
Fresh<E> fresh(const Dims& shape);

/// A contiguous array of f(0), f(1), ... in row-major order.
template <class E, class F>
Array<E> generate(const Dims& shape, const F& f) {
  auto [array, data] = fresh<E>(shape);
  const std::int64_t n = size_of(shape);
  for (std::int64_t i = 0; i < n; ++i) data[i] = static_cast<E>(f(i));
  return array;
}

/// A view: other axes over the values of `x`, `offset` values further.
template <class E>
Array<E> view(const Array<E>& x, const Dims& shape, const Dims& strides, std::int64_t offset = 0);

/// Row-major strides.
Dims contiguous_strides(const Dims& shape) noexcept;
bool is_contiguous(const Dims& shape, const Dims& strides) noexcept;

/// Checked: throws std::invalid_argument in the name of `op`.
Dims to_dims(const Shape& shape, const char* op);
Shape to_shape(const Dims& dims);

/// Throws std::invalid_argument in the name of `op` for more values than can be counted. What has
/// been broadcast may hold nearly that many, so whoever makes a larger shape must ask.
void check_countable(const Dims& shape, const char* op);

/// 0 <= axis < rank for a given axis, negative ones counted from the last; throws otherwise.
int normalize(Axis axis, int rank, const char* op);

/// An op's attribute, as tapes print it: `axis=1`.
std::string axis_text(int axis);

/// `1 value`, `2 values`
std::string values_text(std::int64_t n);

/// The shape that a and b broadcast to by NumPy's rules; throws when they do not.
Dims broadcast(const Dims& a, const Dims& b, const char* op);

/// True when broadcasting an array of shape `from` gives shape `to`.
bool broadcasts_to(const Dims& from, const Dims& to) noexcept;

}  // namespace xtape::detail
