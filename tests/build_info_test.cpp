// What the library says of itself.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include <xtape/xtape.hpp>

using namespace xtape;

namespace {

/// True for `1.2.3`.
bool is_dotted(const std::string& text) {
  unsigned major, minor, patch;
  int end = 0;
  const int found = std::sscanf(text.c_str(), "%u.%u.%u%n", &major, &minor, &patch, &end);
  return found == 3 && end == static_cast<int>(text.size());
}

}  // namespace

TEST_CASE("build_info tells versions, kernels and threads") {
  const BuildInfo info = build_info();
  CHECK(is_dotted(info.version));
  CHECK(is_dotted(info.xtensor));
  CHECK(is_dotted(info.xsimd));
  const std::size_t space = info.compiler.find(' ');
  const std::string compiler = info.compiler.substr(0, space);
  CHECK((compiler == "GCC" || compiler == "Clang" || compiler == "MSVC"));
  CHECK(is_dotted(info.compiler.substr(space + 1)));
  REQUIRE(!info.isas.empty());
  CHECK(info.isas.back() == "scalar");
  CHECK(std::count(info.isas.begin(), info.isas.end(), info.isa) == 1);
  const char* const wanted = std::getenv("XTAPE_ISA");
  CHECK(info.isa == (wanted && *wanted ? wanted : info.isas[0]));
  CHECK(info.threads == num_threads());
  if (!info.openmp) CHECK(info.threads == 1);
}

TEST_CASE("build_info prints three lines") {
  BuildInfo info;
  info.version = "0.1.0", info.compiler = "GCC 12.2.0";
  info.xtensor = "0.24.3", info.xsimd = "8.1.0";
  info.isa = "sse2", info.isas = {"avx2", "sse2", "scalar"};
  info.openmp = true, info.threads = 2;
  std::ostringstream out;
  out << info;
  CHECK(out.str() ==
        "xtape 0.1.0 (GCC 12.2.0, xtensor 0.24.3, xsimd 8.1.0)\n"
        "kernels: sse2, of avx2, sse2, scalar\n"
        "threads: 2, by OpenMP\n");
  out.str("");
  info.openmp = false, info.threads = 1;
  out << info;
  CHECK(out.str().substr(out.str().find("threads")) == "threads: 1, no OpenMP\n");
}
