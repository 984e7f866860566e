// Loops that several threads share.
#pragma once

#include <cstdint>

namespace xtape::detail {

/// How many threads are worth waking for `jobs` that take about so many nanoseconds together.
int threads_for(std::int64_t jobs, double nanoseconds) noexcept;

/// The number of the thread that runs a job, from 0 on.
int this_thread() noexcept;

/// Calls job(i) for 0 <= i < jobs, each once, in any order and at once where that pays. A job must
/// not throw, and write only what no other job reads or writes. A thread's share is fixed, and of
/// jobs that follow on each other: what it wrote for one op is in its cache when the next op reads.
template <class Job>
void parallel(std::int64_t jobs, [[maybe_unused]] double nanoseconds, const Job& job) {
#ifdef _OPENMP
  if (const int threads = threads_for(jobs, nanoseconds); threads > 1) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (std::int64_t i = 0; i < jobs; ++i) job(i);
    return;
  }
#endif
  (void)nanoseconds;
  for (std::int64_t i = 0; i < jobs; ++i) job(i);
}

/// The same for n values cut into blocks: job(begin, end).
template <class Job>
void parallel_blocks(std::int64_t n, double nanoseconds, const Job& job) {
  const std::int64_t most = n < 16 ? n : 16;  // enough to even out, whatever the number of threads
  const std::int64_t blocks = threads_for(most, nanoseconds) > 1 ? most : 1;
  parallel(blocks, nanoseconds, [&](std::int64_t i) { job(n * i / blocks, n * (i + 1) / blocks); });
}

}  // namespace xtape::detail
