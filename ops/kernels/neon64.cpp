// Kernels for 64-bit ARM processors.
#include "isas.hpp"

#ifdef XTAPE_NEON64
#include "vector.hpp"

namespace xtape::detail {

Tables neon64_tables() { return tables<xsimd::neon64>("neon64"); }

}  // namespace xtape::detail
#endif
