// How many threads ops may use. The results have the same bits for any number.
#pragma once

#include <xtape/export.hpp>

namespace xtape {

/// Lets ops use up to n threads. Before the first call that is OpenMP's number: the environment's
/// OMP_NUM_THREADS, or the number of processors. Without OpenMP it stays 1.
/// Throws: std::invalid_argument for n < 1.
XTAPE_API void set_num_threads(int n);

/// The number of threads that ops may use.
XTAPE_API int num_threads() noexcept;

}  // namespace xtape
