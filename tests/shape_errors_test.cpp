// What the ops on shapes say of bad arguments.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/errors.hpp"

namespace {

using namespace xtape;
using test::invalid;
using test::kUncountable;
using List = std::vector<std::int64_t>;

Tensor<double> ones(const Shape& shape) { return Tensor<double>::ones(shape); }

}  // namespace

TEST_CASE("an axis that a shape op does not find is refused in the op's name") {
  const auto x = ones({2, 3});
  const std::string rest = " axis 2 of 2 axes: it must be at least -2 and below 2.";
  CHECK(invalid([&] { transpose(x, {0, 2}); }) == "[transpose]" + rest);
  CHECK(invalid([&] { squeeze(x, 2); }) == "[squeeze]" + rest);
  CHECK(invalid([&] { slice(x, 2, 0, 1); }) == "[slice]" + rest);
  CHECK(invalid([&] { unslice(x, 2, 0, 5); }) == "[unslice]" + rest);
  CHECK(invalid([&] { split(x, {1, 1}, 2); }) == "[split]" + rest);
  CHECK(invalid([&] {
          concatenate(std::vector<Tensor<double>>{x, x}, 2);
        }) == "[concatenate]" + rest);
  CHECK(invalid([&] { gather(x, Index{0}, 2); }) == "[gather]" + rest);
  CHECK(invalid([&] { scatter_add(x, Index{0, 1}, 3, 2); }) == "[scatter_add]" + rest);
  CHECK(invalid([&] { unsqueeze(x, 3); }) ==
        "[unsqueeze] axis 3 of 3 axes: it must be at least -3 and below 3.");
  CHECK(invalid([&] { unsqueeze(x, -4); }) ==
        "[unsqueeze] axis -4 of 3 axes: it must be at least -3 and below 3.");
}

TEST_CASE("reshape refuses another number of values") {
  CHECK(invalid([] {
          reshape(ones({2, 3}), {4});
        }) == "[reshape] shape [2, 3] to [4]: the number of values must stay the same.");
  CHECK(invalid([] {
          reshape(ones({2, 3}), {});
        }) == "[reshape] shape [2, 3] to []: the number of values must stay the same.");
  CHECK(invalid([] { reshape(ones({0}), {1}); }) ==
        "[reshape] shape [0] to [1]: the number of values must stay the same.");
  CHECK(invalid([] {
          reshape(Mask{true, false}, {3});
        }) == "[reshape] shape [2] to [3]: the number of values must stay the same.");
}

TEST_CASE("reshape refuses a length that cannot be found") {
  CHECK(invalid([] {
          reshape(ones({2, 3}), {4, -1});
        }) == "[reshape] shape [2, 3] to [4, -1]: the length for -1 cannot be found.");
  CHECK(invalid([] {
          reshape(ones({0}), {0, -1});
        }) == "[reshape] shape [0] to [0, -1]: the length for -1 cannot be found.");
}

TEST_CASE("reshape refuses negative lengths and more axes or values than there can be") {
  CHECK(invalid([] {
          reshape(ones({2}), {-2, -1});
        }) == "[reshape] shape [-2, 1]: no length may be negative.");
  CHECK(invalid([] {
          reshape(ones({1}), {1, 1, 1, 1, 1, 1, 1, 1, 1});
        }) == "[reshape] shape [1, 1, 1, 1, 1, 1, 1, 1, 1] has 9 axes: at most 8 are possible.");
  CHECK(invalid([] {
          reshape(ones({1}), {std::int64_t{1} << 40, std::int64_t{1} << 40});
        }) == "[reshape] shape [1099511627776, 1099511627776]" + kUncountable);
}

TEST_CASE("transpose refuses what is no permutation and tensors without two axes") {
  const auto x = ones({2, 3});
  CHECK(invalid([&] {
          transpose(x, {0, 0});
        }) == "[transpose] order [0, 0] for shape [2, 3]: each axis is required once.");
  CHECK(invalid([&] { transpose(x, {0}); }) ==
        "[transpose] order [0] for shape [2, 3]: each axis is required once.");
  CHECK(invalid([&] {
          transpose(x, {0, 1, 2});
        }) == "[transpose] order [0, 1, 2] for shape [2, 3]: each axis is required once.");
  CHECK(invalid([&] {
          transpose(x, {1, -1});
        }) == "[transpose] order [1, -1] for shape [2, 3]: each axis is required once.");
  CHECK(invalid([] { transpose(ones({3})); }) ==
        "[transpose] shape [3]: at least two axes are required.");
  CHECK(invalid([] { transpose(ones({})); }) ==
        "[transpose] shape []: at least two axes are required.");
}

