// Random programs: one op after the other.
#include "support/program_draw.hpp"

#include <algorithm>

#include "support/program_choices.hpp"

namespace programs {

namespace {

const std::vector<Choice>& choices() {
  static const std::vector<Choice> all = [] {
    std::vector<Choice> both = computing_choices();
    const std::vector<Choice> moves = move_choices();
    both.insert(both.end(), moves.begin(), moves.end());
    return both;
  }();
  return all;
}

/// Inputs that a draw made and did not use.
Program without_idle_inputs(const Program& program) {
  const Ints unused = results(program);
  std::vector<bool> keep;
  for (Int i = 0; i < count(program.steps); ++i) {
    const bool idle = std::count(unused.begin(), unused.end(), first_value(program, i)) > 0;
    keep.push_back(!is_input(at(program.steps, i)) || !idle);
  }
  return without(program, keep);
}

}  // namespace

Program draw(std::uint64_t seed) {
  Growing g(seed);
  const Int ops = g.dice.between(5, 30);
  while (g.ops() < ops) {
    const Choice& choice = at(choices(), g.dice.between(0, count(choices()) - 1));
    try {
      g.add(choice.draw(g, choice.op));
    } catch (const Invalid&) {  // drawn again
    }
  }
  return without_idle_inputs(g.program);
}

std::uint64_t seed_of(std::uint64_t series, Int k) {
  return Dice(series * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(k)).next();
}

std::vector<std::string> drawn_ops() {
  std::vector<std::string> names;
  for (const Choice& choice : choices())
    if (names.empty() || names.back() != choice.op) names.push_back(choice.op);
  return names;
}

}  // namespace programs
