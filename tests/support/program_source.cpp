// What random programs are drawn from.
#include "support/program_source.hpp"

#include <algorithm>

#include "support/program_evaluator.hpp"

namespace programs {

std::uint64_t Dice::next() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

Int Dice::between(Int low, Int high) {
  return low + static_cast<Int>(next() % static_cast<std::uint64_t>(high - low + 1));
}

double Dice::real(double low, double high) {
  return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53;
}

Int Dice::length() { return chance(0.03) ? 0 : chance(0.25) ? 1 : between(2, 4); }

Ints Dice::shape(Int axes) {
  Ints shape;
  while (count(shape) < axes) {
    shape.push_back(length());
    if (size_of(shape) > kMostValues / 2) shape.back() = 1;
  }
  return shape;
}

Int Dice::axis(Int rank) {
  if (rank == 0) throw Invalid("an axis");
  return between(-rank, rank - 1);
}

Int Growing::add(const Step& step) {
  std::vector<const Plain*> from;
  for (Int value : step.from) from.push_back(&at(values_, value));
  std::vector<Plain> outputs = evaluate(step, from);
  for (const Plain& x : outputs)
    if (count(x.shape) > kMostAxes || count(x.values) > kMostValues) throw Invalid("too large");
  const Int first = count(values_);
  for (Plain& x : outputs) values_.push_back(std::move(x));
  program.steps.push_back(step);
  return first;
}

Int Growing::input(const Ints& shape, double low, double high) {
  Step step{values_.empty() || dice.chance(0.75) ? "variable" : "constant"};
  step.input.shape = shape;
  for (Int n = size_of(shape); n > 0; --n) step.input.values.push_back(dice.real(low, high));
  return add(step);
}

Int Growing::find(const Fits& fits) {
  Ints found;
  for (Int i = 0; i < count(values_); ++i)
    if (fits(at(values_, i))) found.push_back(i);
  if (found.empty()) throw Invalid("no such value");
  const Int last = count(found) - 1;
  // Half of the time one of the three last, so that programs are deep.
  return at(found, dice.between(dice.chance(0.5) ? std::max<Int>(0, last - 2) : 0, last));
}

Int Growing::find_or(const Fits& fits, const Ints& otherwise, double low, double high) {
  if (!dice.chance(0.1)) try {
      return find(fits);
    } catch (const Invalid&) {
    }
  return input(otherwise, low, high);
}

Int Growing::any(Int axes) {
  const auto fits = [axes](const Plain& x) { return count(x.shape) >= axes; };
  return find_or(fits, dice.shape(dice.between(axes, std::max<Int>(axes, 3))));
}

Int Growing::partner(const Ints& shape, const Fits& fits, double low, double high) {
  Ints fresh(shape.begin() + dice.between(0, count(shape)), shape.end());
  for (Int& length : fresh) length = dice.chance(0.3) ? 1 : length == 1 ? dice.length() : length;
  return find_or(
      [&](const Plain& x) {
        const Int rank = std::max(count(x.shape), count(shape));
        Int size = 1;
        for (Int i = 1; i <= rank; ++i) {
          const Int a = i > count(shape) ? 1 : at(shape, count(shape) - i);
          const Int b = i > count(x.shape) ? 1 : at(x.shape, count(x.shape) - i);
          if (a != b && a != 1 && b != 1) return false;
          size *= a == 1 ? b : a;
        }
        return size <= kMostValues && fits(x);
      },
      fresh, low, high);
}

Int Growing::ops() const {
  return static_cast<Int>(std::count_if(program.steps.begin(), program.steps.end(),
                                        [](const Step& step) { return !is_input(step); }));
}

}  // namespace programs
