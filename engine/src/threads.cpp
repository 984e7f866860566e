// The number of threads.
#include <xtape/threads.hpp>

#include <algorithm>
#include <atomic>
#include <string>

#include "storage.hpp"
#include "threads.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace xtape {

namespace {

std::atomic<int> limit{0};  // 0: as OpenMP says

}  // namespace

void set_num_threads(int n) {
  if (n < 1)
    detail::fail("set_num_threads", std::to_string(n) + " threads: at least 1 is required.");
  limit.store(n, std::memory_order_relaxed);
}

int num_threads() noexcept {
#ifdef _OPENMP
  const int n = limit.load(std::memory_order_relaxed);
  return n > 0 ? n : omp_get_max_threads();
#else
  return 1;
#endif
}

namespace detail {

int threads_for(std::int64_t jobs, double nanoseconds) noexcept {
#ifdef _OPENMP
  constexpr double kWorthwhile = 20000;  // for one thread: waking it takes some thousand
  if (jobs < 2 || nanoseconds < 2 * kWorthwhile || omp_in_parallel()) return 1;
  const double useful = std::min(static_cast<double>(jobs), nanoseconds / kWorthwhile);
  return static_cast<int>(std::min(useful, static_cast<double>(num_threads())));
#else
  (void)jobs, (void)nanoseconds;
  return 1;
#endif
}

int this_thread() noexcept {
#ifdef _OPENMP
  return omp_get_thread_num();
#else
  return 0;
#endif
}

}  // namespace detail

}  // namespace xtape
