// Tensor<T>: an immutable float or double array that may stand on a tape. Copies are cheap, since
// they share their values, and no operation changes a tensor that already exists.
//
//   Tensor<double> x({2, 3}, {1, 2, 3, 4, 5, 6});   // shape, values in row-major order
//   Tensor<double> y{{1, 2}, {3, 4}};               // nested lists
//   Tensor<double> z = 3.0;                         // shape []
#pragma once

#include <cstdint>

#include <xtape/array.hpp>

namespace xtape {

template <class T>
class Tensor;

/// An operand that may also be a number: its T is taken from the other operands.
template <class T>
struct ArgOf {
  using type = const Tensor<T>&;
};
template <class T>
using Arg = typename ArgOf<T>::type;

/// A tensor that is only read: an operand, or the cotangent and the output that a pullback gets.
template <class T>
using In = const Tensor<T>&;

// Behind the operators; described in ops/elementwise.hpp and ops/compare.hpp.
template <class T>
XTAPE_API Tensor<T> add(const Tensor<T>& a, Arg<T> b);
template <class T>
XTAPE_API Tensor<T> sub(const Tensor<T>& a, Arg<T> b);
template <class T>
XTAPE_API Tensor<T> mul(const Tensor<T>& a, Arg<T> b);
template <class T>
XTAPE_API Tensor<T> div(const Tensor<T>& a, Arg<T> b);
template <class T>
XTAPE_API Tensor<T> neg(const Tensor<T>& x);
template <class T>
XTAPE_API Mask less(const Tensor<T>& a, Arg<T> b);
template <class T>
XTAPE_API Mask less_equal(const Tensor<T>& a, Arg<T> b);

template <class T>
class XTAPE_API Tensor : public Array<T> {
 public:
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                "a Tensor holds float or double");

  using Array<T>::Array;
  Tensor() noexcept = default;
  Tensor(Array<T> values) noexcept : Array<T>(std::move(values)) {}

  static Tensor zeros(const Shape& shape) { return full(shape, 0); }
  static Tensor ones(const Shape& shape) { return full(shape, 1); }
  static Tensor full(const Shape& shape, double value);
  /// start, start + step, ... below stop (above it for a negative step). Throws: step 0,
  /// a number that is not finite, or 10^15 values and more.
  static Tensor arange(double start, double stop, double step = 1);
  /// `count` values from start to stop, both included.
  static Tensor linspace(double start, double stop, std::int64_t count);
  /// The identity matrix, n x n.
  static Tensor eye(std::int64_t n);

  friend Tensor operator+(In<T> a, In<T> b) { return add(a, b); }
  friend Tensor operator-(In<T> a, In<T> b) { return sub(a, b); }
  friend Tensor operator*(In<T> a, In<T> b) { return mul(a, b); }
  friend Tensor operator/(In<T> a, In<T> b) { return div(a, b); }
  friend Tensor operator-(In<T> x) { return neg(x); }
  friend Mask operator<(In<T> a, In<T> b) { return less(a, b); }
  friend Mask operator<=(In<T> a, In<T> b) { return less_equal(a, b); }
  friend Mask operator>(In<T> a, In<T> b) { return less(b, a); }
  friend Mask operator>=(In<T> a, In<T> b) { return less_equal(b, a); }
};

/// The same values as float or double: a constant, off every tape.
template <class To, class From>
XTAPE_API Tensor<To> cast(const Tensor<From>& x);

/// `f32` or `f64`.
template <class T>
const char* dtype() {
  return sizeof(T) == sizeof(float) ? "f32" : "f64";
}

}  // namespace xtape
