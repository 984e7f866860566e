// Ordinary attention against the reference, differences and itself; and what it refuses.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/attention.hpp"
#include "support/errors.hpp"

namespace {

using namespace xtape;
using namespace xtape::test;

// One position, one feature, more queries than keys and the other way round, several heads.
const std::vector<Sizes> kSizes = {{1, 1, 1, 1, 1, 1}, {1, 1, 1, 4, 3, 2},   {1, 2, 5, 2, 2, 5},
                                   {2, 1, 2, 5, 1, 3}, {2, 3, 4, 4, 5, 1},   {1, 1, 9, 9, 4, 8},
                                   {3, 2, 1, 1, 2, 4}, {1, 1, 17, 33, 16, 7}};

/// The analytic VJP of math, written in tensors: A = softmax(s Q K^T + M), O = A V.
template <class T>
Tensors<T> analytic_vjp(const Tensors<T>& x, const Tensor<T>& g, const Mask& allowed) {
  const auto &q = x[0], &k = x[1], &v = x[2];
  const double s = 1 / std::sqrt(static_cast<double>(q.dim(-1)));
  const auto a = softmax(mask(matmul(q, transpose(k)) * s, allowed));
  const auto r = sum(g * matmul(a, v), -1, true);     // r = rowsum(G * (A V))
  const auto ds = a * (matmul(g, transpose(v)) - r);  // dS = A * (G V^T - r)
  return {matmul(ds, k) * s, matmul(transpose(ds), q) * s, matmul(transpose(a), g)};
}

// One batch, one head, and operands by their shapes.
Tensor<double> attend(const Shape& q, const Shape& k, const Shape& value,
                      const Visible& visible = true) {
  return attention(Tensor<double>::zeros(q), Tensor<double>::zeros(k), Tensor<double>::zeros(value),
                   visible);
}

}  // namespace

TEST_CASE_TEMPLATE("attention is what the reference computes, in value and three gradients", T,
                   float, double) {
  std::uint64_t seed = 1;
  for (const Sizes& s : kSizes)
    for (bool causal : {true, false}) {
      CAPTURE(seed);
      CHECK(worst_error(ordinary_problem<T>(s, seed++), causal) <= kBar<T>);
    }
}

TEST_CASE_TEMPLATE("attention takes masks of every shape that broadcasts", T, float, double) {
  // Not smaller: the largest of two gradients may be a difference that cancels, with few digits.
  for (const Sizes& s : {Sizes{2, 3, 4, 5, 2, 3}, Sizes{1, 2, 1, 3, 2, 4}}) {
    const Problem<T> p = ordinary_problem<T>(s, 7);
    for (const Mask& allowed : masks_of_every_shape(s, 8)) {
      CAPTURE(allowed);
      CHECK(worst_error(p, allowed) <= kBar<T>);
    }
  }
}

TEST_CASE("attention's gradients are the analytic ones and central differences, to second order") {
  const Mask row_of_none(
      {3, 4}, {true, false, true, true, false, false, false, false, true, true, false, true});
  const Problem<double> p = ordinary_problem<double>({2, 1, 3, 4, 2, 3}, 11);
  for (const Mask& allowed : {causal_mask(3, 4), Mask(true), row_of_none}) {
    CAPTURE(allowed);
    GradientCheck<double> options;
    options.order = 2;
    options.analytic = [&](const Tensors<double>& x, In<double> g) {
      return analytic_vjp(x, g, allowed);
    };
    const GradientReport report = check_gradients(ordinary<double>(allowed), p.inputs, options);
    CHECK_MESSAGE(report.ok, report.message);
    Tensors<double> found = analytic_vjp(p.inputs, p.cotangent, allowed);
    found.insert(found.begin(), ordinary<double>(allowed)(p.inputs));
    CHECK(worst_error(expected_of(p, allowed), found) <= kBar<double>);
  }
}

TEST_CASE("attention's gradients in float are central differences to three digits") {
  const Problem<float> p = ordinary_problem<float>({1, 2, 3, 3, 2, 2}, 12);
  const GradientReport report = check_gradients(ordinary<float>(true), p.inputs);
  CHECK_MESSAGE(report.ok, report.message);
}

