// Shapes and axes: what users write as lists of integers.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include <xtape/export.hpp>

namespace xtape {

/// The length of each axis; the empty list is a scalar's shape.
using Shape = std::vector<std::int64_t>;

/// The largest number of axes that a tensor may have.
inline constexpr int kMaxRank = 8;

/// A shape as errors and printed tapes show it: `[2, 3]`.
XTAPE_API std::string to_string(const Shape& shape);

namespace detail {

/// True for the integer types that may stand for an axis: bool is refused, being a slip.
template <class I>
inline constexpr bool is_axis = std::is_integral_v<I> && !std::is_same_v<I, bool>;

/// A shape or strides held in place, without an allocation: at most kMaxRank numbers.
class Dims {
 public:
  Dims() noexcept : rank_(0) {}
  // Only the axes that there are: recording copies shapes more than anything else.
  Dims(const Dims& other) noexcept { *this = other; }
  Dims& operator=(const Dims& other) noexcept {
    rank_ = other.rank_;
    for (int i = 0; i < rank_; ++i) (*this)[i] = other[i];
    return *this;
  }
  int rank() const noexcept { return rank_; }
  std::int64_t& operator[](int axis) noexcept { return at_[static_cast<std::size_t>(axis)]; }
  std::int64_t operator[](int axis) const noexcept { return at_[static_cast<std::size_t>(axis)]; }
  const std::int64_t* begin() const noexcept { return at_.data(); }
  const std::int64_t* end() const noexcept { return at_.data() + rank_; }
  void push_back(std::int64_t n) noexcept { at_[static_cast<std::size_t>(rank_++)] = n; }
  void resize(int rank) noexcept { rank_ = rank; }
  void insert(int axis, std::int64_t n) noexcept {
    for (int i = rank_++; i > axis; --i) (*this)[i] = (*this)[i - 1];
    (*this)[axis] = n;
  }
  void erase(int axis) noexcept {
    for (--rank_; axis < rank_; ++axis) (*this)[axis] = (*this)[axis + 1];
  }

  friend bool operator==(const Dims& a, const Dims& b) noexcept {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i)
      if (a[i] != b[i]) return false;
    return true;
  }
  friend bool operator!=(const Dims& a, const Dims& b) noexcept { return !(a == b); }

 private:
  int rank_;
  std::array<std::int64_t, kMaxRank> at_;
};

/// The number of values of a shape.
inline std::int64_t size_of(const Dims& shape) noexcept {
  std::int64_t n = 1;
  for (std::int64_t length : shape) n *= length;
  return n;
}

}  // namespace detail

/// One axis; negative ones count from the last.
class Axis {
 public:
  template <class I, std::enable_if_t<detail::is_axis<I>, int> = 0>
  Axis(I axis) : at_(static_cast<std::int64_t>(axis)) {}
  std::int64_t value() const noexcept { return at_; }

 private:
  std::int64_t at_;
};

/// Stands for every axis: `sum(x, all, true)`.
struct All {};
inline constexpr All all{};

/// Some axes, or all of them: an integer, a list of integers, or `all`.
class Axes {
 public:
  Axes(All) : every_(true) {}
  template <class I, std::enable_if_t<detail::is_axis<I>, int> = 0>
  Axes(I axis) : list_{static_cast<std::int64_t>(axis)} {}
  template <class I, std::enable_if_t<detail::is_axis<I>, int> = 0>
  Axes(std::initializer_list<I> axes) : list_(axes.begin(), axes.end()) {}
  Axes(std::vector<std::int64_t> axes) : list_(std::move(axes)) {}

  bool every() const noexcept { return every_; }
  const std::vector<std::int64_t>& list() const noexcept { return list_; }

 private:
  bool every_ = false;
  std::vector<std::int64_t> list_;
};

}  // namespace xtape