TEST_CASE("unsqueeze and squeeze refuse axes that cannot come or go") {
  CHECK(invalid([] {
          unsqueeze(ones({1, 1, 1, 1, 1, 1, 1, 1}), 0);
        }) == "[unsqueeze] shape [1, 1, 1, 1, 1, 1, 1, 1] has all the axes that are possible.");
  CHECK(invalid([] {
          squeeze(ones({2, 1}), 0);
        }) == "[squeeze] axis 0 of shape [2, 1]: its length must be 1.");
  CHECK(invalid([] {
          squeeze(ones({1, 0}), {0, -1});
        }) == "[squeeze] axis -1 of shape [1, 0]: its length must be 1.");
}

TEST_CASE("slice refuses steps below 1") {
  CHECK(invalid([] { slice(ones({3}), 0, 0, 3, 0); }) == "[slice] step 0: it must be at least 1.");
  CHECK(invalid([] { slice(ones({3}), 0, 2, 0, -1); }) ==
        "[slice] step -1: it must be at least 1.");
}

TEST_CASE("unslice refuses what does not fit") {
  const std::string rest = ": they must fit, and the step be at least 1.";
  const auto x = ones({3});
  CHECK(invalid([&] { unslice(x, 0, 1, 3); }) ==
        "[unslice] 3 values from 1 in steps of 1 on an axis of length 3" + rest);
  CHECK(invalid([&] { unslice(x, 0, 0, 4, 2); }) ==
        "[unslice] 3 values from 0 in steps of 2 on an axis of length 4" + rest);
  CHECK(invalid([&] { unslice(x, 0, -1, 9); }) ==
        "[unslice] 3 values from -1 in steps of 1 on an axis of length 9" + rest);
  CHECK(invalid([&] { unslice(x, 0, 0, 9, 0); }) ==
        "[unslice] 3 values from 0 in steps of 0 on an axis of length 9" + rest);
  CHECK(invalid([&] { unslice(ones({1}), 0, 4, 4, 2); }) ==
        "[unslice] 1 value from 4 in steps of 2 on an axis of length 4" + rest);
  CHECK(invalid([&] { unslice(ones({0}), 0, 0, -1); }) ==
        "[unslice] 0 values from 0 in steps of 1 on an axis of length -1" + rest);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  CHECK(invalid([&] { unslice(x, 0, 0, 9, kMost); }) ==
        "[unslice] 3 values from 0 in steps of 9223372036854775807 on an axis of length 9" + rest);
}

TEST_CASE("split refuses lengths that do not sum to the axis's") {
  const auto x = ones({2, 5});
  const std::string rest = ": they must sum to its length.";
  CHECK(invalid([&] {
          split(x, {2, 2}, 1);
        }) == "[split] axis 1 of shape [2, 5] into lengths [2, 2]" + rest);
  CHECK(invalid([&] {
          split(x, {3, 3}, -1);
        }) == "[split] axis 1 of shape [2, 5] into lengths [3, 3]" + rest);
  CHECK(invalid([&] {
          split(x, {6, -1}, 1);
        }) == "[split] axis 1 of shape [2, 5] into lengths [6, -1]" + rest);
  CHECK(invalid([&] { split(x, {}, 0); }) ==
        "[split] axis 0 of shape [2, 5] into lengths []" + rest);
}

TEST_CASE("concatenate refuses no tensors and tensors that do not fit together") {
  using Tensors = std::vector<Tensor<double>>;
  CHECK(invalid([] { concatenate(Tensors(), 0); }) ==
        "[concatenate] no tensors: at least one is required.");
  CHECK(invalid([] {
          concatenate(Tensors{ones({2, 3}), ones({2, 4})}, 0);
        }) == "[concatenate] shapes [2, 3] and [2, 4] along axis 0: all other axes must be equal.");
  CHECK(invalid([] {
          concatenate(Tensors{ones({2, 3}), ones({3})}, 1);
        }) == "[concatenate] shapes [2, 3] and [3] along axis 1: all other axes must be equal.");
}

TEST_CASE("broadcast_to refuses shapes that a tensor does not broadcast to") {
  const std::string rest = ": lengths, counted from the last axis, must be equal or 1.";
  CHECK(invalid([] {
          broadcast_to(ones({2, 3}), {3});
        }) == "[broadcast_to] shape [2, 3] to [3]" + rest);
  CHECK(invalid([] { broadcast_to(ones({3}), {1}); }) == "[broadcast_to] shape [3] to [1]" + rest);
  CHECK(invalid([] { broadcast_to(ones({3}), {2}); }) == "[broadcast_to] shape [3] to [2]" + rest);
  CHECK(invalid([] { broadcast_to(ones({1}), {-1}); }) ==
        "[broadcast_to] shape [-1]: no length may be negative.");
}

