// The whole text of what a call throws, for tests that pin it together with the exact type.
#pragma once

#include <exception>
#include <ostream>
#include <stdexcept>
#include <string>
#include <typeinfo>

namespace xtape::test {

/// The text of the `Error` that f() throws: not of a class derived from it, nor of another.
template <class Error, class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const std::exception& error) {
    return (typeid(error) == typeid(Error) ? "" : "of another type: ") + std::string(error.what());
  }
  return "nothing was thrown";
}

/// Bad arguments.
template <class F>
std::string invalid(F&& f) {
  return error_of<std::invalid_argument>(f);
}

/// Misuse of a tape.
template <class F>
std::string misuse(F&& f) {
  return error_of<std::logic_error>(f);
}

/// What follows a shape of more values than there can be: a sixteenth of 2^63, rounded down.
inline const std::string kUncountable =
    " has more values than can be counted: its lengths, those of 0 left out, may multiply to at "
    "most "
    "576460752303423487.";

}  // namespace xtape::test
