// What is said of a random program that fails.
#include "support/program_draw.hpp"
#include "support/program_shrink.hpp"
#include "support/program_xtape.hpp"

namespace programs {

std::string report(std::uint64_t seed) {
  const Program program = draw(seed);
  // Rounded inputs may be equal, where differences mean nothing: what fails without them is shrunk
  // without them.
  for (const auto comparison : {compare, compare_differences}) {
    const std::string found = comparison(program);
    if (found.empty()) continue;
    const Program small =
        shrink(program, [&](const Program& candidate) { return !comparison(candidate).empty(); });
    return "// The program of seed " + std::to_string(seed) + " fails: " + found +
           "\n// Shrunk: " + comparison(small) + "\n" + source_file({small});
  }
  return "";
}

}  // namespace programs
