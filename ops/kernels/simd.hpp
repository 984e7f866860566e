// The only file that includes xsimd: vectors of one kind of processor, and what differs between
// xsimd's versions. It is included by the files that are compiled for one kind of processor each;
// all that it defines is local to them, since the linker must never take a function compiled for
// one processor where another runs.
#pragma once

#include <cstdint>
#include <type_traits>

#include <xsimd/xsimd.hpp>

#include "registers.hpp"

// For functions that are written for a compiler's sake: one that it must not put into its callers,
// and one that it must put all into, however large, so that arrays of vectors become registers.
#if defined(__GNUC__)
#define XTAPE_NOINLINE [[gnu::noinline]]
#define XTAPE_FLATTEN [[gnu::flatten]]
#elif defined(_MSC_VER)
#define XTAPE_NOINLINE __declspec(noinline)
#define XTAPE_FLATTEN
#else
#define XTAPE_NOINLINE
#define XTAPE_FLATTEN
#endif

namespace xtape::detail {
namespace {

template <class T, class Isa>
using Vector = xsimd::batch<T, Isa>;

template <class V>
inline constexpr std::int64_t kWidth = static_cast<std::int64_t>(V::size);

/// Vector registers: of AVX-512 and of 64-bit ARM 32, of the others 16.
template <class Isa>
inline constexpr int kRegisters =
    std::is_base_of_v<xsimd::avx512f, Isa> || std::is_base_of_v<xsimd::neon64, Isa> ? 32 : 16;

template <class V, class T>
V load(const T* from) {
  return V::load_unaligned(from);
}

template <class V, class T>
void store(V v, T* to) {
  v.store_unaligned(to);
}

/// Asks for the cache line at a place that will soon be read, or written; it may be any place.
inline void prefetch(const void* at) {
#if defined(__GNUC__)
  __builtin_prefetch(at);
#elif defined(_M_X64)
  _mm_prefetch(static_cast<const char*>(at), _MM_HINT_T0);
#else
  (void)at;
#endif
}
inline void prefetch_to_write(const void* at) {
#if defined(__GNUC__)
  __builtin_prefetch(at, 1);
#else
  prefetch(at);
#endif
}

/// x y + z, rounded once where the processor can.
template <class T, class Isa>
xsimd::batch<T, Isa> multiply_add(xsimd::batch<T, Isa> x, xsimd::batch<T, Isa> y,
                                  xsimd::batch<T, Isa> z) {
#ifdef __AVX512F__
  if constexpr (std::is_base_of_v<xsimd::avx512f, Isa>)
    return fused(x, y, z);
  else
#endif
    return xsimd::fma(x, y, z);
}

template <class V>
using Register = typename V::register_type;

/// The smaller and the larger of two, and y where either is NaN. (On ARM NaN; xsimd's order of
/// operands differs between its versions.)
template <class T, class Isa>
xsimd::batch<T, Isa> smaller(xsimd::batch<T, Isa> x, xsimd::batch<T, Isa> y) {
  using V = xsimd::batch<T, Isa>;
  return least(Register<V>(x), Register<V>(y));
}
template <class T, class Isa>
xsimd::batch<T, Isa> larger(xsimd::batch<T, Isa> x, xsimd::batch<T, Isa> y) {
  using V = xsimd::batch<T, Isa>;
  return greatest(Register<V>(x), Register<V>(y));
}

/// f of all values of a vector, in every place of the result. f(x, y) is f(y, x).
template <int kApart = 1, class V, class F>
V folded(V v, const F& f) {
  if constexpr (kApart < kWidth<V>)
    return folded<2 * kApart>(f(v, V(swapped<kApart>(Register<V>(v)))), f);
  else
    return v;
}
template <class V>
V sum_of(V v) {
  return folded(v, [](V x, V y) { return x + y; });
}
template <class V>
V largest_of(V v) {
  return folded(v, [](V x, V y) { return larger(x, y); });
}

/// A vector's first value.
template <class V>
typename V::value_type first_of(V v) {
  typename V::value_type values[kWidth<V>];
  store(v, values);
  return values[0];
}

/// The bits of each value as a whole number, and back.
template <class T>
using Bits = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;

template <class T, class Isa>
xsimd::batch<Bits<T>, Isa> to_bits(xsimd::batch<T, Isa> x) {
#if XSIMD_VERSION_MAJOR < 11
  return xsimd::bitwise_cast<xsimd::batch<Bits<T>, Isa>>(x);
#else
  return xsimd::bitwise_cast<Bits<T>>(x);
#endif
}
template <class T, class Isa>
xsimd::batch<T, Isa> from_bits(xsimd::batch<Bits<T>, Isa> x) {
#if XSIMD_VERSION_MAJOR < 11
  return xsimd::bitwise_cast<xsimd::batch<T, Isa>>(x);
#else
  return xsimd::bitwise_cast<T>(x);
#endif
}

/// What must be known of a type's format.
template <class T>
struct Format;
template <>
struct Format<float> {
  static constexpr int kDigits = 23;  // of the fraction
  static constexpr Bits<float> kBias = 127;
  static constexpr Bits<float> kSign = 0x80000000;
  // Adding it rounds to a whole number, which the last bits then hold; taking it away gives that.
  static constexpr float kRound = 12582912;  // 1.5 2^23
};
template <>
struct Format<double> {
  static constexpr int kDigits = 52;
  static constexpr Bits<double> kBias = 1023;
  static constexpr Bits<double> kSign = 0x8000000000000000;
  static constexpr double kRound = 6755399441055744;  // 1.5 2^52
};

/// x 2^n, rounded once; n is whole, and 2^(n/2) neither overflows nor underflows.
template <class T, class Isa>
xsimd::batch<T, Isa> scale(xsimd::batch<T, Isa> x, xsimd::batch<T, Isa> n) {
  using V = xsimd::batch<T, Isa>;
#ifdef __AVX512F__
  if constexpr (std::is_base_of_v<xsimd::avx512f, Isa>)
    return scaled(Register<V>(x), Register<V>(n));
  else
#endif
  {
    // In two steps: of the first, only exact, the second cannot take digits twice.
    using F = Format<T>;
    const V shift(F::kRound + T(F::kBias));  // the last bits are then an exponent
    const V half = multiply_add(n, V(T(0.5)), shift), rest = n - (half - shift) + shift;
    return x * from_bits<T, Isa>(to_bits(half) << F::kDigits) *
           from_bits<T, Isa>(to_bits(rest) << F::kDigits);
  }
}

/// x / y and the square root as IEEE has them: xsimd 8.1 approximates them for float on ARM.
template <class T, class Isa>
xsimd::batch<T, Isa> divide(xsimd::batch<T, Isa> x, xsimd::batch<T, Isa> y) {
#ifdef __aarch64__
  if constexpr (std::is_same_v<T, float>) return vdivq_f32(x, y);
#endif
  return x / y;
}
template <class T, class Isa>
xsimd::batch<T, Isa> square_root(xsimd::batch<T, Isa> x) {
#ifdef __aarch64__
  if constexpr (std::is_same_v<T, float>) return vsqrtq_f32(x);
#endif
  return xsimd::sqrt(x);
}

}  // namespace
}  // namespace xtape::detail
