// What ops compute that move values or give them other axes: from which place each value comes.
#include <algorithm>

#include "support/program_rules.hpp"

namespace programs {

namespace {

/// Every value from the place in x that source(position) names.
template <class S, class F>
std::vector<Array<S>> moved(const Array<S>& x, const Ints& shape, const F& source) {
  return {fill<S>(shape, [&](const Ints& p) { return value_at(x, source(p)); })};
}

template <class S>
std::vector<Array<S>> reshape(const Array<S>& x, Ints shape) {
  const auto unknown = std::find(shape.begin(), shape.end(), -1);
  if (unknown != shape.end()) {
    *unknown = 1;
    const Int known = size_of(shape);
    require(known > 0 && count(x.values) % known == 0, "a length to be found");
    *unknown = count(x.values) / known;
  }
  require(size_of(shape) == count(x.values), "the same number of values");
  return {{shape, x.values}};
}

template <class S>
std::vector<Array<S>> transpose(const Array<S>& x, Ints order) {
  const Int rank = count(x.shape);
  if (order.empty() && rank > 0) {  // the last two axes
    require(rank >= 2, "two axes");
    for (Int i = 0; i < rank; ++i) order.push_back(i);
    std::swap(at(order, rank - 1), at(order, rank - 2));
  }
  require(count(order) == rank, "each axis once");
  Ints shape;
  for (Int& axis : order) shape.push_back(at(x.shape, axis = axis_of(axis, rank)));
  return moved(x, shape, [&](const Ints& p) {
    Ints q(p.size());
    for (Int i = 0; i < rank; ++i) at(q, at(order, i)) = at(p, i);
    return q;
  });
}

/// numbers: axis, start, stop, step
template <class S>
std::vector<Array<S>> slice(const Array<S>& x, const Ints& numbers) {
  const Int axis = axis_of(numbers[0], count(x.shape)), n = at(x.shape, axis);
  std::vector<Int> taken;
  const auto from_start = [n](Int i) { return i < 0 ? i + n : i; };
  for (Int i = 0; i < n; ++i) {
    const Int start = std::max<Int>(from_start(numbers[1]), 0);
    if (i >= start && i < from_start(numbers[2]) && (i - start) % numbers[3] == 0)
      taken.push_back(i);
  }
  Ints shape = x.shape;
  at(shape, axis) = count(taken);
  return moved(x, shape, [&](Ints p) {
    at(p, axis) = at(taken, at(p, axis));
    return p;
  });
}

/// numbers: axis, start, size, step
template <class S>
std::vector<Array<S>> unslice(const Array<S>& x, const Ints& numbers) {
  const Int axis = axis_of(numbers[0], count(x.shape)), n = at(x.shape, axis);
  const Int start = numbers[1], step = numbers[3];
  require(start >= 0 && (n == 0 || start + (n - 1) * step < numbers[2]), "values that fit");
  Ints shape = x.shape;
  at(shape, axis) = numbers[2];
  return {fill<S>(shape, [&](Ints p) {
    const Int i = at(p, axis) - start;
    if (i < 0 || i % step != 0 || i / step >= n) return S(0);
    at(p, axis) = i / step;
    return value_at(x, p);
  })};
}

/// numbers: axis, lengths...
template <class S>
std::vector<Array<S>> split(const Array<S>& x, const Ints& numbers) {
  const Int axis = axis_of(numbers[0], count(x.shape));
  std::vector<Array<S>> parts;
  Int start = 0;
  for (Int k = 1; k < count(numbers); start += at(numbers, k++)) {
    Ints shape = x.shape;
    at(shape, axis) = at(numbers, k);
    require(start + at(numbers, k) <= at(x.shape, axis), "lengths that sum to the axis's");
    parts.push_back(fill<S>(shape, [&](Ints p) {
      at(p, axis) += start;
      return value_at(x, p);
    }));
  }
  require(start == at(x.shape, axis), "lengths that sum to the axis's");
  return parts;
}

template <class S>
std::vector<Array<S>> unstack(const Array<S>& x, Int axis) {
  Ints shape = x.shape;
  const Int n = at(x.shape, axis);
  shape.erase(shape.begin() + axis);
  std::vector<Array<S>> parts;
  for (Int k = 0; k < n; ++k)
    parts.push_back(fill<S>(shape, [&](Ints p) {
      p.insert(p.begin() + axis, k);
      return value_at(x, p);
    }));
  return parts;
}

/// Joined along an axis that each array has, at the lengths it has there.
template <class S>
std::vector<Array<S>> join(const std::vector<Array<S>>& xs, Int axis) {
  Ints shape = xs.at(0).shape;
  std::vector<std::pair<Int, Int>> sources;  // which array, and where in it
  for (Int k = 0; k < count(xs); ++k) {
    Ints other = at(xs, k).shape;
    require(other.size() == shape.size(), "equal axes");
    for (Int i = 0; i < at(other, axis); ++i) sources.push_back({k, i});
    at(other, axis) = at(shape, axis);
    require(other == shape, "equal axes");
  }
  at(shape, axis) = count(sources);
  return {fill<S>(shape, [&](Ints p) {
    const auto [k, i] = at(sources, at(p, axis));
    at(p, axis) = i;
    return value_at(at(xs, k), p);
  })};
}

/// numbers: axis, table of positions
template <class S>
std::vector<Array<S>> gather(const Array<S>& x, const Ints& numbers) {
  const Int axis = axis_of(numbers[0], count(x.shape));
  const Table index(numbers, 1);
  for (Int i : index.items) require(i >= 0 && i < at(x.shape, axis), "a position inside");
  Ints shape = x.shape;
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, index.shape.begin(), index.shape.end());
  return moved(x, shape, [&](Ints p) {
    const auto first = p.begin() + axis;
    const Int i = at(index.items, place(index.shape, Ints(first, first + count(index.shape))));
    p.erase(first, first + count(index.shape));
    p.insert(p.begin() + axis, i);
    return p;
  });
}

/// numbers: axis, size, table of positions
template <class S>
std::vector<Array<S>> scatter_add(const Array<S>& x, const Ints& numbers) {
  const Table index(numbers, 2);
  const Int rank = count(x.shape) - count(index.shape) + 1;
  require(rank >= 1, "the axes of the index");
  const Int axis = axis_of(numbers[0], rank);
  Ints shape = x.shape;
  const auto first = shape.begin() + axis;
  require(std::equal(index.shape.begin(), index.shape.end(), first), "the axes of the index");
  shape.erase(first, first + count(index.shape));
  shape.insert(shape.begin() + axis, numbers[1]);
  Array<S> result = fill<S>(shape, [](const Ints&) { return S(0); });
  fill<S>(x.shape, [&](Ints p) {
    const S value = value_at(x, p);
    const auto along = p.begin() + axis;
    const Int i = at(index.items, place(index.shape, Ints(along, along + count(index.shape))));
    require(i >= 0 && i < numbers[1], "a position inside");
    p.erase(along, along + count(index.shape));
    p.insert(p.begin() + axis, i);
    S& sum = at(result.values, place(shape, p));
    sum = sum + value;
    return S(0);
  });
  return {result};
}

/// numbers: axis, length, positions...
template <class S>
std::vector<Array<S>> take_along_axis(const Array<S>& x, const Ints& numbers) {
  const Int axis = axis_of(numbers[0], count(x.shape));
  Ints shape = x.shape;
  at(shape, axis) = numbers[1];
  require(count(numbers) - 2 == size_of(shape), "as many positions as places");
  for (Int i = 2; i < count(numbers); ++i)
    require(at(numbers, i) >= 0 && at(numbers, i) < at(x.shape, axis), "a position inside");
  Int next = 2;
  return moved(x, shape, [&](Ints p) {
    at(p, axis) = at(numbers, next++);
    return p;
  });
}

/// numbers: how many places before and after, for each axis
template <class S>
std::vector<Array<S>> pad(const Array<S>& x, const Ints& numbers, double value) {
  Ints shape = x.shape;
  require(numbers.size() == 2 * shape.size(), "a pair for each axis");
  for (Int i = 0; i < count(shape); ++i)
    at(shape, i) += at(numbers, 2 * i) + at(numbers, 2 * i + 1);
  return {fill<S>(shape, [&](Ints p) {
    for (Int i = 0; i < count(shape); ++i) {
      at(p, i) -= at(numbers, 2 * i);
      if (at(p, i) < 0 || at(p, i) >= at(x.shape, i)) return S(value);
    }
    return value_at(x, p);
  })};
}

}  // namespace

