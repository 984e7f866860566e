// Rows of ops/compare.hpp: the ops that choose by a mask.
#include <xtape/ops/compare.hpp>

#include "op_table.hpp"
#include "support/plain_ops.hpp"

namespace op_table {

namespace {

using plain::Array;
using plain::Position;

/// Which places of a mask are true: two of three, by their flat index.
bool chosen(std::size_t flat) { return flat % 3 != 1; }

xtape::Mask pattern(const plain::Shape& shape) {
  std::vector<bool> values;
  for (std::size_t i = 0; i < plain::size(shape); ++i) values.push_back(chosen(i));
  return xtape::Mask(shape, values);
}

/// What `where` takes at each position, input a or b; a number is read from no input.
Row selection(const char* name, const plain::Shape& condition, std::vector<Sample> samples, Op op,
              double number = 0) {
  const auto shape = [condition](const std::vector<Array>& x) {
    return plain::broadcast(condition, plain::broadcast(x));
  };
  const auto taken = [condition](const Position& at) {
    return chosen(plain::flat(at, condition)) ? std::size_t{0} : std::size_t{1};
  };
  return {name, std::move(samples), std::move(op),
          [=](const std::vector<Array>& x) {
            return plain::make(shape(x), [&](const Position& at) {
              const std::size_t i = taken(at);
              return i < x.size() ? x[i].values[plain::flat(at, x[i].shape)] : number;
            });
          },
          [=](const std::vector<Array>& x, const Array& g) {
            plain::Gradients result = plain::zeros(x);
            for (std::size_t k = 0; k < g.values.size(); ++k) {
              const Position at = plain::position(k, g.shape);
              const std::size_t i = taken(at);
              if (i < x.size()) result[i][plain::flat(at, x[i].shape)] += g.values[k];
            }
            return result;
          }};
}

/// where(condition, a, b)
Row where_row(const char* name, const plain::Shape& condition, std::vector<Sample> samples) {
  return selection(name, condition, std::move(samples),
                   [m = pattern(condition)](const auto& x) { return where(m, x[0], x[1]); });
}

/// mask(x, allowed, fill)
Row mask_row(const char* name, const plain::Shape& allowed, std::vector<Sample> samples) {
  return selection(
      name, allowed, std::move(samples),
      [m = pattern(allowed)](const auto& x) { return mask(x[0], m, -7.5); }, -7.5);
}

}  // namespace

Rows compare_rows() {
  return {
      where_row("where with a full condition", {2, 3},
                {{{2, 3}, {2, 3}}, {{2, 3}, {}}, {{}, {2, 3}}, {{3}, {2, 1}}, {{}, {}}}),
      where_row("where with a condition for the columns", {3},
                {{{2, 3}, {2, 3}}, {{2, 3}, {3}}, {{2, 1}, {1}}, {{0, 3}, {3}}}),
      where_row("where with a condition for the rows", {2, 1},
                {{{2, 3}, {3}}, {{3}, {2, 3}}, {{1}, {1}}, {{2, 0}, {1}}}),
      where_row("where with one condition", {},
                {{{2, 3}, {2, 3}}, {{}, {3}}, {{0}, {0}}, {{1, 3}, {2, 1}}}),
      where_row("where with an empty condition", {0, 3}, {{{3}, {}}, {{0, 3}, {1, 3}}}),
      selection(
          "where or else a number", {2, 3}, {{{2, 3}}, {{3}}, {{}}, {{2, 1}}},
          [m = pattern({2, 3})](const auto& x) { return where(m, x[0], 4); }, 4),
      selection(
          "where a number or else x", {2, 3}, {{{2, 3}}, {{3}}, {{}}, {{2, 1}}},
          [m = pattern({2, 3})](const auto& x) { return where(!m, 4, x[0]); }, 4),
      mask_row("mask of x's shape", {2, 3}, {{{2, 3}}, {{2, 2, 3}}}),
      mask_row("mask for the columns", {3}, {{{2, 3}}, {{3}}, {{0, 3}}}),
      mask_row("mask for the rows", {2, 1}, {{{2, 3}}, {{4, 2, 1}}, {{2, 0}}}),
      mask_row("mask of one value", {}, {{{2, 3}}, {{}}, {{1}}, {{0}}}),
  };
}

}  // namespace op_table
