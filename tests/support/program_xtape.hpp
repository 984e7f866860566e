// Programs run by xtape, compared with the evaluator, and written as code for xtape.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/program.hpp"

namespace programs {

/// What xtape computes.
struct Run {
  std::vector<Plain> values;     // of every step
  std::vector<Plain> gradients;  // of the result, with respect to each variable
};

/// Runs a program on a tape. Throws: std::logic_error when a second, consuming sweep gives other
/// gradients than the first; and whatever xtape throws.
Run run(const Program& program);

/// Empty when xtape agrees with the evaluator, else what differs. Throws: Invalid when the
/// evaluator cannot run the program.
std::string compare(const Program& program);
/// Empty when xtape agrees with central differences, which the evaluator takes of its own results.
std::string compare_differences(const Program& program);

/// A C++ function without arguments that runs the program and prints what is not as expected.
std::string code(const Program& program, const std::string& name);

/// A whole source file that runs such functions one after the other.
std::string source_file(const std::vector<Program>& programs);

/// Both comparisons of the program of a seed: empty when all agrees, else what differs, and a
/// source file with a smaller program that fails like it.
std::string report(std::uint64_t seed);

}  // namespace programs
