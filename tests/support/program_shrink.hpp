// Smaller programs that fail as a given one does.
#pragma once

#include <functional>

#include "support/program.hpp"

namespace programs {

/// Drops ops, shortens axes and rounds inputs as long as `fails` holds, which may throw Invalid for
/// a program that is none.
Program shrink(Program program, const std::function<bool(const Program&)>& fails);

}  // namespace programs
