// What runs here. CMake defines XTAPE_VERSION.
#include <xtape/build_info.hpp>

#include <ostream>

#include <xtape/threads.hpp>

#include "dispatch.hpp"
#include "kernels.hpp"
#include "xt.hpp"

namespace xtape {

namespace {

std::string dotted(long long major, long long minor, long long patch) {
  return std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(patch);
}

std::string compiler() {
#if defined(__clang__)
  return "Clang " + dotted(__clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  return "GCC " + dotted(__GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#elif defined(_MSC_VER)
  return "MSVC " + dotted(_MSC_VER / 100, _MSC_VER % 100, _MSC_FULL_VER % 100000);
#else
  return "unknown compiler";
#endif
}

}  // namespace

BuildInfo build_info() {
  BuildInfo info;
  info.version = XTAPE_VERSION;
  info.compiler = compiler();
  info.xtensor = dotted(XTENSOR_VERSION_MAJOR, XTENSOR_VERSION_MINOR, XTENSOR_VERSION_PATCH);
  info.xsimd = detail::xsimd_version();
  info.isa = detail::kernels<float>().isa;
  info.isas = detail::isas();
#ifdef _OPENMP
  info.openmp = true;
#endif
  info.threads = num_threads();
  return info;
}

std::ostream& operator<<(std::ostream& out, const BuildInfo& info) {
  out << "xtape " << info.version << " (" << info.compiler << ", xtensor " << info.xtensor
      << ", xsimd " << info.xsimd << ")\nkernels: " << info.isa << ", of ";
  for (std::size_t i = 0; i < info.isas.size(); ++i) out << (i == 0 ? "" : ", ") << info.isas[i];
  return out << "\nthreads: " << info.threads << (info.openmp ? ", by OpenMP\n" : ", no OpenMP\n");
}

}  // namespace xtape
