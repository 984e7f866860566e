// Rows of ops/shape.hpp that turn, stack, pad and select values.
#include <xtape/ops/shape.hpp>

#include <array>
#include <utility>

#include "op_table.hpp"
#include "support/plain_ops.hpp"

namespace op_table {

namespace {

using plain::Array;
using plain::length;
using plain::Position;
using plain::Shape;
using plain::Source;
using Arrays = std::vector<Array>;
using Widths = std::vector<std::array<std::int64_t, 2>>;

Row move(const char* name, std::vector<Sample> samples, Op op, const plain::Move& how) {
  return {name, std::move(samples), std::move(op), plain::moved(how), plain::moved_vjp(how)};
}

Shape own_shape(const Arrays& x) { return x[0].shape; }

/// The given axes are read backwards; none stands for all.
plain::Move turned(const std::vector<int>& axes) {
  return {own_shape, [axes](const Arrays& x, const Position& at) {
            Source from{0, at};
            if (axes.empty())
              for (std::size_t i = 0; i < at.size(); ++i) from.at[i] = x[0].shape[i] - 1 - at[i];
            for (int axis : axes)
              length(from.at, axis) = length(x[0].shape, axis) - 1 - length(from.at, axis);
            return from;
          }};
}

/// Where axis `axis` (of the result) comes or goes.
Shape::difference_type place(int axis, std::size_t rank) {
  return axis < 0 ? axis + static_cast<int>(rank) : axis;
}

/// y[.., i, ..] = x_i[.., ..]
plain::Move stacked(int axis) {
  return {[axis](const Arrays& x) {
            Shape shape = x[0].shape;
            shape.insert(shape.begin() + place(axis, shape.size() + 1),
                         static_cast<std::int64_t>(x.size()));
            return shape;
          },
          [axis](const Arrays&, const Position& at) {
            Source from{static_cast<int>(length(at, axis)), at};
            from.at.erase(from.at.begin() + place(axis, at.size()));
            return from;
          }};
}

/// y[.., ..] = x[.., i, ..]
plain::Move one_of(int axis, std::int64_t i) {
  return {[axis](const Arrays& x) {
            Shape shape = x[0].shape;
            shape.erase(shape.begin() + place(axis, shape.size()));
            return shape;
          },
          [axis, i](const Arrays& x, const Position& at) {
            Source from{0, at};
            from.at.insert(from.at.begin() + place(axis, x[0].shape.size()), i);
            return from;
          }};
}

/// y[.., i, ..] = x[.., order[i], ..]
plain::Move reordered(int axis, const std::vector<std::int64_t>& order) {
  return {[axis, order](const Arrays& x) {
            Shape shape = x[0].shape;
            length(shape, axis) = static_cast<std::int64_t>(order.size());
            return shape;
          },
          [axis, order](const Arrays&, const Position& at) {
            Source from{0, at};
            length(from.at, axis) = order[static_cast<std::size_t>(length(at, axis))];
            return from;
          }};
}

Rows stacks() {
  return {
      move(
          "flip", {{{2, 3}}, {{4}}, {{}}, {{1}}, {{2, 1, 3}}, {{0}}, {{2, 0}}},
          [](const auto& x) { return flip(x[0]); }, turned({})),
      move(
          "flip of the last axis", {{{2, 3}}, {{4}}, {{3, 1}}, {{0, 2}}, {{2, 0}}},
          [](const auto& x) { return flip(x[0], -1); }, turned({-1})),
      move(
          "flip of two axes", {{{2, 3, 2}}, {{2, 1, 3}}, {{2, 0, 3}}},
          [](const auto& x) {
            return flip(x[0], {0, -1});
          },
          turned({0, -1})),
      move(
          "stack", {{{2, 3}, {2, 3}}, {{}, {}}, {{1}, {1}}, {{0}, {0}}, {{2, 0}, {2, 0}}},
          [](const auto& x) { return stack(x); }, stacked(0)),
      move(
          "stack along the last axis",
          {{{2, 3}, {2, 3}, {2, 3}}, {{}, {}, {}}, {{1}, {1}, {1}}, {{2, 0}, {2, 0}, {2, 0}}},
          [](const auto& x) { return stack(x, -1); }, stacked(-1)),
      move(
          "stack along an axis between", {{{2, 3}, {2, 3}}, {{3, 1}, {3, 1}}, {{0, 2}, {0, 2}}},
          [](const auto& x) { return stack(x, 1); }, stacked(1)),
      move(
          "stack of one tensor", {{{2, 3}}, {{}}, {{0}}}, [](const auto& x) { return stack(x, 0); },
          stacked(0)),
      move(
          "unstack, one part only", {{{3, 2}}, {{3}}, {{2, 1, 3}}, {{2, 0}}},
          [](const auto& x) { return unstack(x[0])[1]; }, one_of(0, 1)),
      move(
          "unstack along the last axis, one part only", {{{2, 3}}, {{4}}, {{1, 3}}, {{0, 3}}},
          [](const auto& x) { return unstack(x[0], -1)[2]; }, one_of(-1, 2)),
      move(
          "unstack, its parts in another order", {{{2, 3, 2}}, {{1, 3}}, {{0, 3}}, {{2, 3, 0}}},
          [](const auto& x) {
            const auto part = unstack(x[0], 1);
            return stack(std::decay_t<decltype(x)>{part[2], part[0], part[1], part[2]}, 1);
          },
          reordered(1, {2, 0, 1, 2})),
  };
}

// ---- pad -------------------------------------------------------------------------------------

plain::Move padded(const Widths& widths) {
  return {[widths](const Arrays& x) {
            Shape shape = x[0].shape;
            for (std::size_t i = 0; i < shape.size(); ++i) shape[i] += widths[i][0] + widths[i][1];
            return shape;
          },
          [widths](const Arrays& x, const Position& at) {
            Source from{0, at};
            for (std::size_t i = 0; i < at.size(); ++i) {
              from.at[i] -= widths[i][0];
              if (from.at[i] < 0 || from.at[i] >= x[0].shape[i]) from.input = -1;
            }
            return from;
          }};
}

/// `value` shows wherever there is no source.
Row pad_row(const char* name, std::vector<Sample> samples, const Widths& widths, double value) {
  const plain::Move how = padded(widths);
  return {name, std::move(samples), [=](const auto& x) { return pad(x[0], widths, value); },
          [=](const Arrays& x) {
            return plain::make(how.shape(x), [&](const Position& at) {
              const Source from = how.source(x, at);
              return from.input < 0 ? value : x[0].values[plain::flat(from.at, x[0].shape)];
            });
          },
          plain::moved_vjp(how)};
}

// ---- triangles and positions -----------------------------------------------------------------

/// x where keep(column - row), 0 elsewhere.
template <class Keep>
plain::Move triangle(Keep keep) {
  return {own_shape, [keep](const Arrays&, const Position& at) {
            return Source{keep(length(at, -1) - length(at, -2)) ? 0 : -1, at};
          }};
}

/// y[.., i, ..] = x[.., index[.., i, ..], ..]
Row take_row(const char* name, std::vector<Sample> samples, const xtape::Index& index, int axis) {
  const plain::Move how{[=](const Arrays&) { return index.shape(); },
                        [=, values = index.values()](const Arrays&, const Position& at) {
                          Source from{0, at};
                          length(from.at, axis) = values[plain::flat(at, index.shape())];
                          return from;
                        }};
  return move(
      name, std::move(samples), [=](const auto& x) { return take_along_axis(x[0], index, axis); },
      how);
}

Rows selections() {
  using xtape::Index;
  const std::vector<Sample> matrices{{{3, 3}}, {{2, 4}},    {{4, 2}}, {{1, 1}},
                                     {{1, 4}}, {{2, 2, 3}}, {{0, 3}}, {{3, 0}}};
  return {
      pad_row("pad", {{{2, 3}}, {{1, 1}}, {{0, 2}}, {{2, 0}}}, {{1, 0}, {2, 1}}, 0),
      pad_row("pad with a value", {{{3}}, {{1}}, {{0}}}, {{2, 3}}, 0.5),
      pad_row("pad by nothing", {{{2, 3}}, {{1, 1}}, {{0, 2}}}, {{0, 0}, {0, 0}}, 7),
      pad_row("pad of no axes", {{{}}}, {}, 7),
      pad_row("pad of three axes", {{{2, 1, 3}}, {{1, 0, 2}}}, {{0, 1}, {1, 1}, {1, 0}}, -1),
      move(
          "triu", matrices, [](const auto& x) { return triu(x[0]); },
          triangle([](std::int64_t right) { return right >= 0; })),
      move(
          "triu above the diagonal", {{{3, 3}}, {{2, 4}}, {{1, 2}}, {{2, 2, 3}}, {{0, 3}}},
          [](const auto& x) { return triu(x[0], 1); },
          triangle([](std::int64_t right) { return right >= 1; })),
      move(
          "triu below the diagonal", matrices, [](const auto& x) { return triu(x[0], -1); },
          triangle([](std::int64_t right) { return right >= -1; })),
      move(
          "tril", matrices, [](const auto& x) { return tril(x[0]); },
          triangle([](std::int64_t right) { return right <= 0; })),
      move(
          "tril above the diagonal", matrices, [](const auto& x) { return tril(x[0], 1); },
          triangle([](std::int64_t right) { return right <= 1; })),
      move(
          "tril below the diagonal", {{{3, 3}}, {{4, 2}}, {{2, 1}}, {{2, 3, 2}}, {{3, 0}}},
          [](const auto& x) { return tril(x[0], -1); },
          triangle([](std::int64_t right) { return right <= -1; })),
      take_row("take_along_axis", {{{2, 3}}, {{2, 5}}}, Index({2, 4}, {2, 0, 2, 1, 1, 1, 0, 2}),
               -1),
      take_row("take_along_axis in columns", {{{3, 2}}, {{2, 2}}}, Index({1, 2}, {1, 0}), 0),
      take_row("take_along_axis between axes", {{{2, 3, 2}}, {{2, 2, 2}}},
               Index({2, 3, 2}, {0, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1, 0}), 1),
      take_row("take_along_axis of a vector", {{{1}}, {{4}}}, Index({3}, {0, 0, 0}), 0),
      take_row("take_along_axis of nothing", {{{2, 0}}, {{2, 3}}}, Index({2, 0}, {}), 1),
      take_row("take_along_axis, no rows", {{{0, 3}}}, Index({0, 2}, {}), 1),
  };
}

}  // namespace

Rows arrange_rows() {
  Rows result;
  for (const auto part : {stacks, selections})
    for (Row& row : part()) result.push_back(std::move(row));
  return result;
}

}  // namespace op_table
