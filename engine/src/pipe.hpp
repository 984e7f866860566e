// Programs that draw: Graphviz, gnuplot.
#pragma once

#include <string>

namespace xtape::detail {

/// What a shell command writes on its standard output when given `input`: empty when it cannot be
/// run or fails.
std::string output_of(const std::string& command, const std::string& input);

/// The part of an SVG file that may stand inside a page: from its <svg on.
std::string svg_element(const std::string& file);

}  // namespace xtape::detail
