// What runs here: versions, kernels, threads. To be printed with figures and in reports of faults.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include <xtape/export.hpp>

namespace xtape {

struct BuildInfo {
  std::string version;   ///< xtape's: "0.1.0".
  std::string compiler;  ///< "GCC 12.2.0"
  std::string xtensor;   ///< The versions it was built with.
  std::string xsimd;
  std::string isa;                ///< The kernels that run: "avx2".
  std::vector<std::string> isas;  ///< Those that this processor can run, the best first.
  bool openmp = false;            ///< Built with OpenMP: ops may use several threads.
  int threads = 1;                ///< How many: num_threads().
};

/// Throws: std::invalid_argument when the environment's XTAPE_ISA names no kernels that this
/// processor can run.
XTAPE_API BuildInfo build_info();

/// Three lines: `xtape 0.1.0 (GCC 12.2.0, xtensor 0.24.3, xsimd 8.1.0)`,
/// `kernels: avx2, of avx2, sse2, scalar`, `threads: 2, by OpenMP`.
XTAPE_API std::ostream& operator<<(std::ostream& out, const BuildInfo& info);

}  // namespace xtape
