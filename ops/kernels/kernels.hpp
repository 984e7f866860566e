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
  exp2,
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
inline constexpr int kUnaries = 16;

/// One head of fused attention, ordinary (maps = 1) or differential (maps = 2). All pointers are to
/// the head's first value; outputs and gradients are dense.
template <class T>
struct Head {
  std::int64_t queries, keys, depth, width;  // Tq, Tk, D, Dv
  int maps;
  Strided<T> q[2];       // [Tq, D], rows dense
  Strided<T> k[2];       // [Tk, D]
  Strided<T> value;      // [Tk, Dv]
  const T* coefficient;  // of a query, coefficient_step apart
  std::int64_t coefficient_step;
  bool causal;          // key j is visible to query i when j <= i + Tk - Tq
  const bool* allowed;  // null, or true where query i may attend to key j
  std::int64_t allowed_row, allowed_column;

  T* out;    // [Tq, Dv]
  T* stats;  // [maps, 2, Tq]: each query's largest score, and 1 / (sum of its exponentials)

  // The backward pass alone.
  Strided<T> g;          // [Tq, Dv], the cotangent of out, rows dense
  T* dq[2];              // [Tq, D]
  T* dk[2];              // [Tk, D], added to
  T* dvalue;             // [Tk, Dv], added to
  double* dcoefficient;  // [Tq]
};

/// The queries of a head that are worked on at once.
constexpr std::int64_t kAttentionRows = 64;  // not inline: a reference to it needs no symbol

/// The values of scratch that the passes over a head need.
template <class T>
std::int64_t attention_scratch(const Head<T>& head, bool backward) {
  const auto padded = [](std::int64_t n) { return n + 32; };
  const std::int64_t rows = kAttentionRows, keys = padded(head.keys), depth = padded(head.depth),
                     width = padded(head.width);
  if (!backward) return 2 * rows * keys + 2 * depth * keys + keys * width;
  return 3 * rows * keys + 4 * depth * keys + keys * width + rows * (2 * depth + width);
}

template <class T>
struct Kernels {
  const char* isa;

  /// c = a b. a: [m, k]  b: [k, n]  c: [m, n], overwritten; zeros when k = 0. c's rows are dense
  /// and lie c_row apart. scratch: matmul_scratch(n, k, a) values.
  void (*matmul)(std::int64_t m, std::int64_t n, std::int64_t k, const Strided<T>& a,
                 const Strided<T>& b, T* c, std::int64_t c_row, T* scratch);

  /// y[i] = f(a[i * a_step], b[i * b_step]), by Binary; steps are 0 or 1.
  void (*binary[kBinaries])(std::int64_t n, const T* a, std::int64_t a_step, const T* b,
                            std::int64_t b_step, T* y);

  /// y[i] = which[i] ? a[i * a_step] : b[i * b_step]; steps are 0 or 1.
  void (*select)(std::int64_t n, const bool* which, const T* a, std::int64_t a_step, const T* b,
                 std::int64_t b_step, T* y);

  /// y[i] = f(x[i]), by Unary; y may be x. A value depends on x[i] alone, not on where it stands.
  void (*unary[kUnaries])(std::int64_t n, const T* x, T* y);

  /// Fused attention for the queries from `begin` up to `end` of a head.
  void (*attention)(const Head<T>& head, std::int64_t begin, std::int64_t end, T* scratch);
  /// Its gradients, from the stats of the forward pass.
  void (*attention_gradient)(const Head<T>& head, std::int64_t begin, std::int64_t end, T* scratch);

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

  /// y = c r gain + bias, r = (mean c^2 + epsilon)^(-1/2), where c = x - mean x when centred, else
  /// x. gain and bias may be null; n > 0.
  void (*norm)(std::int64_t n, const T* x, bool centred, const T* gain, const T* bias,
               double epsilon, T* y);
  /// dx = r (h - mean h - c r^2 mean(h c)), h = g gain, without mean h when not centred; 0 where g
  /// is 0 all over. dgain += chain(g, c r), dbias += g, unless null.
  void (*norm_pullback)(std::int64_t n, const T* g, const T* x, bool centred, const T* gain,
                        double epsilon, T* dx, double* dgain, double* dbias);

  // Of n values each.

  /// y = silu(gate) up
  void (*swiglu)(std::int64_t n, const T* gate, const T* up, T* y);
  /// dgate = chain(chain(g, up), silu'(gate)), dup = chain(g, silu(gate))
  void (*swiglu_pullback)(std::int64_t n, const T* g, const T* gate, const T* up, T* dgate, T* dup);
};

/// The fastest kernels that this processor can run, or those that the environment's XTAPE_ISA
/// names; chosen once. Throws: std::invalid_argument for a name that is not there.
template <class T>
const Kernels<T>& kernels();

}  // namespace xtape::detail
