// Views: O(1), sharing storage; and that nothing changes a tensor once it exists.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include <xtape/xtape.hpp>

namespace {

using namespace xtape;
using Values = std::vector<double>;
using Strides = std::vector<std::int64_t>;

// [[1, 2, 3], [4, 5, 6]]
Tensor<double> two_by_three() { return Tensor<double>({2, 3}, {1, 2, 3, 4, 5, 6}); }

}  // namespace

TEST_CASE("copies and views point to the same values") {
  const auto x = two_by_three();
  const Tensor<double> copy = x;
  CHECK(copy.data() == x.data());
  CHECK(transpose(x).data() == x.data());
  CHECK(slice(x, 1, 1, 3).data() == x.data() + 1);
  CHECK(slice(x, 0, 1, 2).data() == x.data() + 3);
  CHECK(broadcast_to(x, {4, 2, 3}).data() == x.data());
  CHECK(unsqueeze(x, 0).data() == x.data());
  CHECK(squeeze(unsqueeze(x, -1)).data() == x.data());
  CHECK(reshape(x, {3, 2}).data() == x.data());
  CHECK(contiguous(x).data() == x.data());
  CHECK(stop_gradient(x).data() == x.data());
  const auto parts = split(x, {1, 2}, 1);
  CHECK(parts[0].data() == x.data());
  CHECK(parts[1].data() == x.data() + 1);
}

TEST_CASE("views have the strides that their axes imply") {
  const auto x = two_by_three();
  CHECK(transpose(x).strides() == Strides{1, 3});
  CHECK(slice(x, 1, 0, 3, 2).strides() == Strides{3, 2});
  CHECK(broadcast_to(x, {4, 2, 3}).strides() == Strides{0, 3, 1});
  CHECK(reshape(x, {3, 2}).strides() == Strides{2, 1});
  CHECK(!transpose(x).is_contiguous());
  CHECK(!slice(x, 1, 0, 2).is_contiguous());
  CHECK(slice(x, 0, 1, 2).is_contiguous());
  CHECK(reshape(x, {6}).is_contiguous());
}

TEST_CASE("views of views read the right values") {
  const auto x = two_by_three();
  CHECK(transpose(x).values() == Values{1, 4, 2, 5, 3, 6});
  CHECK(transpose(transpose(x)).values() == x.values());
  CHECK(slice(transpose(x), 0, 1, 3).values() == Values{2, 5, 3, 6});
  CHECK(slice(transpose(x), 0, 0, 3, 2).at({1, 1}) == 6);
  CHECK(broadcast_to(slice(x, 1, 2, 3), {2, 2}).values() == Values{3, 3, 6, 6});
  CHECK(unsqueeze(transpose(x), 1).values() == Values{1, 4, 2, 5, 3, 6});
  CHECK(transpose(reshape(Tensor<double>::arange(0, 8), {2, 2, 2}), {2, 0, 1}).values() ==
        Values{0, 2, 4, 6, 1, 3, 5, 7});
}

TEST_CASE("reshape is a view where the strides allow and copies where they do not") {
  const auto x = Tensor<double>::arange(0, 24);
  const auto block = reshape(x, {4, 6});
  // Rows with a gap after each: the last axis can be split, the two cannot be merged.
  const auto gapped = slice(block, 1, 0, 4);
  const auto halves = reshape(gapped, {4, 2, 2});
  CHECK(halves.data() == x.data());
  CHECK(halves.strides() == Strides{6, 2, 1});
  CHECK(halves.at({3, 1, 1}) == 21);  // row 3, column 3: 3 * 6 + 3
  const auto flat = reshape(gapped, {16});
  CHECK(flat.data() != x.data());
  CHECK(flat.values() == Values{0, 1, 2, 3, 6, 7, 8, 9, 12, 13, 14, 15, 18, 19, 20, 21});
  // Axes of length 1 come and go freely.
  const auto column = reshape(transpose(block), {6, 1, 4, 1});
  CHECK(column.data() == x.data());
  CHECK(column.at({5, 0, 3, 0}) == 23);
  const auto merged = reshape(transpose(block), {24});
  CHECK(merged.data() != x.data());
  CHECK(merged.at({1}) == 6);
}

