// A tape as a page to step through, forward over its lines and backward from a target.
//
//   Tape<double> tape(Keep::values);  // so that every value can be shown
//   ...
//   std::ofstream("trace.html") << trace(tape, loss);
#pragma once

#include <string>

#include <xtape/tape.hpp>

namespace xtape {

/// One HTML file that needs no other, of at most 10 MB. Each line has its formulas, shapes, value
/// and cotangents, as far as the tape keeps them; tensors of more than 32 x 32 values a slice, or
/// fewer where the page would grow too large, are thinned, and say so.
/// Throws: std::invalid_argument when the target has more than one element, or the tape has too
/// many lines for one page; std::logic_error when the target does not stand on this tape.
template <class T>
XTAPE_API std::string trace(Tape<T>& tape, In<T> target, const std::string& title = "Tape");

}  // namespace xtape
