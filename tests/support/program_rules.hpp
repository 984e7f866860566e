// What each op computes, by definition: one formula for doubles and dual numbers.
#pragma once

#include <vector>

#include "support/program_dual.hpp"
#include "support/program_evaluator.hpp"

namespace programs {

/// The outputs of a step. Throws: Invalid when it cannot be done.
template <class S>
std::vector<Array<S>> apply(const Step& step, const std::vector<const Array<S>*>& from,
                            Clearance& clearance);

/// A shape and as many items, as they stand in a step's numbers from `first` on.
struct Table {
  Ints shape;
  Ints items;
  Table(const Ints& numbers, Int first);
};

/// The shape that two broadcast to. Throws: Invalid when they do not.
Ints broadcast(const Ints& a, const Ints& b);

/// Which axes a list {every, axes...} that begins at `first` names.
std::vector<bool> chosen(const Ints& numbers, Int first, Int rank);

// Parts of apply; each returns nothing for an op that is not its own.
template <class S>
std::vector<Array<S>> apply_elementwise(const Step& step, const std::vector<const Array<S>*>& from,
                                        Clearance& clearance);
template <class S>
std::vector<Array<S>> apply_rows(const Step& step, const std::vector<const Array<S>*>& from,
                                 Clearance& clearance);
template <class S>
std::vector<Array<S>> apply_moves(const Step& step, const std::vector<const Array<S>*>& from);
template <class S>
std::vector<Array<S>> apply_products(const Step& step, const std::vector<const Array<S>*>& from);

inline void require(bool fact, const char* what) {
  if (!fact) throw Invalid(what);
}

/// The place of a position in row-major order; axes of length 1 stay at 0, and the position's first
/// axes may be more than the shape's: NumPy's broadcasting.
inline Int place(const Ints& shape, const Ints& position) {
  const Int extra = count(position) - count(shape);
  Int flat = 0;
  for (Int i = 0; i < count(shape); ++i)
    flat = flat * at(shape, i) + (at(shape, i) == 1 ? 0 : at(position, i + extra));
  return flat;
}
template <class S>
const S& value_at(const Array<S>& x, const Ints& position) {
  return at(x.values, place(x.shape, position));
}

/// An array of f(position) at every position.
template <class S, class F>
Array<S> fill(const Ints& shape, const F& f) {
  Array<S> result{shape, {}};
  Ints position(shape.size());
  for (Int n = size_of(shape); n > 0; --n) {
    result.values.push_back(f(position));
    for (Int axis = count(shape) - 1; axis >= 0; --axis) {
      if (++at(position, axis) < at(shape, axis)) break;
      at(position, axis) = 0;
    }
  }
  return result;
}

}  // namespace programs
