// What the dispatcher knows of this processor.
#pragma once

#include <string>
#include <vector>

namespace xtape::detail {

/// The names of the tables that this processor can run, the best first.
std::vector<std::string> isas();

/// The version of xsimd that the kernels are made with.
std::string xsimd_version();

}  // namespace xtape::detail
