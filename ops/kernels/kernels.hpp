// The table of kernels: the loops that most of the time goes to, one set for each kind of
// processor. They work on memory that others have checked and allocated, in one thread, and throw
// nothing.
#pragma once

#include <algorithm>
#include <cstdint>

namespace xtape::detail {

/// A matrix inside an array: element (i, j) is data[i * row + j * column].
template <class T>
struct Strided {
  const T* data;
  std::int64_t row;
  std::int64_t column;
};

/// What a binary kernel computes of each pair of values; `chain` is 0 where the first is 0.
enum class Binary { add, sub, mul, div, chain };
inline constexpr int kBinaries = 5;

/// Blocks that a matrix product packs into its scratch: 256 KiB of b at most, which stay in the
/// cache, and where a's rows do not lie dense, 64 rows of a, each with room for a cache line more.
inline constexpr std::int64_t kMatmulDepth = 256;
inline constexpr std::int64_t kMatmulLeft = 64 * (kMatmulDepth + 4);
template <class T>
inline constexpr std::int64_t kMatmulRight = 262144 / sizeof(T);

/// The values of scratch that c = a b needs. b: [k, n]
template <class T>
std::int64_t matmul_scratch(std::int64_t n, std::int64_t k, const Strided<T>& a) {
  const std::int64_t right = std::min(kMatmulRight<T>, std::min(k, kMatmulDepth) * (n + 16));
  return a.column == 1 ? right : right + kMatmulLeft;
}

/// What a unary kernel computes of each value: the ops of these names.
enum class Unary {
  neg,
  abs,
  relu,
  sqrt,
  square,
  exp,
  log,
  tanh,
  sigmoid,
  silu,
  softplus,
  sin,
  cos,
  erf,
  gelu
};
inline constexpr int kUnaries = 15;

template <class T>
struct Kernels {
  const char* isa;

  /// c = a b. a: [m, k]  b: [k, n]  c: [m, n], overwritten; zeros when k = 0. c's rows are dense
  /// and lie c_row apart. scratch: matmul_scratch(n, k, a) values.
  void (*matmul)(std::int64_t m, std::int64_t n, std::int64_t k, Strided<T> a, Strided<T> b, T* c,
                 std::int64_t c_row, T* scratch);

  /// y[i] = f(a[i * a_step], b[i * b_step]), by Binary; steps are 0 or 1.
  void (*binary[kBinaries])(std::int64_t n, const T* a, std::int64_t a_step, const T* b,
                            std::int64_t b_step, T* y);

  /// y[i] = f(x[i]), by Unary; y may be x. A value depends on x[i] alone, not on where it stands.
  void (*unary[kUnaries])(std::int64_t n, const T* x, T* y);

  // Of one row of n values without gaps; the result may lie where an operand lies.

  /// y = softmax of the allowed values and 0 for the others, zeros when none is or all are -inf;
  /// without `allowed`, all are.
  void (*softmax)(std::int64_t n, const T* x, const bool* allowed, T* y);
  /// dx = chain(g, y) - y sum chain(g, y)
  void (*softmax_pullback)(std::int64_t n, const T* g, const T* y, T* dx);
  /// y = x - ln sum e^x, and -inf where x is.
  void (*log_softmax)(std::int64_t n, const T* x, T* y);
  /// dx = h - chain(sum h, e^y), where h is g, but 0 where y is -inf.
  void (*log_softmax_pullback)(std::int64_t n, const T* g, const T* y, T* dx);
  /// -log_softmax(x)[target]
  double (*cross_entropy)(std::int64_t n, const T* x, std::int64_t target);
  /// dx = chain(g, softmax(x) - onehot(target))
  void (*cross_entropy_pullback)(std::int64_t n, const T* x, std::int64_t target, T g, T* dx);
};

/// The fastest kernels that this processor can run, or those that the environment's XTAPE_ISA
/// names; chosen once. Throws: std::invalid_argument for a name that is not there.
template <class T>
const Kernels<T>& kernels();

}  // namespace xtape::detail
