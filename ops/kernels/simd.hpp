// The only file that includes xsimd: vectors of one kind of processor, and what differs between
// xsimd's versions. It is included by the files that are compiled for one kind of processor each;
// all that it defines is local to them, since the linker must never take a function compiled for
// one processor where another runs.
#pragma once

#include <cstdint>

#include <xsimd/xsimd.hpp>

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

/// Asks for the cache line at a place that will be read soon; it may be any place.
inline void prefetch(const void* at) {
#if defined(__GNUC__)
  __builtin_prefetch(at);
#elif defined(_M_X64)
  _mm_prefetch(static_cast<const char*>(at), _MM_HINT_T0);
#else
  (void)at;
#endif
}

/// x y + z, rounded once where the processor can.
template <class T, class Isa>
xsimd::batch<T, Isa> multiply_add(xsimd::batch<T, Isa> x, xsimd::batch<T, Isa> y,
                                  xsimd::batch<T, Isa> z) {
  if constexpr (!std::is_base_of_v<xsimd::avx512f, Isa>) return xsimd::fma(x, y, z);
#ifdef __AVX512F__  // xsimd 8.1 rounds twice there
  else if constexpr (std::is_same_v<T, float>)
    return _mm512_fmadd_ps(x, y, z);
  else
    return _mm512_fmadd_pd(x, y, z);
#endif
}

}  // namespace
}  // namespace xtape::detail