TEST_CASE("a view costs nothing whatever its size") {
  // 2^58 values would not fit into any memory.
  const auto huge = broadcast_to(Tensor<double>(7.0), {1 << 20, 1 << 19, 1 << 19});
  CHECK(huge.size() == std::int64_t{1} << 58);
  CHECK(huge.at({-1, 5, -1}) == 7);
  const auto part = slice(transpose(huge), 0, 4, 10, 2);
  CHECK(part.shape() == Shape{3, 1 << 19, 1 << 19});
  CHECK(part.at({2, 0, -1}) == 7);
}

TEST_CASE("a view keeps its values alive when the tensor it came from is gone") {
  Tensor<double> view;
  {
    const auto x = Tensor<double>::arange(0, 1000);
    view = slice(reshape(x, {10, 100}), 0, 9, 10);
  }
  CHECK(view.at({0, 99}) == 999);
}

TEST_CASE("contiguous copies a strided tensor into row-major order") {
  const auto x = transpose(two_by_three());
  const auto y = contiguous(x);
  CHECK(y.data() != x.data());
  CHECK(y.is_contiguous());
  CHECK(y.strides() == Strides{2, 1});
  CHECK(y.values() == x.values());
}

TEST_CASE("no op changes its operands") {
  const auto x = two_by_three();
  const auto view = transpose(x);
  const auto before = x.values();
  auto y = x;
  y = y + 1;
  y = y * view.at({0, 0}) - exp(x);
  y = matmul(view, x);
  y = softmax(view);
  y = scatter_add(x, Index{0, 0}, 2) + broadcast_to(Tensor<double>(1.0), {2, 3});
  y = contiguous(view);
  y = reshape(view, {6});
  Tape<double> tape;
  auto v = tape.variable(x);
  const auto g = tape.gradient(sum(v * v), v);
  v = v - 0.1 * g;
  CHECK(x.values() == before);
  CHECK(view.values() == Values{1, 4, 2, 5, 3, 6});
}

// Source: PyTorch#4664
TEST_CASE("adding to an expanded tensor leaves the original unchanged") {
  const Tensor<double> one({1, 1}, {1});
  const auto y = broadcast_to(one, {4, 5}) + 1;
  CHECK(y.shape() == Shape{4, 5});
  CHECK(y.values() == Values(20, 2.0));
  CHECK(one.values() == Values{1});
}

TEST_CASE("a cotangent that two inputs share is not changed by what either adds to it") {
  // Both inputs of the sum get the very tensor g; v gets a second contribution after that.
  Tape<double> tape;
  auto v = tape.variable(Tensor<double>{{1, 2}});
  auto w = tape.variable(Tensor<double>{{3, 4}});
  const auto y = sum(v + w) + sum(3 * v);
  const auto [dv, dw] = tape.gradient(y, v, w);
  CHECK(dv.values() == Values{4, 4});
  CHECK(dw.values() == Values{1, 1});
}

TEST_CASE("strided operands give what their contiguous copies give") {
  const auto x = transpose(two_by_three());
  const auto w = Tensor<double>({2, 3}, {1, -2, 3, -4, 5, -6});
  for (const auto& operand : {x, contiguous(x)}) {
    Tape<double> tape;
    const auto v = tape.variable(operand);
    const auto y = sum(matmul(v, w) * v.at({2, 1}) + sum(v, 1, true));
    const auto g = tape.gradient(y, v);
    // sum(V W) = sum_ik V_ik r_k with the row sums r = (2, -5); times 6, plus 3 for each value.
    CHECK(y.item() == 6 * (2 * (1 + 2 + 3) - 5 * (4 + 5 + 6)) + 3 * 21);
    CHECK(g.shape() == Shape{3, 2});
    CHECK(g.values() == Values{15, -27, 15, -27, 15, -27});
  }
}

TEST_CASE("masks reshape as views") {
  const Mask m{{true, false}, {false, true}};
  const Mask flat = reshape(m, {4});
  CHECK(flat.data() == m.data());
  CHECK(flat.values() == std::vector<bool>{true, false, false, true});
}

TEST_CASE("empty tensors keep their shape through views") {
  const auto x = Tensor<double>::zeros({2, 0, 3});
  CHECK(x.values().empty());
  CHECK(transpose(x).shape() == Shape{2, 3, 0});
  CHECK(reshape(x, {0, 5}).shape() == Shape{0, 5});
  CHECK(slice(x, 0, 1, 2).shape() == Shape{1, 0, 3});
  CHECK(broadcast_to(x, {4, 2, 0, 3}).size() == 0);
  CHECK(transpose(x).values().empty());
}