template <class S>
std::vector<Array<S>> apply_moves(const Step& step, const std::vector<const Array<S>*>& from) {
  const Array<S>& x = *from.at(0);
  const std::string& op = step.op;
  const Ints& numbers = step.numbers;
  const Int rank = count(x.shape);
  if (op == "contiguous") return {x};
  if (op == "reshape") return reshape(x, numbers);
  if (op == "transpose") return transpose(x, numbers);
  if (op == "unsqueeze" || op == "stack") {
    const Int axis = axis_of(numbers[0], rank + 1);
    std::vector<Array<S>> xs;
    for (const Array<S>* operand : from) {
      xs.push_back(*operand);
      require(operand->shape == x.shape, "one shape");
      xs.back().shape.insert(xs.back().shape.begin() + axis, 1);
    }
    return join(xs, axis);
  }
  if (op == "squeeze") {
    const std::vector<bool> out = chosen(numbers, 0, rank);
    Ints shape;
    for (Int i = 0; i < rank; ++i) {
      const bool one = at(x.shape, i) == 1, named = out[static_cast<std::size_t>(i)];
      require(one || !named || numbers[0] != 0, "a length of 1");
      if (!one || !named) shape.push_back(at(x.shape, i));
    }
    return {{shape, x.values}};
  }
  if (op == "slice") return slice(x, numbers);
  if (op == "unslice") return unslice(x, numbers);
  if (op == "split") return split(x, numbers);
  if (op == "unstack") return unstack(x, axis_of(numbers[0], rank));
  if (op == "concatenate") {
    std::vector<Array<S>> xs;
    for (const Array<S>* operand : from) xs.push_back(*operand);
    return join(xs, axis_of(numbers[0], rank));
  }
  if (op == "broadcast_to") {
    require(broadcast(x.shape, numbers) == numbers, "a shape that it broadcasts to");
    return moved(x, numbers, [](const Ints& p) { return p; });
  }
  if (op == "gather") return gather(x, numbers);
  if (op == "scatter_add") return scatter_add(x, numbers);
  if (op == "take_along_axis") return take_along_axis(x, numbers);
  if (op == "pad") return pad(x, numbers, step.reals[0]);
  if (op == "flip") {
    const std::vector<bool> turned = chosen(numbers, 0, rank);
    return moved(x, x.shape, [&](Ints p) {
      for (Int i = 0; i < rank; ++i)
        if (turned[static_cast<std::size_t>(i)]) at(p, i) = at(x.shape, i) - 1 - at(p, i);
      return p;
    });
  }
  if (op == "triu" || op == "tril") {
    require(rank >= 2, "two axes");
    return {fill<S>(x.shape, [&](const Ints& p) {
      const Int right = at(p, rank - 1) - at(p, rank - 2);
      const bool kept = op == "triu" ? right >= numbers[0] : right <= numbers[0];
      return kept ? value_at(x, p) : S(0);
    })};
  }
  return {};
}

template std::vector<Array<double>> apply_moves(const Step&,
                                                const std::vector<const Array<double>*>&);
template std::vector<Array<Dual>> apply_moves(const Step&, const std::vector<const Array<Dual>*>&);

}  // namespace programs
