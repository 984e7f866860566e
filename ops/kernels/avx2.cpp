// Kernels for x86 processors with AVX2 and fused multiply-add.
#include "isas.hpp"

#ifdef XTAPE_X86
#include "vector.hpp"

namespace xtape::detail {

Tables avx2_tables() { return tables<xsimd::fma3<xsimd::avx2>>("avx2"); }

}  // namespace xtape::detail
#endif