TEST_CASE_TEMPLATE("attention reads strided operands as their copies, bit for bit", T, float,
                   double) {
  Random random(21);
  // Heads beside each other in a row, every other position, one head for all.
  const auto q = transpose(random.normal<T>({2, 5, 3, 4}), {0, 2, 1, 3});
  const auto k = slice(random.normal<T>({2, 3, 12, 4}), 2, 1, 12, 2);
  const auto v = broadcast_to(random.normal<T>({2, 1, 6, 7}), {2, 3, 6, 7});
  const auto g = transpose(random.normal<T>({2, 3, 7, 5}));
  const Tensors<T> strided = {q, k, v}, copies = {contiguous(q), contiguous(k), contiguous(v)};
  const Tensors<T> before = {Tensor<T>(q.shape(), q.values()), Tensor<T>(k.shape(), k.values()),
                             Tensor<T>(v.shape(), v.values())};
  for (bool causal : {true, false}) {
    const Tensors<T> found = differentiate(ordinary<T>(causal), strided, g);
    CHECK(same_bits(found, differentiate(ordinary<T>(causal), copies, contiguous(g))));
    CHECK(same_bits(strided, before));
  }
}

TEST_CASE_TEMPLATE("attention keeps the dtype and gives each gradient its operand's shape", T,
                   float, double) {
  const Problem<T> p = ordinary_problem<T>({2, 3, 4, 5, 2, 7}, 31);
  static_assert(
      std::is_same_v<decltype(attention(p.inputs[0], p.inputs[1], p.inputs[2])), Tensor<T>>);
  const Tensors<T> found = solve(p, true);
  CHECK(found[0].shape() == Shape{2, 3, 4, 7});
  CHECK(found[1].shape() == Shape{2, 3, 4, 2});
  CHECK(found[2].shape() == Shape{2, 3, 5, 2});
  CHECK(found[3].shape() == Shape{2, 3, 5, 7});
}

TEST_CASE("attention is causal unless it is told otherwise") {
  const Problem<double> p = ordinary_problem<double>({1, 1, 3, 5, 2, 2}, 32);
  const auto& x = p.inputs;
  const auto causal = attention(x[0], x[1], x[2]);
  CHECK(same_bits(causal, attention(x[0], x[1], x[2], true)));
  CHECK(same_bits(causal, attention(x[0], x[1], x[2], causal_mask(3, 5))));
  CHECK(!same_bits(causal, attention(x[0], x[1], x[2], false)));
  CHECK(same_bits(attention(x[0], x[1], x[2], Mask(true)), attention(x[0], x[1], x[2], false)));
}

TEST_CASE_TEMPLATE("attention over equal logits is the mean of the visible values", T, float,
                   double) {
  const auto q = Tensor<T>::zeros({1, 1, 4, 2});
  const Tensor<T> v({1, 1, 4, 1}, {1, 3, 8, 4});
  // Means of 1, 2, 3 and 4 values; only that of three is rounded.
  CHECK(error<T>(flat(attention(q, q, v)), {1, 2, 4, 4}) <= kBar<T>);
  CHECK(attention(q, q, v, false).values() == std::vector<T>(4, 4));
}

TEST_CASE("attention of operands without positions, queries or keys is empty or zero") {
  for (bool causal : {true, false}) {
    for (const Sizes& s :
         {Sizes{2, 3, 0, 0, 4, 5}, Sizes{2, 3, 0, 2, 4, 5}, Sizes{2, 3, 2, 0, 4, 5},
          Sizes{0, 3, 2, 2, 4, 5}, Sizes{2, 0, 2, 2, 4, 5}, Sizes{2, 3, 2, 2, 4, 0}}) {
      const Problem<double> p = ordinary_problem<double>(s, 41);
      const Tensors<double> found = solve(p, causal);
      CHECK(found[0].shape() == p.cotangent.shape());
      for (std::size_t i = 0; i < 3; ++i) CHECK(found[i + 1].shape() == p.inputs[i].shape());
      for (const auto& x : found) CHECK(every(x, 0));
    }
  }
}

