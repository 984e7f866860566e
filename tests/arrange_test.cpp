// flip, stack, unstack, pad, triu, tril, take_along_axis and one_hot against results by hand, what
// they share and cost, and their errors.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/close.hpp"
#include "support/errors.hpp"

namespace {

using namespace xtape;
using closeness::same_bits;
using test::invalid;
using Doubles = std::vector<double>;
using Tensors = std::vector<Tensor<double>>;
using Strides = std::vector<std::int64_t>;

const std::string kOutside =
    " (number 1 of the index) on an axis of length 3: it must be at least 0 and below the length.";
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// 0, 1, 2, ... in a shape.
Tensor<double> counted(const Shape& shape) {
  std::int64_t n = 1;
  for (std::int64_t length : shape) n *= length;
  return reshape(Tensor<double>::arange(0, static_cast<double>(n)), shape);
}

Tensor<double> ones(const Shape& shape) { return Tensor<double>::ones(shape); }

}  // namespace

// ---- flip ------------------------------------------------------------------------------------

TEST_CASE("flip turns the given axes and all unless told otherwise") {
  const auto x = counted({2, 3});
  CHECK(flip(x).values() == Doubles{5, 4, 3, 2, 1, 0});
  CHECK(flip(x, 0).values() == Doubles{3, 4, 5, 0, 1, 2});
  CHECK(flip(x, -1).values() == Doubles{2, 1, 0, 5, 4, 3});
  CHECK(flip(x, {0, 1}).values() == flip(x).values());
  CHECK(flip(x, Strides()).values() == x.values());
  CHECK(flip(Tensor<double>(3)).item() == 3);
  CHECK(flip(counted({0, 2})).shape() == Shape{0, 2});
}

TEST_CASE("flip is a view that shares its values, also of views") {
  const auto x = counted({2, 3});
  CHECK(flip(x).data() == x.data() + 5);
  CHECK(flip(x).strides() == Strides{-3, -1});
  CHECK(!flip(x).is_contiguous());
  CHECK(flip(flip(x)).data() == x.data());
  CHECK(flip(flip(x)).strides() == x.strides());
  const auto part = slice(flip(x, 1), 1, 0, 2);
  CHECK(part.data() == x.data() + 2);
  CHECK(part.values() == Doubles{2, 1, 5, 4});
  CHECK(flip(transpose(x), 0).data() == x.data() + 2);
  CHECK(flip(transpose(x), 0).values() == Doubles{2, 5, 1, 4, 0, 3});
  CHECK(slice(flip(counted({5})), 0, 1, 5, 2).values() == Doubles{3, 1});
  // 2^40 values would not fit into this memory.
  const auto huge = broadcast_to(x, {1 << 20, 1 << 20, 2, 3});
  CHECK(flip(huge).at({0, -1, 0, 0}) == 5);
}

TEST_CASE("reshapes, matrix products and reductions read flipped tensors as their copies") {
  const auto x = counted({2, 3, 4}), flipped = flip(x);
  const auto copy = contiguous(flipped);
  CHECK(copy.data() != flipped.data());
  CHECK(same_bits(reshape(flipped, {6, 4}), reshape(copy, {6, 4})));
  CHECK(same_bits(reshape(flipped, {24}), reshape(copy, {24})));
  CHECK(same_bits(matmul(flipped, transpose(flipped)), matmul(copy, transpose(copy))));
  CHECK(same_bits(sum(flipped, 1), sum(copy, 1)));
  CHECK(same_bits(softmax(flipped, 0), softmax(copy, 0)));
  CHECK(flipped.at({0, 0, 1}) == 22);
}

TEST_CASE("flip refuses an axis that is not there") {
  CHECK(invalid([] {
          flip(ones({2, 3}), 2);
        }) == "[flip] axis 2 of 2 axes: it must be at least -2 and below 2.");
}

// ---- stack and unstack -----------------------------------------------------------------------

