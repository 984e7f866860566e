// The ops that random programs are made of, and how each is drawn.
#pragma once

#include <string>
#include <vector>

#include "support/program_source.hpp"

namespace programs {

/// An op, and what draws a step of it. That throws Invalid when the draw does not fit.
struct Choice {
  std::string op;
  Step (*draw)(Growing& g, const std::string& op);
};

/// Ops that compute, and ops that move values. One that stands twice is drawn twice as often.
std::vector<Choice> computing_choices();
std::vector<Choice> move_choices();

Ints all_axes(Int rank);
/// Puts a list {every, axes...} behind the numbers.
void put_axes(Growing& g, Int rank, const Ints& candidates, Ints& numbers);
/// Puts positions below `size` for each place of a shape behind the numbers.
void put_positions(Growing& g, const Ints& shape, Int size, Ints& numbers);

}  // namespace programs
