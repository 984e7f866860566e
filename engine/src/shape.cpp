// Shapes: printing, checking, strides, broadcasting.
#include <limits>

#include "storage.hpp"

namespace xtape {

namespace {

template <class List>
std::string bracketed(const List& list) {
  std::string text = "[";
  for (std::int64_t n : list) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(n);
  }
  return text + "]";
}

}  // namespace

std::string to_string(const Shape& shape) { return bracketed(shape); }

namespace detail {

std::string to_string(const Dims& dims) { return bracketed(dims); }

void append(std::string& text, const char* part) { text += part; }
void append(std::string& text, const std::string& part) { text += part; }
void append(std::string& text, const Shape& part) { text += bracketed(part); }
void append(std::string& text, const Dims& part) { text += bracketed(part); }

void throw_no_value(const char* op) {
  fail(op, "an array without a value was given: it must be assigned first.");
}

Dims contiguous_strides(const Dims& shape) noexcept {
  Dims strides;
  strides.resize(shape.rank());
  std::int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

bool is_contiguous(const Dims& shape, const Dims& strides) noexcept {
  if (size_of(shape) == 0) return true;
  std::int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

// A sixteenth of what 64 bits count, so that sizes in bytes do not overflow, nor the sum of two.
constexpr std::int64_t kMostValues = std::numeric_limits<std::int64_t>::max() / 16;

void check_countable(const Dims& shape, const char* op) {
  std::int64_t size = 1;
  for (std::int64_t n : shape) {
    if (n > 0 && size > kMostValues / n)
      fail(
          op, "shape ", shape,
          " has more values than can be counted: its lengths, those of 0 left out, may multiply to "
          "at most ",
          kMostValues, ".");
    size *= n == 0 ? 1 : n;
  }
}

Dims to_dims(const Shape& shape, const char* op) {
  if (shape.size() > static_cast<std::size_t>(kMaxRank))
    fail(op, "shape ", shape, " has ", shape.size(), " axes: at most ", kMaxRank, " are possible.");
  Dims dims;
  for (std::int64_t n : shape) {
    if (n < 0) fail(op, "shape ", shape, ": no length may be negative.");
    dims.push_back(n);
  }
  check_countable(dims, op);
  return dims;
}

Shape to_shape(const Dims& dims) { return Shape(dims.begin(), dims.end()); }

int normalize(Axis axis, int rank, const char* op) {
  const std::int64_t at = axis.value() < 0 ? axis.value() + rank : axis.value();
  if (rank == 0) fail(op, "axis ", axis.value(), " of a scalar: it has no axes.");
  if (at < 0 || at >= rank)
    fail(op, "axis ", axis.value(), " of ", rank, " axes: it must be at least -", rank,
         " and below ", rank, ".");
  return static_cast<int>(at);
}

std::string axis_text(int axis) { return text("axis=", axis); }

std::string values_text(std::int64_t n) {
  return std::to_string(n) + (n == 1 ? " value" : " values");
}

bool broadcasts_to(const Dims& from, const Dims& to) noexcept {
  const int extra = to.rank() - from.rank();
  bool fits = extra >= 0;
  for (int i = 0; fits && i < from.rank(); ++i) fits = from[i] == 1 || from[i] == to[i + extra];
  return fits;
}

Dims broadcast(const Dims& a, const Dims& b, const char* op) {
  const Dims& longer = a.rank() < b.rank() ? b : a;
  const Dims& shorter = a.rank() < b.rank() ? a : b;
  Dims result = longer;
  const int shift = longer.rank() - shorter.rank();
  for (int i = 0; i < shorter.rank(); ++i) {
    std::int64_t& n = result[i + shift];
    if (n == shorter[i] || shorter[i] == 1) continue;
    if (n != 1)
      fail(op, "cannot broadcast ", a, " with ", b,
           ": lengths, counted from the last axis, must be equal or 1.");
    n = shorter[i];
  }
  check_countable(result, op);
  return result;
}

}  // namespace detail
}  // namespace xtape