TEST_CASE("stack puts tensors beside each other along a new axis") {
  const Tensor<double> a{1, 2, 3}, b{4, 5, 6};
  CHECK(stack(Tensors{a, b}).values() == Doubles{1, 2, 3, 4, 5, 6});
  CHECK(stack(Tensors{a, b}).shape() == Shape{2, 3});
  CHECK(stack(Tensors{a, b}, 1).values() == Doubles{1, 4, 2, 5, 3, 6});
  CHECK(stack(Tensors{a, b}, -1).shape() == Shape{3, 2});
  CHECK(stack(Tensors{1, 2}).values() == Doubles{1, 2});  // of scalars a vector
}

TEST_CASE("stack and unstack undo each other on any axis") {
  const auto x = Random(7).normal<double>({3, 3, 3});
  for (const auto& layout : {x, transpose(x), flip(x), broadcast_to(slice(x, 1, 2, 3), {3, 3, 3})})
    for (const int axis : {0, 1, 2, -1, -3}) {
      const auto parts = unstack(layout, axis);
      CHECK(parts.size() == 3);
      CHECK(same_bits(stack(parts, axis), contiguous(layout)));
    }
  CHECK(unstack(counted({0, 2})).empty());
  CHECK(unstack(counted({2, 0}))[1].shape() == Shape{0});
  CHECK(unstack(Tensor<double>{7, 8})[1].shape() == Shape{});
}

TEST_CASE("unstack is one op whose parts are views") {
  Tape<double> tape;
  const auto x = tape.variable(counted({100, 2}));
  const auto parts = unstack(x);
  CHECK(tape.size() == 101);
  CHECK(tape.node(1).outputs == 100);
  CHECK(parts[3].data() == x.data() + 6);
  const auto columns = unstack(x, 1);
  CHECK(columns[1].data() == x.data() + 1);
  CHECK(columns[1].strides() == Strides{2});
  CHECK(tape.gradient(sum(columns[1]), x).at({7, 1}) == 1);
  CHECK(tape.gradient(sum(columns[1]), x).at({7, 0}) == 0);
}

TEST_CASE("the gradient of unstack costs one tensor however many parts are used") {
  // Every cotangent that the sweep passes: with n slices each would be as large as x.
  const std::int64_t n = 200;
  Tape<double> tape;
  const auto x = tape.variable(counted({n, n}));
  Tensor<double> total = 0;
  for (const auto& part : unstack(x)) total = total + sum(part * part);
  const std::int64_t before = tape.size();
  const auto g = tape.gradient(total, x, Record::yes);
  CHECK(same_bits(g, x * 2));
  std::int64_t values = 0, large = 0;
  for (std::int64_t line = before; line < tape.size(); ++line) {
    std::int64_t size = 1;
    for (std::int64_t length : tape.node(line).shape) size *= length;
    values += size;
    large += size == n * n ? 1 : 0;
  }
  CHECK(large <= 2);            // the stack of cotangents, and what joins them with no others
  CHECK(values <= 16 * n * n);  // some arrays of n values for each part
}

TEST_CASE("parts of unstack that the target does not use have gradient 0") {
  const auto f = [](const auto& x) { return sum(square(unstack(x, 1)[1])); };
  CHECK(grad(f)(counted({2, 3})).values() == Doubles{0, 2, 0, 0, 8, 0});
}

TEST_CASE("a tensor stacked on itself gets both cotangents") {
  const auto f = [](const auto& x) { return sum(stack(Tensors{x, x}) * counted({2, 3})); };
  CHECK(grad(f)(counted({3})).values() == Doubles{3, 5, 7});
}

TEST_CASE("stack refuses no tensors, other shapes and axes beyond the new one") {
  CHECK(invalid([] { stack(Tensors{}); }) == "[stack] no tensors: at least one is required.");
  CHECK(invalid([] {
          stack(Tensors{ones({2, 3}), ones({3})});
        }) == "[stack] shapes [2, 3] and [3]: all must be equal.");
  CHECK(invalid([] {
          stack(Tensors{ones({1}), ones({})});
        }) == "[stack] shapes [1] and []: all must be equal.");
  CHECK(invalid([] { stack(Tensors{ones({2})}, 2); }) ==
        "[stack] axis 2 of 2 axes: it must be at least -2 and below 2.");
  CHECK(invalid([] {
          unstack(ones({2, 3}), -3);
        }) == "[unstack] axis -3 of 2 axes: it must be at least -2 and below 2.");
  CHECK(invalid([] { unstack(ones({})); }) == "[unstack] axis 0 of a scalar: it has no axes.");
}

