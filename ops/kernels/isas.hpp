// The tables that there may be, one object file each.
#pragma once

#include "kernels.hpp"

#if defined(__x86_64__) || defined(_M_X64)
#define XTAPE_X86
#elif defined(__aarch64__) || defined(_M_ARM64)
#define XTAPE_NEON64
#endif

namespace xtape::detail {

/// One kind of processor's kernels for both types.
struct Tables {
  const Kernels<float>& f32;
  const Kernels<double>& f64;
};

Tables scalar_tables();
#ifdef XTAPE_X86
Tables sse2_tables();
Tables avx2_tables();
Tables avx512_tables();
#endif
#ifdef XTAPE_NEON64
Tables neon64_tables();
#endif

}  // namespace xtape::detail