TEST_CASE("gather and scatter_add refuse positions outside") {
  const std::string rest = ": it must be at least 0 and below the length.";
  const auto x = ones({3});
  CHECK(invalid([&] {
          gather(x, Index{0, 3});
        }) == "[gather] position 3 (number 1 of the index) on an axis of length 3" + rest);
  CHECK(invalid([&] { gather(x, Index{-1}); }) ==
        "[gather] position -1 (number 0 of the index) on an axis of length 3" + rest);
  CHECK(invalid([&] { gather(Tensor<double>::zeros({0}), Index{0}); }) ==
        "[gather] position 0 (number 0 of the index) on an axis of length 0" + rest);
  CHECK(invalid([&] {
          scatter_add(x, Index{0, 1, 2}, 2);
        }) == "[scatter_add] position 2 (number 2 of the index) on an axis of length 2" + rest);
  CHECK(invalid([&] {
          scatter_add(x, Index{0, -1, 0}, 2);
        }) == "[scatter_add] position -1 (number 1 of the index) on an axis of length 2" + rest);
  CHECK(invalid([&] { scatter_add(Tensor<double>::zeros({0}), Index({0}, {}), -1); }) ==
        "[scatter_add] shape [-1]: no length may be negative.");
}

TEST_CASE("gather refuses a result of more than eight axes") {
  CHECK(invalid([] {
          gather(ones({2, 1, 1, 1}), Index({1, 1, 1, 1, 1, 1}, {0}));
        }) == "[gather] shape [1, 1, 1, 1, 1, 1, 1, 1, 1] has 9 axes: at most 8 are possible.");
}

TEST_CASE("scatter_add refuses a tensor without the index's axes") {
  const Index index({2, 2}, {0, 0, 0, 0});
  CHECK(invalid([&] { scatter_add(ones({4}), index, 3); }) ==
        "[scatter_add] x of shape [4] with an index of shape [2, 2]: x must have all axes of the "
        "index.");
  CHECK(invalid([&] {
          scatter_add(ones({2, 3}), index, 3);
        }) ==
        "[scatter_add] x of shape [2, 3] with an index of shape [2, 2] on axis 0: x must have the "
        "axes of the index there.");
  CHECK(invalid([&] {
          scatter_add(ones({2, 2, 3}), index, 3, 1);
        }) ==
        "[scatter_add] x of shape [2, 2, 3] with an index of shape [2, 2] on axis 1: x must have "
        "the axes of the index there.");
}

TEST_CASE("an axis of a scalar is refused in words of its own") {
  CHECK(invalid([] { Tensor<double>(1).dim(0); }) == "[dim] axis 0 of a scalar: it has no axes.");
  CHECK(invalid([] { softmax(Tensor<double>(1)); }) ==
        "[softmax] axis -1 of a scalar: it has no axes.");
}

TEST_CASE("an index without a value is refused in the name of the op") {
  const Tensor<double> x{1, 2};
  CHECK(invalid([&] { gather(x, Index()); }) ==
        "[gather] an array without a value was given: it must be assigned first.");
  CHECK(invalid([&] { cross_entropy(x, Index()); }) ==
        "[cross_entropy] an array without a value was given: it must be assigned first.");
}

TEST_CASE(
    "more values than can be counted are refused in the name of the op that would hold them") {
  // Views of one value, which take no memory.
  constexpr std::int64_t kMany = std::int64_t{1} << 40, kMost = std::int64_t{1} << 62;
  const auto one = Tensor<double>(1);
  const auto row = broadcast_to(one, {1, kMany}), column = broadcast_to(one, {kMany, 1});
  const std::string rest = " shape [1099511627776, 1099511627776]" + kUncountable;
  CHECK(invalid([&] { row + column; }) == "[add]" + rest);
  CHECK(invalid([&] { maximum(column, row); }) == "[maximum]" + rest);
  CHECK(invalid([&] { less(row, column); }) == "[less]" + rest);
  CHECK(invalid([&] { where(Mask(true), row, column); }) == "[where]" + rest);
  CHECK(invalid([&] { matmul(column, row); }) == "[matmul]" + rest);
  CHECK(invalid([&] { outer(squeeze(row), squeeze(column)); }) == "[mul]" + rest);
  CHECK(invalid([&] { unslice(column, 1, 0, kMany); }) == "[unslice]" + rest);
  CHECK(invalid([&] { pad(column, {{0, 0}, {0, kMany - 1}}); }) == "[pad]" + rest);
  CHECK(invalid([&] {
          pad(ones({5}), {{kMost, kMost}});  // 5 + 2^62 + 2^62 is below 0
        }) == "[pad] shape [4611686018427387904]" + kUncountable);
  const std::vector<Tensor<double>> wide(64, broadcast_to(one, {kMany, 1 << 18}));
  CHECK(invalid([&] { stack(wide); }) ==
        "[stack] shape [64, 1099511627776, 262144]" + kUncountable);
  // Two of them have 2^59 values; one less than that is the most.
  CHECK(invalid([&] { concatenate(wide, 0); }) ==
        "[concatenate] shape [2199023255552, 262144]" + kUncountable);
}

TEST_CASE("stack refuses a ninth axis") {
  CHECK(invalid([] {
          stack(std::vector<Tensor<double>>{ones({1, 1, 1, 1, 1, 1, 1, 1})});
        }) == "[stack] shape [1, 1, 1, 1, 1, 1, 1, 1, 1] has 9 axes: at most 8 are possible.");
}
