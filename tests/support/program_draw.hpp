// Random programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/program.hpp"

namespace programs {

/// A program of 5 to 30 ops, the same each time for a seed. All its steps can be evaluated,
/// far from kinks.
Program draw(std::uint64_t seed);

/// The seed of the k-th program of a series.
std::uint64_t seed_of(std::uint64_t series, Int k);

/// The names of all ops that may be drawn.
std::vector<std::string> drawn_ops();

}  // namespace programs
