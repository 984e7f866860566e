// How the operands and the numbers of ops are drawn that move values or give them other axes.
#include <algorithm>
#include <utility>

#include "support/program_choices.hpp"

namespace programs {

namespace {

Step squeeze(Growing& g, const std::string& op) {
  Step step{op,
            {g.find_or([](const Plain& x) { return std::count(x.shape.begin(), x.shape.end(), 1); },
                       {1, g.dice.length(), 1})}};
  const Ints& shape = g.shape(step.from[0]);
  Ints ones;
  for (Int i = 0; i < count(shape); ++i)
    if (at(shape, i) == 1) ones.push_back(i);
  put_axes(g, count(shape), ones, step.numbers);
  return step;
}

Step flip(Growing& g, const std::string& op) {
  Step step{op, {g.any(1)}};
  put_axes(g, g.rank(step.from[0]), all_axes(g.rank(step.from[0])), step.numbers);
  return step;
}

Step reshape(Growing& g, const std::string& op) {
  const Int x = g.any();
  Int left = size_of(g.shape(x));
  Ints shape;
  for (Int length = 2; length <= 4 && left > 1; ++length)
    while (left % length == 0 && (shape.empty() || g.dice.chance(0.7))) {
      shape.push_back(length);
      left /= length;
    }
  if (left != 1) shape.push_back(left);
  while (count(shape) < kMostAxes && g.dice.chance(0.3)) shape.push_back(1);
  for (Int i = count(shape) - 1; i > 0; --i)
    std::swap(at(shape, i), at(shape, g.dice.between(0, i)));
  if (!shape.empty() && left != 0 && g.dice.chance(0.3))
    at(shape, g.dice.between(0, count(shape) - 1)) = -1;
  return {op, {x}, shape};
}

Step transpose(Growing& g, const std::string& op) {
  if (g.dice.chance(0.4)) return {op, {g.any(2)}};
  const Int x = g.any(2), rank = g.rank(x);
  Ints order = all_axes(rank);
  for (Int i = rank - 1; i > 0; --i) std::swap(at(order, i), at(order, g.dice.between(0, i)));
  return {op, {x}, order};
}

Step unsqueeze(Growing& g, const std::string& op) {
  const Int x = g.any();
  return {op, {x}, {g.dice.axis(g.rank(x) + 1)}};
}

Int length_along(const Growing& g, Int x, Int axis) {
  return at(g.shape(x), axis < 0 ? axis + g.rank(x) : axis);
}

Step slice(Growing& g, const std::string& op) {
  const Int x = g.any(1), axis = g.dice.axis(g.rank(x)), n = length_along(g, x, axis);
  return {
      op, {x}, {axis, g.dice.between(-n - 1, n), g.dice.between(-1, n + 1), g.dice.between(1, 3)}};
}

Step unslice(Growing& g, const std::string& op) {
  const Int x = g.any(1), axis = g.dice.axis(g.rank(x)), n = length_along(g, x, axis);
  const Int start = g.dice.between(0, 2), step = g.dice.between(1, 3);
  const Int least = start + (n > 0 ? (n - 1) * step + 1 : 0);
  return {op, {x}, {axis, start, least + g.dice.between(0, 2), step}};
}

Step split(Growing& g, const std::string& op) {
  const Int x = g.any(1);
  Step step{op, {x}, {g.dice.axis(g.rank(x))}};
  Int left = length_along(g, x, step.numbers[0]);
  while (left > 0 && step.numbers.size() < 4) {
    step.numbers.push_back(g.dice.between(0, left));
    left -= step.numbers.back();
  }
  step.numbers.push_back(left);
  step.outputs = count(step.numbers) - 1;
  return step;
}

Step unstack(Growing& g, const std::string& op) {
  const Int x = g.any(1), axis = g.dice.axis(g.rank(x));
  Step step{op, {x}, {axis}};
  step.outputs = length_along(g, x, axis);
  if (step.outputs == 0) throw Invalid("an output");
  return step;
}

/// Some values that are joined; one may come twice. A new axis for stack, else one they have.
Step join(Growing& g, const std::string& op) {
  const bool stack = op == "stack";
  const Int x = g.any(stack ? 0 : 1), rank = g.rank(x);
  const Int axis = g.dice.axis(stack ? rank + 1 : rank);
  Step step{op, {x}, {axis}};
  for (Int n = g.dice.between(0, 2); n > 0; --n) {
    Ints shape = g.shape(x);
    const auto fits = [&](const Plain& y) {
      if (y.shape.size() != shape.size()) return false;
      for (Int i = 0; i < rank; ++i)
        if (at(y.shape, i) != at(shape, i) && (stack || i != (axis + rank) % rank)) return false;
      return true;
    };
    if (!stack) at(shape, (axis + rank) % rank) = g.dice.length();
    step.from.push_back(g.find_or(fits, shape));
  }
  std::swap(step.from.front(), at(step.from, g.dice.between(0, count(step.from) - 1)));
  return step;
}

Step broadcast_to(Growing& g, const std::string& op) {
  const Int x = g.any();
  Ints shape = g.shape(x);
  for (Int& length : shape)
    if (length == 1) length = g.dice.length();
  while (g.dice.chance(0.4)) shape.insert(shape.begin(), g.dice.length());
  return {op, {x}, shape};
}

Step gather(Growing& g, const std::string& op) {
  const Int x = g.any(1), axis = g.dice.axis(g.rank(x));
  const Ints shape = g.dice.shape(g.dice.between(0, 2));
  Step step{op, {x}, {axis, count(shape)}};
  step.numbers.insert(step.numbers.end(), shape.begin(), shape.end());
  put_positions(g, shape, length_along(g, x, axis), step.numbers);
  return step;
}

Step scatter_add(Growing& g, const std::string& op) {
  const Int x = g.any(), rank = g.rank(x);
  const Int first = g.dice.between(0, rank),
            last = g.dice.between(first, std::min(rank, first + 2));
  const Ints shape(g.shape(x).begin() + first, g.shape(x).begin() + last);
  const Int size = g.dice.between(1, 4);
  Step step{op, {x}, {first, size, count(shape)}};
  step.numbers.insert(step.numbers.end(), shape.begin(), shape.end());
  put_positions(g, shape, size, step.numbers);
  return step;
}

Step take_along_axis(Growing& g, const std::string& op) {
  const Int x = g.any(1), axis = g.dice.axis(g.rank(x)), n = g.dice.length();
  Ints shape = g.shape(x);
  at(shape, axis < 0 ? axis + g.rank(x) : axis) = n;
  Step step{op, {x}, {axis, n}};
  put_positions(g, shape, length_along(g, x, axis), step.numbers);
  return step;
}

Step pad(Growing& g, const std::string& op) {
  Step step{op, {g.any()}, {}, {g.dice.chance(0.5) ? 0 : g.dice.real(-1, 1)}};
  for (Int i = 2 * g.rank(step.from[0]); i > 0; --i)
    step.numbers.push_back(g.dice.chance(0.6) ? 0 : g.dice.between(1, 2));
  return step;
}

Step triangle(Growing& g, const std::string& op) {
  return {op, {g.any(2)}, {g.dice.between(-2, 2)}};
}

}  // namespace

std::vector<Choice> move_choices() {
  return {
      {"reshape", reshape},
      {"transpose", transpose},
      {"transpose", transpose},
      {"unsqueeze", unsqueeze},
      {"squeeze", squeeze},
      {"slice", slice},
      {"slice", slice},
      {"unslice", unslice},
      {"split", split},
      {"unstack", unstack},
      {"concatenate", join},
      {"stack", join},
      {"broadcast_to", broadcast_to},
      {"gather", gather},
      {"scatter_add", scatter_add},
      {"take_along_axis", take_along_axis},
      {"flip", flip},
      {"pad", pad},
      {"triu", triangle},
      {"tril", triangle},
  };
}

}  // namespace programs
