// New arrays for ops to fill, and views of old ones.
#pragma once

#include <string>

#include <xtape/tensor.hpp>

namespace xtape::detail {

/// A contiguous array that only its maker may fill, before it is handed over.
template <class E>
struct Fresh {
  Array<E> array;
  E* data;
};
template <class E>
Fresh<E> fresh(const Dims& shape);

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
std::string to_string(const Dims& dims);

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

/// Throws std::invalid_argument with `[op] text`.
[[noreturn]] void fail(const char* op, const std::string& text);

}  // namespace xtape::detail
