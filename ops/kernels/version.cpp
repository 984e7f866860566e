// The version of xsimd.
#include "dispatch.hpp"
#include "isas.hpp"
#if defined(XTAPE_X86) || defined(XTAPE_NEON64)
#include "simd.hpp"
#endif

namespace xtape::detail {

std::string xsimd_version() {
#ifdef XSIMD_VERSION_MAJOR
  return std::to_string(XSIMD_VERSION_MAJOR) + '.' + std::to_string(XSIMD_VERSION_MINOR) + '.' +
         std::to_string(XSIMD_VERSION_PATCH);
#else
  return "not used";  // there are plain kernels only
#endif
}

}  // namespace xtape::detail