// ---- pad -------------------------------------------------------------------------------------

TEST_CASE("pad puts its value around and passes the gradient inside") {
  const Tensor<double> x{{1, 2}, {3, 4}};
  const auto f = [](const auto& v, double value) { return pad(v, {{1, 0}, {0, 2}}, value); };
  CHECK(f(x, 0).values() == Doubles{0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0, 0});
  CHECK(f(x, -7).values() == Doubles{-7, -7, -7, -7, 1, 2, -7, -7, 3, 4, -7, -7});
  CHECK(f(transpose(x), 0).values() == Doubles{0, 0, 0, 0, 1, 3, 0, 0, 2, 4, 0, 0});
  const auto weighted = [&](double value) {
    return grad([&](const auto& v) { return sum(f(v, value) * counted({3, 4})); })(x).values();
  };
  CHECK(weighted(0) == Doubles{4, 5, 8, 9});
  CHECK(weighted(9) == weighted(0));
}

TEST_CASE("a pad of NaN or infinity outside leaves no trace in the gradient inside") {
  const auto f = [](const auto& v) {
    return sum(mask(square(pad(v, {{1, 1}}, kNan)), Mask{false, true, true, false}, 0));
  };
  CHECK(grad(f)(Tensor<double>{2, 3}).values() == Doubles{4, 6});
}

TEST_CASE("pad refuses widths that are negative or not one pair an axis") {
  const std::string rest = ": a pair for each axis is required, and none may be negative.";
  CHECK(invalid([] {
          pad(ones({2, 3}), {{1, 1}});
        }) == "[pad] widths [[1, 1]] for shape [2, 3]" + rest);
  CHECK(invalid([] {
          pad(ones({2}), {{1, -1}});
        }) == "[pad] widths [[1, -1]] for shape [2]" + rest);
  CHECK(invalid([] {
          pad(ones({2}), {{-1, 0}, {0, 0}});
        }) == "[pad] widths [[-1, 0], [0, 0]] for shape [2]" + rest);
  CHECK(invalid([] { pad(ones({}), {{0, 0}}); }) == "[pad] widths [[0, 0]] for shape []" + rest);
}

// ---- triangles -------------------------------------------------------------------------------

TEST_CASE("triu and tril keep what lies above and below a diagonal") {
  const auto x = reshape(Tensor<double>::arange(1, 10), {3, 3});
  CHECK(triu(x).values() == Doubles{1, 2, 3, 0, 5, 6, 0, 0, 9});
  CHECK(triu(x, 1).values() == Doubles{0, 2, 3, 0, 0, 6, 0, 0, 0});
  CHECK(triu(x, -1).values() == Doubles{1, 2, 3, 4, 5, 6, 0, 8, 9});
  CHECK(tril(x).values() == Doubles{1, 0, 0, 4, 5, 0, 7, 8, 9});
  CHECK(tril(x, 1).values() == Doubles{1, 2, 0, 4, 5, 6, 7, 8, 9});
  CHECK(tril(x, -1).values() == Doubles{0, 0, 0, 4, 0, 0, 7, 8, 0});
  CHECK(triu(x, 3).values() == Doubles(9, 0));
  CHECK(triu(x, -2).values() == x.values());
  CHECK(tril(x, 2).values() == x.values());
  CHECK(tril(x, -3).values() == Doubles(9, 0));
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  CHECK(triu(x, kMost).values() == Doubles(9, 0));
  CHECK(tril(x, kMost).values() == x.values());
}

TEST_CASE("a triangle's gradient is the same triangle, and NaN outside changes nothing") {
  const Tensor<double> x{{1, kNan}, {3, 4}};
  const auto f = [](const auto& v) { return sum(square(tril(v))); };
  CHECK(f(x).item() == 26);
  CHECK(grad(f)(x).values() == Doubles{2, 0, 6, 8});
}