TEST_CASE("attention is recorded as its primitives alone") {
  const Problem<double> p = ordinary_problem<double>({1, 1, 2, 2, 2, 2}, 51);
  Tape<double> tape;
  const Tensors<double> x = tape.variable(p.inputs);
  attention(x[0], x[1], x[2]);
  std::multiset<std::string> ops;
  for (std::int64_t line = 3; line < tape.size(); ++line) ops.insert(tape.node(line).op);
  CHECK(ops ==
        std::multiset<std::string>{"mask", "matmul", "matmul", "mul", "softmax", "transpose"});
}

TEST_CASE("attention refuses operands of other shapes and says which are required") {
  CHECK(invalid([] {
          attend({2, 3}, {1, 1, 2, 3}, {1, 1, 2, 3});
        }) == "[attention] q of shape [2, 3]: [B, H, T, D] with D of at least 1 is required.");
  CHECK(invalid([] {
          attend({1, 1, 2, 0}, {1, 1, 2, 0}, {1, 1, 2, 3});
        }) ==
        "[attention] q of shape [1, 1, 2, 0]: [B, H, T, D] with D of at least 1 is required.");
  CHECK(invalid([] {
          attend({1, 2, 3, 4}, {2, 3}, {1, 2, 3, 4});
        }) ==
        "[attention] k of shape [2, 3]: [1, 2, 3, 4] is required, but for any number of keys.");
  CHECK(invalid([] {
          attend({1, 2, 3, 4}, {1, 2, 5, 6}, {1, 2, 5, 4});
        }) ==
        "[attention] k of shape [1, 2, 5, 6]: [1, 2, 5, 4] is required, but for any number of "
        "keys.");
  CHECK(invalid([] {
          attend({1, 2, 3, 4}, {1, 1, 5, 4}, {1, 2, 5, 4});
        }) ==
        "[attention] k of shape [1, 1, 5, 4]: [1, 2, 5, 4] is required, but for any number of "
        "keys.");
  CHECK(invalid([] {
          attend({1, 2, 3, 4}, {1, 2, 5, 4}, {5, 4});
        }) == "[attention] value of shape [5, 4]: [1, 2, 5, 4] is required, but for any width.");
  CHECK(invalid([] {
          attend({1, 2, 3, 4}, {1, 2, 5, 4}, {1, 2, 6, 7});
        }) ==
        "[attention] value of shape [1, 2, 6, 7]: [1, 2, 5, 7] is required, but for any width.");
}

TEST_CASE("attention refuses masks that do not broadcast to its scores") {
  const auto with_mask = [](const Shape& shape) {
    std::size_t size = 1;
    for (std::int64_t n : shape) size *= static_cast<std::size_t>(n);
    return invalid([&] {
      attend({1, 2, 3, 4}, {1, 2, 5, 4}, {1, 2, 5, 4}, Mask(shape, std::vector<bool>(size, true)));
    });
  };
  for (const Shape& shape : {Shape{4}, Shape{5, 3}, Shape{2, 1, 1, 5}, Shape{1, 1, 1, 3, 5}})
    CHECK(with_mask(shape) == "[attention] a mask of shape " + to_string(shape) +
                                  " for scores of shape [1, 2, 3, 5]: it must broadcast to them.");
  CHECK(invalid([] {
          attend({1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, Mask());
        }) == "[attention] an array without a value was given: it must be assigned first.");
}

TEST_CASE("attention checks everything before it computes and writes nothing when it throws") {
  Tape<double> tape;
  const auto q = tape.variable(Tensor<double>::ones({1, 1, 2, 2}));
  const Mask too_long({3}, {true, true, true});
  CHECK_THROWS_AS(attention(q, q, q, too_long), std::invalid_argument);
  CHECK_THROWS_AS(attention(q, q, transpose(stop_gradient(q), {0, 2, 1, 3}), true),
                  std::invalid_argument);
  CHECK(tape.size() == 1);
}
