// Kernels for every 64-bit x86 processor.
#include "isas.hpp"

#ifdef XTAPE_X86
#include "vector.hpp"

namespace xtape::detail {

Tables sse2_tables() { return tables<xsimd::sse2>("sse2"); }

}  // namespace xtape::detail
#endif
