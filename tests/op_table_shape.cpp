// Rows of ops/shape.hpp.
#include <xtape/ops/shape.hpp>

#include <algorithm>

#include "op_table.hpp"
#include "support/plain_ops.hpp"

namespace op_table {

namespace {

using plain::Array;
using plain::length;
using plain::Position;
using plain::Shape;
using plain::Source;

/// Each value of the result is one of the operands', or 0.
Row move(const char* name, std::vector<Sample> samples, Op op, const plain::Move& how) {
  return {name, std::move(samples), std::move(op), plain::moved(how), plain::moved_vjp(how)};
}

using Arrays = std::vector<Array>;

/// The same values in the same row-major order, in another shape.
plain::Move in_order(std::function<Shape(Shape)> shape) {
  const auto result = [shape](const Arrays& x) { return shape(x[0].shape); };
  return {result, [result](const Arrays& x, const Position& at) {
            return Source{0, plain::position(plain::flat(at, result(x)), x[0].shape)};
          }};
}

/// Axis i of the result is axis order[i] of x; the first axes stay.
plain::Move permuted(const std::vector<int>& order) {
  const auto axis = [order](std::size_t i, std::size_t rank) {
    const std::size_t stay = rank - order.size();
    return i < stay ? i : stay + static_cast<std::size_t>(order[i - stay]);
  };
  return {[axis](const Arrays& x) {
            Shape shape;
            for (std::size_t i = 0; i < x[0].shape.size(); ++i)
              shape.push_back(x[0].shape[axis(i, x[0].shape.size())]);
            return shape;
          },
          [axis](const Arrays&, const Position& at) {
            Position from(at.size());
            for (std::size_t i = 0; i < at.size(); ++i) from[axis(i, at.size())] = at[i];
            return Source{0, from};
          }};
}

/// Along one axis, position i of the result is position positions[i] of x; below 0 it is a zero.
plain::Move picked(int axis, std::function<std::vector<std::int64_t>(std::int64_t)> positions) {
  return {[=](const Arrays& x) {
            Shape shape = x[0].shape;
            length(shape, axis) = static_cast<std::int64_t>(positions(length(shape, axis)).size());
            return shape;
          },
          [=](const Arrays& x, const Position& at) {
            Position from = at;
            std::int64_t& i = length(from, axis);
            i = positions(length(x[0].shape, axis))[static_cast<std::size_t>(i)];
            return Source{i < 0 ? -1 : 0, from};
          }};
}
plain::Move picked(int axis, const std::vector<std::int64_t>& positions) {
  return picked(axis, [positions](std::int64_t) { return positions; });
}

/// Operands one after the other along an axis.
plain::Move joined(int axis) {
  return {[axis](const Arrays& x) {
            Shape shape = x[0].shape;
            for (std::size_t i = 1; i < x.size(); ++i)
              length(shape, axis) += length(x[i].shape, axis);
            return shape;
          },
          [axis](const Arrays& x, const Position& at) {
            Source from{0, at};
            std::int64_t& i = length(from.at, axis);
            for (; i >= length(x[static_cast<std::size_t>(from.input)].shape, axis); ++from.input)
              i -= length(x[static_cast<std::size_t>(from.input)].shape, axis);
            return from;
          }};
}

Rows orders() {
  return {
      move(
          "contiguous", {{{2, 3}}, {{}}, {{1}}, {{0, 3}}},
          [](const auto& x) { return contiguous(x[0]); }, in_order([](Shape s) { return s; })),
      move(
          "contiguous of a transpose", {{{2, 3}}, {{1, 3}}, {{2, 1, 3}}, {{0, 3}}},
          [](const auto& x) { return contiguous(transpose(x[0])); }, permuted({1, 0})),
      move(
          "reshape", {{{2, 6}}, {{12}}, {{2, 1, 3, 2}}},
          [](const auto& x) {
            return reshape(x[0], {3, 4});
          },
          in_order([](const Shape&) {
            return Shape{3, 4};
          })),
      move(
          "reshape with a length to be found", {{{2, 6}}, {{4}}, {{0, 2}}},
          [](const auto& x) {
            return reshape(x[0], {-1, 2});
          },
          in_order([](const Shape& s) {
            return Shape{static_cast<std::int64_t>(plain::size(s)) / 2, 2};
          })),
      move(
          "reshape to a scalar", {{{1, 1}}, {{1}}, {{}}},
          [](const auto& x) { return reshape(x[0], {}); },
          in_order([](const Shape&) { return Shape{}; })),
      move(
          "transpose", {{{2, 3}}, {{1, 3}}, {{2, 2, 3}}, {{0, 3}}, {{1, 1}}},
          [](const auto& x) { return transpose(x[0]); }, permuted({1, 0})),
      move(
          "transpose to an order", {{{2, 3, 4}}, {{2, 1, 3}}, {{2, 0, 3}}},
          [](const auto& x) {
            return transpose(x[0], {2, 0, -2});
          },
          permuted({2, 0, 1})),
      move(
          "transpose of no axes", {{{}}},
          [](const auto& x) { return transpose(x[0], std::vector<std::int64_t>()); }, permuted({})),
  };
}

Rows axes() {
  return {
      move(
          "unsqueeze before the first axis", {{{2, 3}}, {{}}, {{0}}},
          [](const auto& x) { return unsqueeze(x[0], 0); }, in_order([](Shape s) {
            s.insert(s.begin(), 1);
            return s;
          })),
      move(
          "unsqueeze after the last axis", {{{2, 3}}, {{}}, {{0}}},
          [](const auto& x) { return unsqueeze(x[0], -1); }, in_order([](Shape s) {
            s.push_back(1);
            return s;
          })),
      move(
          "squeeze", {{{1, 2, 1, 3}}, {{2}}, {{1, 1}}, {{1, 0}}, {{}}},
          [](const auto& x) { return squeeze(x[0]); }, in_order([](Shape s) {
            s.erase(std::remove(s.begin(), s.end(), 1), s.end());
            return s;
          })),
      move(
          "squeeze of given axes", {{{1, 2, 1}}, {{1, 1, 1}}, {{1, 0, 1}}},
          [](const auto& x) {
            return squeeze(x[0], {0, -1});
          },
          in_order([](const Shape& s) { return Shape{s[1]}; })),
      {"broadcast_to",
       {{{2, 3}}, {{3}}, {{2, 1}}, {{}}, {{4, 2, 3}}, {{1, 1, 1}}},
       [](const auto& x) {
         return broadcast_to(x[0], {4, 2, 3});
       },
       [](const Arrays& x) {
         return plain::elementwise([](const plain::Values& v) { return v[0]; })(
             {x[0], Array{{4, 2, 3}, plain::Values(24)}});
       },
       plain::elementwise_vjp([](const plain::Values&) { return plain::Values{1}; })},
      {"broadcast_to an empty shape",
       {{{3}}, {{1, 3}}, {{0, 3}}, {{}}},
       [](const auto& x) {
         return broadcast_to(x[0], {0, 3});
       },
       [](const Arrays&) {
         return Array{{0, 3}, {}};
       },
       [](const Arrays& x, const Array&) { return plain::zeros(x); }},
  };
}

Rows parts() {
  return {
      move(
          "slice of the middle", {{{2, 4}}, {{4}}, {{0, 4}}},
          [](const auto& x) { return slice(x[0], -1, 1, 3); }, picked(-1, {1, 2})),
      move(
          "slice in steps", {{{5, 2}}, {{5}}, {{5, 1, 2}}, {{5, 0}}},
          [](const auto& x) { return slice(x[0], 0, 0, 5, 2); }, picked(0, {0, 2, 4})),
      move(
          "slice from the end, in steps", {{{2, 6, 2}}},
          [](const auto& x) { return slice(x[0], 1, -5, -1, 3); }, picked(1, {1, 4})),
      move(
          "slice of all", {{{3}}, {{3, 2}}, {{0}}},
          [](const auto& x) { return slice(x[0], 0, 0, 99); },
          picked(0,
                 [](std::int64_t n) {
                   std::vector<std::int64_t> all;
                   for (std::int64_t i = 0; i < n; ++i) all.push_back(i);
                   return all;
                 })),
      move(
          "slice of nothing", {{{3}}, {{3, 2}}, {{0}}},
          [](const auto& x) { return slice(x[0], 0, 2, 1); },
          picked(0, std::vector<std::int64_t>())),
      move(
          "unslice", {{{2, 2}}, {{2}}, {{2, 0}}},
          [](const auto& x) { return unslice(x[0], 0, 1, 4); }, picked(0, {-1, 0, 1, -1})),
      move(
          "unslice in steps", {{{3, 2}}, {{1, 2}}, {{2, 2, 2}}, {{2, 0}}},
          [](const auto& x) { return unslice(x[0], -1, 1, 6, 3); },
          picked(-1,
                 [](std::int64_t n) {
                   std::vector<std::int64_t> from(6, -1);
                   for (std::int64_t i = 0; i < n; ++i)
                     from[static_cast<std::size_t>(1 + 3 * i)] = i;
                   return from;
                 })),
      move(
          "split, its parts in another order", {{{6}}, {{6, 2}}, {{6, 0}}},
          [](const auto& x) {
            const auto part = split(x[0], {2, 0, 1, 3}, 0);
            return concatenate(std::decay_t<decltype(x)>{part[3], part[1], part[0], part[2]}, 0);
          },
          picked(0, {3, 4, 5, 0, 1, 2})),
      move(
          "split, one part only", {{{2, 6}}, {{6}}, {{2, 2, 6}}},
          [](const auto& x) {
            return split(x[0], {1, 3, 2}, -1)[1];
          },
          picked(-1, {1, 2, 3})),
      move(
          "concatenate", {{{2, 3}, {1, 3}}, {{2}, {3}}, {{0, 2}, {2, 2}}, {{2, 0}, {1, 0}}},
          [](const auto& x) { return concatenate(x, 0); }, joined(0)),
      move(
          "concatenate along the last axis",
          {{{2, 3}, {2, 1}, {2, 2}}, {{1}, {2}, {1}}, {{2, 2, 1}, {2, 2, 0}, {2, 2, 2}}},
          [](const auto& x) { return concatenate(x, -1); }, joined(-1)),
      move(
          "concatenate one tensor", {{{2, 3}}, {{0}}},
          [](const auto& x) { return concatenate(x, 0); }, joined(0)),
  };
}

// ---- gather and scatter_add ------------------------------------------------------------------

/// x's axis is replaced by the index's axes.
plain::Move looked_up(const xtape::Index& index, int axis) {
  const Shape along = index.shape();
  const auto rank = static_cast<std::int64_t>(along.size());
  const auto start = [axis](const Shape& x) {
    return axis < 0 ? axis + static_cast<std::int64_t>(x.size()) : axis;
  };
  return {[=](const Arrays& x) {
            Shape shape = x[0].shape;
            const auto at = shape.erase(shape.begin() + start(shape));
            shape.insert(at, along.begin(), along.end());
            return shape;
          },
          [=, positions = index.values()](const Arrays& x, const Position& at) {
            const auto first = at.begin() + start(x[0].shape);
            const Position here(first, first + rank);
            Position from(at.begin(), first);
            from.push_back(positions[plain::flat(here, along)]);
            from.insert(from.end(), first + rank, at.end());
            return Source{0, from};
          }};
}

Row gather_row(const char* name, std::vector<Sample> samples, const xtape::Index& index, int axis) {
  return move(
      name, std::move(samples), [=](const auto& x) { return gather(x[0], index, axis); },
      looked_up(index, axis));
}

/// The transposed map of gather: y at each position of gather's operand sums what came from there.
Row scatter_row(const char* name, std::vector<Sample> samples, const xtape::Index& index,
                std::int64_t size, int axis) {
  const auto result = [=](const Shape& x) {
    const int rank = static_cast<int>(x.size()) - index.rank() + 1;
    const auto at = axis < 0 ? axis + rank : axis;
    Shape shape = x;
    shape.erase(shape.begin() + at, shape.begin() + at + index.rank());
    shape.insert(shape.begin() + at, size);
    return shape;
  };
  const plain::Move back = looked_up(index, axis);
  return {name, std::move(samples),
          [=](const auto& x) { return scatter_add(x[0], index, size, axis); },
          [=](const Arrays& x) {
            Array y{result(x[0].shape), plain::Values(plain::size(result(x[0].shape)))};
            y.values = plain::moved_vjp(back)({y}, x[0])[0];
            return y;
          },
          [=](const Arrays&, const Array& g) {
            return plain::Gradients{plain::moved(back)({g}).values};
          }};
}

Rows positions() {
  using xtape::Index;
  const Index three({3}, {2, 0, 2}), grid({2, 2}, {1, 1, 0, 2}), one({}, {1}), none({0}, {});
  return {
      gather_row("gather", {{{3, 2}}, {{3}}, {{4, 1, 2}}, {{3, 0}}}, three, 0),
      gather_row("gather along the last axis", {{{2, 3}}, {{3}}, {{2, 2, 3}}, {{0, 3}}}, three, -1),
      gather_row("gather with a matrix of positions", {{{2, 3, 2}}, {{1, 3}}}, grid, 1),
      gather_row("gather with one position", {{{3, 2}}, {{2}}}, one, 0),
      gather_row("gather of nothing", {{{3, 2}}, {{0, 2}}, {{0}}}, none, 0),
      scatter_row("scatter_add", {{{3, 2}}, {{3}}, {{3, 1, 2}}, {{3, 0}}}, three, 4, 0),
      scatter_row("scatter_add along the last axis", {{{2, 3}}, {{3}}, {{2, 2, 3}}, {{0, 3}}},
                  three, 3, -1),
      scatter_row("scatter_add with a matrix of positions", {{{2, 2, 2, 3}}, {{2, 2, 2}}}, grid, 3,
                  1),
      scatter_row("scatter_add with one position", {{{2}}, {{}}}, one, 3, 0),
      scatter_row("scatter_add of nothing", {{{0, 2}}, {{0}}}, none, 2, 0),
  };
}

}  // namespace

Rows shape_rows() {
  Rows result;
  for (const auto part : {orders, axes, parts, positions})
    for (Row& row : part()) result.push_back(std::move(row));
  return result;
}

}  // namespace op_table
