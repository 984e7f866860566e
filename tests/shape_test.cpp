// Views and moves of values: when a reshape is a view, which positions a slice takes, gradients
// through views, gather and scatter_add.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/close.hpp"

namespace {

using namespace xtape;
using closeness::same_bits;
using Doubles = std::vector<double>;
using List = std::vector<std::int64_t>;

/// 0, 1, 2, ... in a shape.
Tensor<double> counted(const Shape& shape) {
  std::int64_t n = 1;
  for (std::int64_t length : shape) n *= length;
  return reshape(Tensor<double>::arange(0, static_cast<double>(n)), shape);
}

bool is_view_of(const Tensor<double>& view, const Tensor<double>& x) {
  return x.data() <= view.data() && view.data() < x.data() + x.size();
}

}  // namespace

// ---- reshape ---------------------------------------------------------------------------------

TEST_CASE("a reshape of a strided tensor is a view where one set of strides can show it") {
  const auto x = counted({2, 3, 4});
  struct Case {
    Tensor<double> from;
    Shape to;
    List strides;
  };
  const Case views[] = {
      {transpose(x, {1, 0, 2}), {3, 2, 2, 2}, {4, 12, 2, 1}},  // the last axis is split
      {transpose(x, {2, 0, 1}), {4, 6}, {1, 4}},               // the last two are one again
      {transpose(x, {2, 0, 1}), {2, 2, 6}, {2, 1, 4}},
      {slice(x, 2, 0, 4, 2), {12}, {2}},  // every second value, through all axes
      {slice(x, 2, 1, 3), {6, 2}, {4, 1}},
      {slice(x, 1, 0, 2), {2, 8}, {12, 1}},
      {transpose(x, {1, 0, 2}), {3, 1, 2, 4, 1}, {4, 12, 12, 1, 1}},
  };
  for (const Case& view : views) {
    const Shape& to = view.to;
    CAPTURE(to);
    const auto y = reshape(view.from, to);
    CHECK(is_view_of(y, x));
    CHECK(y.values() == view.from.values());
    for (std::size_t i = 0; i < to.size(); ++i)
      if (to[i] != 1) CHECK(y.strides()[i] == view.strides[i]);
  }
}

TEST_CASE("a reshape of repeated values is a view if it only splits axes") {
  const auto x = counted({3});
  const auto rows = broadcast_to(x, {4, 3});
  CHECK(is_view_of(reshape(rows, {2, 2, 3}), x));
  CHECK(reshape(rows, {2, 2, 3}).values() == rows.values());
  CHECK(!is_view_of(reshape(rows, {12}), x));
  CHECK(reshape(rows, {12}).values() == rows.values());
}

TEST_CASE("a reshape that no strides can show copies") {
  const auto x = counted({2, 3, 4});
  for (const auto& from : {transpose(x), transpose(x, {1, 0, 2}), slice(x, 2, 0, 3)}) {
    const auto y = reshape(from, {-1});
    CHECK(!is_view_of(y, x));
    CHECK(y.is_contiguous());
    CHECK(y.values() == from.values());
  }
}

TEST_CASE("reshape finds the length that is left") {
  const auto x = counted({2, 6});
  CHECK(reshape(x, {-1}).shape() == Shape{12});
  CHECK(reshape(x, {3, -1}).shape() == Shape{3, 4});
  CHECK(reshape(x, {-1, 12}).shape() == Shape{1, 12});
  CHECK(reshape(Tensor<double>::zeros({0, 2}), {-1, 2}).shape() == Shape{0, 2});
  CHECK(reshape(Tensor<double>(5), {-1}).values() == Doubles{5});
}

TEST_CASE("gradients through a reshape that copies are in the order of its input") {
  Tape<double> tape;
  const auto x = tape.variable(counted({2, 3}));
  const auto y = reshape(transpose(x), {6});
  const auto dx = tape.gradient(sum(y * counted({6})), x);
  CHECK(dx.values() == Doubles{0, 2, 4, 1, 3, 5});
}

TEST_CASE("eight axes can be reshaped transposed sliced and summed") {
  const auto x = counted({2, 1, 2, 1, 2, 1, 2, 1});
  const auto y = transpose(x, {7, 6, 5, 4, 3, 2, 1, 0});
  CHECK(y.shape() == Shape{1, 2, 1, 2, 1, 2, 1, 2});
  CHECK(y.at({0, 1, 0, 0, 0, 0, 0, 0}) == 1);
  CHECK(sum(slice(y, 1, 1, 2)).item() == 1 + 3 + 5 + 7 + 9 + 11 + 13 + 15);
  CHECK(contiguous(y).values() == y.values());
}

// ---- axes ------------------------------------------------------------------------------------

TEST_CASE("unsqueeze puts its axis before the given one and counts negative ones in the result") {
  const auto x = counted({2, 3});
  CHECK(unsqueeze(x, 0).shape() == Shape{1, 2, 3});
  CHECK(unsqueeze(x, 1).shape() == Shape{2, 1, 3});
  CHECK(unsqueeze(x, 2).shape() == Shape{2, 3, 1});
  CHECK(unsqueeze(x, -1).shape() == Shape{2, 3, 1});
  CHECK(unsqueeze(x, -3).shape() == Shape{1, 2, 3});
}

