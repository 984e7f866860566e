// The version of xsimd.
#include "dispatch.hpp"
#include "simd.hpp"

namespace xtape::detail {

std::string xsimd_version() {
  return std::to_string(XSIMD_VERSION_MAJOR) + '.' + std::to_string(XSIMD_VERSION_MINOR) + '.' +
         std::to_string(XSIMD_VERSION_PATCH);
}

}  // namespace xtape::detail
