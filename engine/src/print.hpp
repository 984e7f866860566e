// The parts of a tape's line as text.
#pragma once

#include <cstdint>
#include <string>

#include <xtape/tape.hpp>

namespace xtape::detail {

/// `matmul(%0:w, %1)`
template <class T>
std::string call_text(const Tape<T>& tape, std::int64_t line);

/// `f64[2, 3]`
template <class T>
std::string type_text(const Node<T>& node);

}  // namespace xtape::detail