TEST_CASE("squeeze takes away all axes of length 1 or those that are given") {
  const auto x = counted({1, 2, 1});
  CHECK(squeeze(x).shape() == Shape{2});
  CHECK(squeeze(x, 0).shape() == Shape{2, 1});
  CHECK(squeeze(x, {0, -1}).shape() == Shape{2});
  CHECK(squeeze(x, List()).shape() == Shape{1, 2, 1});
  CHECK(squeeze(counted({1, 1})).shape() == Shape{});
}

TEST_CASE("transposing twice and by the inverse order gives the original back") {
  const auto x = counted({2, 3, 4});
  CHECK(transpose(transpose(x)).is_contiguous());
  CHECK(same_bits(transpose(transpose(x, {2, 0, 1}), {1, 2, 0}), x));
  CHECK(transpose(x, {-1, 0, 1}).shape() == Shape{4, 2, 3});
}

TEST_CASE("an op that has nothing to do adds no line") {
  Tape<double> tape;
  const auto x = tape.variable(counted({2, 3}));
  contiguous(x);
  broadcast_to(x, {2, 3});
  CHECK(tape.size() == 1);
  contiguous(transpose(x));
  CHECK(tape.size() == 3);
}

// ---- slices ----------------------------------------------------------------------------------

TEST_CASE("a slice takes the positions that Python takes") {
  const std::int64_t length = 5;
  const auto x = counted({length});
  int compared = 0;
  for (std::int64_t start = -7; start <= 7; ++start)
    for (std::int64_t stop = -7; stop <= 7; ++stop)
      for (std::int64_t step = 1; step <= 6; ++step) {
        const std::int64_t from = std::max<std::int64_t>(0, start < 0 ? start + length : start);
        const std::int64_t to = stop < 0 ? stop + length : stop;
        Doubles expected, gradient(static_cast<std::size_t>(length));
        for (std::int64_t i = from; i < to && i < length; i += step) {
          expected.push_back(static_cast<double>(i));
          gradient[static_cast<std::size_t>(i)] = 1;
        }
        CAPTURE(start);
        CAPTURE(stop);
        CAPTURE(step);
        CHECK(slice(x, 0, start, stop, step).values() == expected);
        const auto f = [&](const auto& v) { return sum(slice(v, 0, start, stop, step)); };
        CHECK(grad(f)(x).values() == gradient);
        ++compared;
      }
  CHECK(compared == 15 * 15 * 6);
}

TEST_CASE("a slice takes the largest numbers for beyond the end") {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const auto x = counted({3});
  CHECK(slice(x, 0, kLeast, kMost).values() == x.values());
  CHECK(slice(x, 0, 1, kMost, kMost).values() == Doubles{1});
  CHECK(slice(x, 0, kMost, kLeast).size() == 0);
  CHECK(grad([](const auto& v) { return sum(slice(v, 0, 1, kMost, kMost)); })(x).values() ==
        Doubles{0, 1, 0});
}

TEST_CASE("slices of slices count from where they begin") {
  const auto x = counted({10});
  const auto odd = slice(x, 0, 1, 10, 2);
  CHECK(slice(odd, 0, 1, 5, 2).values() == Doubles{3, 7});
  CHECK(slice(odd, 0, 1, 5, 2).strides() == List{4});
}

TEST_CASE("unslice undoes slice and fills with zeros") {
  const auto x = counted({6}) + 1;
  CHECK(unslice(slice(x, 0, 1, 6, 2), 0, 1, 6, 2).values() == Doubles{0, 2, 0, 4, 0, 6});
  CHECK(unslice(Tensor<double>::ones({0}), 0, 3, 3).values() == Doubles{0, 0, 0});
  CHECK(unslice(Tensor<double>::ones({0}), 0, 0, 0).size() == 0);
}

// ---- split and concatenate -------------------------------------------------------------------

TEST_CASE("the gradient of split is that of slices to the last bit") {
  const auto x = Random(5).normal<double>({3, 6});
  const auto weights = Random(6).normal<double>({3, 3});
  const auto by_split = [&](const auto& v) {
    const auto part = split(v, {1, 2, 3}, 1);
    return sum(part[0] * part[1]) + sum(part[2] * weights);
  };
  const auto by_slices = [&](const auto& v) {
    return sum(slice(v, 1, 0, 1) * slice(v, 1, 1, 3)) + sum(slice(v, 1, 3, 6) * weights);
  };
  CHECK(same_bits(by_split(x), by_slices(x)));
  CHECK(same_bits(grad(by_split)(x), grad(by_slices)(x)));
}

TEST_CASE("parts of a split that the target does not use have gradient 0") {
  const auto f = [](const auto& x) { return sum(square(split(x, {2, 1, 2}, 0)[1])); };
  CHECK(grad(f)(counted({5})).values() == Doubles{0, 0, 4, 0, 0});
}

