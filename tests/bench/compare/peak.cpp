// The machine's part in compare.sh: a loop of fused multiply-adds that stay in registers, 10^9
// floating-point operations a run, split over the threads. Its rate is the peak.
#include "serve.hpp"
#ifdef _OPENMP
#include <omp.h>
#endif

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

namespace {

constexpr int kChains = 12;  // more than latency times ports, and with two constants fewer than 16

// A macro, since a template does not carry a target into what it calls.
#define FMA_LOOP(name, isa, T, V, set, fma, store)                                       \
  [[gnu::target(isa)]] T name(long steps) {                                              \
    const V x = set(T(0.999)), y = set(T(0.001));                                        \
    V a[kChains];                                                                        \
    for (int i = 0; i < kChains; ++i) a[i] = set(T(i));                                  \
    for (long s = 0; s < steps; ++s) {                                                   \
      _Pragma("GCC unroll 12") for (int i = 0; i < kChains; ++i) a[i] = fma(a[i], x, y); \
    }                                                                                    \
    alignas(64) T lanes[sizeof(V) / sizeof(T)];                                          \
    T sum = 0;                                                                           \
    for (int i = 0; i < kChains; ++i) store(lanes, a[i]), sum += lanes[0];               \
    return sum;                                                                          \
  }
FMA_LOOP(avx512_f32, "avx512f", float, __m512, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_store_ps)
FMA_LOOP(avx512_f64, "avx512f", double, __m512d, _mm512_set1_pd, _mm512_fmadd_pd, _mm512_store_pd)
FMA_LOOP(avx2_f32, "avx2,fma", float, __m256, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_store_ps)
FMA_LOOP(avx2_f64, "avx2,fma", double, __m256d, _mm256_set1_pd, _mm256_fmadd_pd, _mm256_store_pd)

template <class T>
void run(T (*loop)(long), long lanes) {
  long threads = 1;
#ifdef _OPENMP
  threads = omp_get_max_threads();
#endif
  const long steps = 1000000000 / (2 * kChains * lanes * threads);
  std::vector<T> sums(static_cast<std::size_t>(threads));
#ifdef _OPENMP
#pragma omp parallel for
#endif
  for (long i = 0; i < threads; ++i) sums[static_cast<std::size_t>(i)] = loop(steps);
  [[maybe_unused]] volatile T used = sums[0];
}

}  // namespace

int main() {
  const bool wide = __builtin_cpu_supports("avx512f");
  const bool fused = wide || (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  return serve(wide ? "AVX-512" : "AVX2", [=](const Request& r) -> Case {
    const auto with = [](auto loop, long lanes) {
      return Case{[=] { run(loop, lanes); }, [](const std::string&) {}};
    };
    if (!fused) throw std::runtime_error("neither AVX-512 nor AVX2 with FMA");
    if (r.dtype == "f32") return wide ? with(avx512_f32, 16) : with(avx2_f32, 8);
    return wide ? with(avx512_f64, 8) : with(avx2_f64, 4);
  });
}

#else

int main() {
  return serve("unknown",
               [](const Request&) -> Case { throw std::runtime_error("written for x86-64 only"); });
}

#endif
