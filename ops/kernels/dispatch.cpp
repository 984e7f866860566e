// Which kernels run: the best that the processor and the operating system support.
#include "dispatch.hpp"

#include <cstdlib>
#include <stdexcept>

#include "isas.hpp"

#ifdef _MSC_VER
#include <intrin.h>
#endif

namespace xtape::detail {

namespace {

bool always() { return true; }

#ifdef XTAPE_X86
#ifdef _MSC_VER
/// A bit of CPUID's leaf 7, where the operating system saves the registers of `state`.
bool has(int bit, unsigned long long state) {
  int leaf[4];
  __cpuid(leaf, 1);
  const bool saves = leaf[2] & (1 << 27);
  __cpuidex(leaf, 7, 0);
  return saves && (_xgetbv(0) & state) == state && leaf[1] & (1 << bit);
}
bool has_avx2() { return has(5, 0x6); }  // every processor with AVX2 has FMA
bool has_avx512() {
  return has(16, 0xe6) && has(17, 0xe6) && has(28, 0xe6) && has(30, 0xe6) && has(31, 0xe6);
}
#else
// The compiler's library asks the operating system too.
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl");
}
#endif
#endif

struct Isa {
  const char* name;
  bool (*supported)();
  Tables (*tables)();
};

/// The best first.
constexpr Isa kIsas[] = {
#ifdef XTAPE_X86
    {"avx512", has_avx512, avx512_tables}, {"avx2", has_avx2, avx2_tables},
    {"sse2", always, sse2_tables},
#endif
#ifdef XTAPE_NEON64
    {"neon64", always, neon64_tables},
#endif
    {"scalar", always, scalar_tables},
};

Tables choose() {
  const char* set = std::getenv("XTAPE_ISA");
  const std::string wanted = set ? set : "";
  std::string names;
  for (const Isa& isa : kIsas) {
    if (!isa.supported()) continue;
    if (wanted.empty() || wanted == isa.name) return isa.tables();
    names += (names.empty() ? "" : ", ") + std::string(isa.name);
  }
  throw std::invalid_argument("[XTAPE_ISA] '" + wanted + "': one of " + names +
                              " is required on this processor.");
}

const Tables& chosen() {
  static const Tables tables = choose();
  return tables;
}

}  // namespace

std::vector<std::string> isas() {
  std::vector<std::string> names;
  for (const Isa& isa : kIsas)
    if (isa.supported()) names.push_back(isa.name);
  return names;
}

template <>
const Kernels<float>& kernels() {
  return chosen().f32;
}
template <>
const Kernels<double>& kernels() {
  return chosen().f64;
}

}  // namespace xtape::detail