TEST_CASE("the upper triangle and the strictly lower one add up to the matrix") {
  const auto x = Random(3).normal<double>({2, 4, 3});
  for (const int k : {-3, -1, 0, 2}) CHECK(same_bits(triu(x, k) + tril(x, k - 1), x));
}

TEST_CASE("triangles of less than two axes are refused") {
  CHECK(invalid([] { triu(ones({3})); }) == "[triu] shape [3]: at least two axes are required.");
  CHECK(invalid([] { tril(ones({})); }) == "[tril] shape []: at least two axes are required.");
}

// ---- take_along_axis and one_hot -------------------------------------------------------------

TEST_CASE("take_along_axis takes one value for each position along an axis") {
  const Tensor<double> x{{10, 11, 12}, {20, 21, 22}};
  CHECK(take_along_axis(x, Index({2, 2}, {2, 0, 1, 1}), 1).values() == Doubles{12, 10, 21, 21});
  CHECK(take_along_axis(x, Index({1, 3}, {1, 0, 1}), 0).values() == Doubles{20, 11, 22});
  CHECK(take_along_axis(x, Index({1, 3}, {1, 0, 1}), -2).shape() == Shape{1, 3});
  CHECK(take_along_axis(transpose(x), Index({3, 1}, {0, 1, 0}), 1).values() == Doubles{10, 21, 12});
  CHECK(take_along_axis(x, Index({2, 0}, {}), 1).shape() == Shape{2, 0});
}

TEST_CASE("a position taken twice collects both cotangents in its own row") {
  const auto f = [](const auto& x) {
    return sum(take_along_axis(x, Index({2, 3}, {1, 1, 0, 0, 0, 0}), 1) * counted({2, 3}));
  };
  CHECK(grad(f)(ones({2, 3})).values() == Doubles{2, 0 + 1, 0, 3 + 4 + 5, 0, 0});
}

TEST_CASE("take_along_axis refuses positions outside and other axes of another length") {
  const auto x = ones({2, 3});
  const std::string rest = ": all other axes must be equal.";
  CHECK(invalid([&] {
          take_along_axis(x, Index({3, 1}, {0, 0, 0}), 1);
        }) ==
        "[take_along_axis] an index of shape [3, 1] for x of shape [2, 3] along axis 1" + rest);
  CHECK(invalid([&] {
          take_along_axis(x, Index{0, 1}, -1);
        }) == "[take_along_axis] an index of shape [2] for x of shape [2, 3] along axis 1" + rest);
  for (const std::int64_t outside : {-1, 3})
    CHECK(invalid([&] {
            take_along_axis(x, Index({2, 1}, {0, outside}), 1);
          }) == "[take_along_axis] position " + std::to_string(outside) + kOutside);
}

TEST_CASE("one_hot has a 1 at each class and 0 elsewhere") {
  CHECK(one_hot<double>(Index{2, 0}, 3).values() == Doubles{0, 0, 1, 1, 0, 0});
  CHECK(one_hot<float>(Index({2, 1}, {1, 0}), 2).shape() == Shape{2, 1, 2});
  CHECK(one_hot<float>(Index({}, {1}), 2).values() == std::vector<float>{0, 1});
  CHECK(one_hot<double>(Index({0}, {}), 4).shape() == Shape{0, 4});
  CHECK(one_hot<double>(Index({0}, {}), 0).shape() == Shape{0, 0});
  CHECK(argmax(one_hot<double>(Index{3, 1, 2}, 4)).values() == Index{3, 1, 2}.values());
}

TEST_CASE("one_hot refuses classes outside") {
  for (const std::int64_t outside : {-1, 3})
    CHECK(invalid([&] {
            one_hot<double>(Index{0, outside}, 3);
          }) == "[one_hot] position " + std::to_string(outside) + kOutside);
  CHECK(invalid([] { one_hot<double>(Index({0}, {}), -1); }) ==
        "[one_hot] shape [0, -1]: no length may be negative.");
}
