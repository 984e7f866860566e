// What a demo's user can mend.
#pragma once

#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

namespace demo {

/// A bad file, a bad option: one line on standard error, and exit code 2.
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline std::string last_system_error() { return std::generic_category().message(errno); }

}  // namespace demo
