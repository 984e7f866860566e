// Kernels for x86 processors with AVX-512.
#include "isas.hpp"

#ifdef XTAPE_X86
#include "vector.hpp"

namespace xtape::detail {

Tables avx512_tables() { return tables<xsimd::avx512bw>("avx512"); }

}  // namespace xtape::detail
#endif