TEST_CASE("a split is one op however many parts it has") {
  Tape<double> tape;
  const auto x = tape.variable(counted({100}));
  const auto parts = split(x, List(100, 1), 0);
  CHECK(parts.size() == 100);
  CHECK(tape.size() == 101);
  CHECK(tape.node(1).outputs == 100);
  CHECK(tape.gradient(sum(parts[7]), x).values()[7] == 1);
  CHECK(split(Tensor<double>::zeros({2, 0}), {}, 1).empty());
}

TEST_CASE("a tensor joined to itself gets both cotangents") {
  const auto f = [](const auto& x) {
    return sum(concatenate(std::vector<Tensor<double>>{x, x}, 0) * counted({6}));
  };
  CHECK(grad(f)(counted({3})).values() == Doubles{3, 5, 7});
}

TEST_CASE("split and concatenate undo each other on any axis") {
  const auto x = Random(7).normal<double>({4, 4, 4});
  for (const auto& layout : {x, transpose(x), broadcast_to(slice(x, 1, 2, 3), {4, 4, 4})})
    for (const int axis : {0, 1, -1}) {
      const auto parts = split(layout, {1, 0, 3}, axis);
      CHECK(parts[1].size() == 0);
      CHECK(same_bits(concatenate(parts, axis), contiguous(layout)));
    }
}

// ---- gather and scatter_add ------------------------------------------------------------------

TEST_CASE("gather reads strided tensors on any axis") {
  const auto x = transpose(counted({3, 2}));  // [[0, 2, 4], [1, 3, 5]]
  CHECK(gather(x, Index{2, 0}, -1).values() == Doubles{4, 0, 5, 1});
  CHECK(gather(x, Index{1}, 0).values() == Doubles{1, 3, 5});
  const auto repeated = broadcast_to(counted({3}), {2, 3});
  CHECK(gather(repeated, Index{2, 2, 1}, 1).values() == Doubles{2, 2, 1, 2, 2, 1});
  CHECK(gather(slice(counted({6}), 0, 1, 6, 2), Index{2, 0}).values() == Doubles{5, 1});
}

TEST_CASE("gather puts the axes of the index in the place of its axis") {
  const auto x = counted({2, 3, 2});
  const Index index({2, 2}, {2, 0, 1, 1});
  const auto y = gather(x, index, 1);
  CHECK(y.shape() == Shape{2, 2, 2, 2});
  CHECK(y.values() == Doubles{4, 5, 0, 1, 2, 3, 2, 3, 10, 11, 6, 7, 8, 9, 8, 9});
  CHECK(gather(x, Index({}, {1}), -2).shape() == Shape{2, 2});
  CHECK(gather(x, Index({0}, {}), 2).shape() == Shape{2, 3, 0});
  CHECK(gather(Tensor<double>::zeros({0, 2}), Index({0}, {})).shape() == Shape{0, 2});
}

TEST_CASE("a position gathered twice collects both cotangents") {
  const auto f = [](const auto& x) { return sum(gather(x, Index{2, 0, 2}) * counted({3})); };
  CHECK(grad(f)(counted({4})).values() == Doubles{1, 0, 2, 0});
}

TEST_CASE("scatter_add reads strided tensors on any axis") {
  const auto x = transpose(counted({3, 2}));  // [[0, 2, 4], [1, 3, 5]]
  CHECK(scatter_add(x, Index{1, 1, 3}, 4, -1).values() == Doubles{0, 2, 0, 4, 0, 4, 0, 5});
  CHECK(scatter_add(x, Index{1, 1}, 2, 0).values() == Doubles{0, 0, 0, 1, 5, 9});
  CHECK(scatter_add(broadcast_to(Tensor<double>(2), {3}), Index{0, 0, 1}, 2).values() ==
        Doubles{4, 2});
}

TEST_CASE("scatter_add puts its axis in the place of the index's axes") {
  const Index index({2, 2}, {2, 0, 2, 2});
  CHECK(scatter_add(counted({2, 2}), index, 3).values() == Doubles{1, 0, 5});
  const auto y = scatter_add(counted({2, 2, 2}), index, 3, 1);
  CHECK(y.shape() == Shape{2, 3});
  CHECK(y.values() == Doubles{1, 0, 5, 5, 0, 17});
  CHECK(scatter_add(Tensor<double>(4), Index({}, {1}), 2).values() == Doubles{0, 4});
  CHECK(scatter_add(Tensor<double>::zeros({0}), Index({0}, {}), 2).values() == Doubles{0, 0});
}

TEST_CASE("scatter_add sums float in double") {
  const Tensor<float> x{16777216, 1, 1};
  CHECK(scatter_add(x, Index{0, 0, 0}, 1).values() == std::vector<float>{16777218});
  const auto f = [&](const auto& v) { return sum(gather(v, Index{0, 0, 0}) * x); };
  CHECK(grad(f)(Tensor<float>{1}).values() == std::vector<float>{16777218});
}
