// Kernels for x86 processors with AVX-512.
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 suspects the undefined operands of its own intrinsics.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include "isas.hpp"

#ifdef XTAPE_X86
#include "vector.hpp"

namespace xtape::detail {

Tables avx512_tables() { return tables<xsimd::avx512bw>("avx512"); }

}  // namespace xtape::detail
#endif
