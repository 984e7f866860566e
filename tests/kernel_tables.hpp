// The tables of kernels that this processor can run, for the tests that compare them.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "dispatch.hpp"
#include "isas.hpp"

namespace {

using namespace xtape::detail;

template <class T>
const Kernels<T>& of(const Tables& tables) {
  if constexpr (std::is_same_v<T, float>)
    return tables.f32;
  else
    return tables.f64;
}

/// The tables that are to be compared with the plain ones.
std::vector<Tables> vector_tables() {
  std::vector<Tables> result;
  for (const std::string& isa : isas()) {
#ifdef XTAPE_X86
    if (isa == "sse2") result.push_back(sse2_tables());
    if (isa == "avx2") result.push_back(avx2_tables());
    if (isa == "avx512") result.push_back(avx512_tables());
#endif
#ifdef XTAPE_NEON64
    if (isa == "neon64") result.push_back(neon64_tables());
#endif
  }
  return result;
}

}  // namespace
