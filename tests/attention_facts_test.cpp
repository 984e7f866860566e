// What the formula of differential attention implies, checked on xtape alone.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/attention.hpp"

namespace {

using namespace xtape;
using namespace xtape::test;

constexpr double kCoefficients[] = {0, 0.3, 1, 1.5, -0.5};

template <class T>
Problem<T> with_coefficient(Problem<T> p, double coefficient) {
  p.inputs[5] = Tensor<T>(coefficient);
  return p;
}

/// The second map's queries and keys are the first's.
template <class T>
Problem<T> with_equal_maps(Problem<T> p) {
  p.inputs[2] = p.inputs[0];
  p.inputs[3] = p.inputs[1];
  return p;
}

/// P = A_1 - lambda A_2, [B, H, Tq, Tk], as the attention of an identity for value; Tk <= 2 D.
template <class T>
Tensor<T> signed_map(const Problem<T>& p, double coefficient, const Visible& visible) {
  const auto& x = p.inputs;
  const std::int64_t keys = length(p.sizes.keys);
  const auto identity = slice(Tensor<T>::eye(x[4].dim(-1)), 0, 0, keys);
  const auto out = differential_attention(
      x[0], x[1], x[2], x[3], broadcast_to(identity, x[4].shape()), coefficient, visible);
  return slice(out, 3, 0, keys);
}

/// Each of a row's weights is rounded once in each map, and once more when they are subtracted.
template <class T>
double sum_rounding(const Problem<T>& p, double coefficient) {
  return static_cast<double>(p.sizes.keys) * (1 + std::abs(coefficient)) *
         static_cast<double>(std::numeric_limits<T>::epsilon());
}

/// Row `i` of [B, H, T, D].
template <class T>
Tensor<T> row(const Tensor<T>& x, std::int64_t i) {
  return slice(x, 2, i, i + 1);
}

}  // namespace

// ---- rows of the signed map -----------------------------------------------------------------

TEST_CASE_TEMPLATE("rows of the signed map sum to 1 less the coefficient, and to 0 with no key", T,
                   float, double) {
  const auto p = differential_problem<T>(sizes_of(2, 2, 4, 6, 3), 1);
  const Mask second_row_of_none({4, 1}, {true, false, true, true});
  for (double coefficient : kCoefficients) {
    const double allowed = sum_rounding(p, coefficient);
    for (const Visible& visible : {Visible(true), Visible(false)})
      CHECK(distance(sum(signed_map(p, coefficient, visible), -1), 1 - coefficient) <= allowed);
    const auto map = signed_map(p, coefficient, second_row_of_none);
    CHECK(every(row(map, 1), 0));
    for (std::int64_t i : {0, 2, 3})
      CHECK(distance(sum(row(map, i), -1), 1 - coefficient) <= allowed);
  }
}

TEST_CASE_TEMPLATE("at coefficients 1, 1.5 and -.5 the rows sum to 0, -.5 and 1.5", T, float,
                   double) {
  auto p = differential_problem<T>(sizes_of(1, 3, 5, 5, 4), 2);
  p.inputs[4] = Tensor<T>::ones(p.inputs[4].shape());  // the attention of ones is the row's sum
  const auto sums = [&](double coefficient) {
    return differential<T>(true)(with_coefficient(p, coefficient).inputs);
  };
  CHECK(distance(sums(1), 0) <= sum_rounding(p, 1));
  CHECK(distance(sums(1.5), -0.5) <= sum_rounding(p, 1.5));
  CHECK(distance(sums(-0.5), 1.5) <= sum_rounding(p, -0.5));
}

TEST_CASE_TEMPLATE("both maps are masked: a hidden key has no weight in either", T, float, double) {
  const auto p = differential_problem<T>(sizes_of(1, 2, 4, 4, 2), 3);
  // At a negative coefficient nothing cancels: a weight is 0 only where both maps have none.
  const auto map = signed_map(p, -0.5, true);
  const auto first = signed_map(p, 0, true), second = first - signed_map(p, 1, true);
  for (std::int64_t h = 0; h < 2; ++h)
    for (std::int64_t i = 0; i < 4; ++i)
      for (std::int64_t j = 0; j < 4; ++j) {
        CHECK((map.at({0, h, i, j}) > 0) == (j <= i));
        CHECK((first.at({0, h, i, j}) > 0) == (j <= i));
        CHECK((second.at({0, h, i, j}) > 0) == (j <= i));
      }
}

// ---- coefficients of 0 and 1, equal maps ----------------------------------------------------

TEST_CASE_TEMPLATE("at coefficient 0 it is ordinary attention bit for bit, and its gradients are",
                   T, float, double) {
  for (bool causal : {true, false}) {
    const auto p = with_coefficient(differential_problem<T>(sizes_of(2, 3, 5, 7, 4), 4), 0);
    const Tensors<T> found = solve(p, causal);
    const auto &q = p.inputs[0], &k = p.inputs[1], &v = p.inputs[4];
    const Tensors<T> plain = differentiate(ordinary<T>(causal), {q, k, v}, p.cotangent);
    CHECK(same_bits(found[0], plain[0]));
    CHECK(same_bits(found[1], plain[1]));
    CHECK(same_bits(found[2], plain[2]));
    CHECK(every(found[3], 0));
    CHECK(every(found[4], 0));
    CHECK(same_bits(found[5], plain[3]));
    CHECK(found[6].item() != 0);  // the coefficient can leave 0
  }
}

TEST_CASE_TEMPLATE("equal maps give 1 less the coefficient times ordinary attention", T, float,
                   double) {
  const auto p = with_equal_maps(differential_problem<T>(sizes_of(2, 2, 5, 5, 4), 5));
  const auto plain = attention(p.inputs[0], p.inputs[1], p.inputs[4]);
  for (double coefficient : kCoefficients) {
    const auto found = differential<T>(true)(with_coefficient(p, coefficient).inputs);
    Flat expected;
    for (double v : flat(plain)) expected.push_back((1 - coefficient) * v);
    CHECK(error(found, expected) <= kBar<T>);
  }
}

TEST_CASE_TEMPLATE("equal maps cancel bit for bit at coefficient 1, but can learn to differ", T,
                   float, double) {
  for (bool causal : {true, false}) {
    const auto p =
        with_coefficient(with_equal_maps(differential_problem<T>(sizes_of(1, 2, 6, 6, 3), 6)), 1);
    const Tensors<T> found = solve(p, causal);
    CHECK(same_bits(found[0], Tensor<T>::zeros(found[0].shape())));
    CHECK(same_bits(found[5], Tensor<T>::zeros(found[5].shape())));
    CHECK(every(found[1] + found[3], 0));  // dQ_1 = -dQ_2: x + y is 0 for y = -x alone
    CHECK(every(found[2] + found[4], 0));
    CHECK(!every(found[1], 0));
    CHECK(!every(found[2], 0));
    if (!causal) CHECK(same_bits(found[1], -found[3]));  // causal: row 0 is +0 in both
  }
}

TEST_CASE_TEMPLATE("maps swapped at the inverse coefficient give the result times -1 over it", T,
                   float, double) {
  // A_1 - 2 A_2 = -2 (A_2 - A_1 / 2), exactly, since these are powers of 2.
  const auto p = differential_problem<T>(sizes_of(2, 2, 5, 6, 3), 7);
  const auto& x = p.inputs;
  const auto once = differential_attention(x[0], x[1], x[2], x[3], x[4], 2);
  const auto swapped = differential_attention(x[2], x[3], x[0], x[1], x[4], 0.5);
  CHECK(every(once + 2 * swapped, 0));
}

// ---- the first row, one position, an offset -------------------------------------------------

// Source: former#10
TEST_CASE_TEMPLATE("a causal row 0 sees key 0 alone: 1 less the coefficient times its value", T,
                   float, double) {
  for (double coefficient : kCoefficients) {
    const auto p =
        with_coefficient(differential_problem<T>(sizes_of(2, 3, 5, 5, 4), 8), coefficient);
    const Tensors<T> found = solve(p, true);
    const auto factor = Tensor<T>(1) - p.inputs[5];
    CHECK(every(row(found[0], 0) - factor * row(p.inputs[4], 0), 0));
    CHECK(every(row(found[1], 0), 0));
    CHECK(every(row(found[3], 0), 0));
    CHECK(!every(row(found[1], 1), 0));
  }
}

TEST_CASE_TEMPLATE("with one position queries and keys have gradients of exactly 0", T, float,
                   double) {
  for (double coefficient : kCoefficients)
    for (bool causal : {true, false}) {
      const auto p =
          with_coefficient(differential_problem<T>(sizes_of(2, 3, 1, 1, 4), 9), coefficient);
      const Tensors<T> found = solve(p, causal);
      for (std::size_t i = 1; i <= 4; ++i) CHECK(every(found[i], 0));
      const auto factor = Tensor<T>(1) - p.inputs[5];
      CHECK(every(found[0] - factor * p.inputs[4], 0));
      CHECK(every(found[5] - factor * p.cotangent, 0));
    }
}

TEST_CASE_TEMPLATE("an offset shared by all values passes with 1 less the coefficient", T, float,
                   double) {
  const auto p = differential_problem<T>(sizes_of(1, 2, 5, 7, 3), 10);
  const Tensor<T> offset = {10, -4, 7, 1, 0, -20};
  for (double coefficient : kCoefficients)
    for (bool causal : {true, false}) {
      auto moved = with_coefficient(p, coefficient);
      const auto without = differential<T>(causal)(moved.inputs);
      moved.inputs[4] = moved.inputs[4] + offset;
      const auto response = differential<T>(causal)(moved.inputs) - without;
      const auto expected = broadcast_to((1 - coefficient) * offset, response.shape());
      // Relative to the offset: its response may be 0.
      CHECK(distance(response - expected, 0) <= kBar<T> * 20);
    }
}

// ---- four tokens ----------------------------------------------------------------------------

namespace {

// One query, four keys. The first map looks for token 1, where the signal is; the second is even.
const Tensor<double> kQ1({1, 1, 1, 2}, {2, 0});
const Tensor<double> kK1({1, 1, 4, 2}, {0, 1, 2, 0, 0, -1, .5, 0});
const Tensor<double> kQ2({1, 1, 1, 2}, {.5, .5});
const Tensor<double> kK2({1, 1, 4, 2}, {1, 0, 0, 1, 1, 0, 0, 1});
const Tensor<double> kSignal({1, 1, 4, 4}, {0, 0, 0, 0, 1, -2, .5, 3, 0, 0, 0, 0, 0, 0, 0, 0});
const Tensor<double> kOffset = {10, -4, 7, 1};

Tensor<double> four_tokens(const Tensor<double>& value, double coefficient) {
  return differential_attention(kQ1, kK1, kQ2, kK2, value, coefficient, false);
}

Tensor<double> four_tokens_equal(const Tensor<double>& value, double coefficient) {
  return differential_attention(kQ1, kK1, kQ1, kK1, value, coefficient, false);
}

}  // namespace

TEST_CASE("four tokens: an offset's response is 1 less the coefficient times it") {
  for (int tenth = 0; tenth <= 10; ++tenth) {
    const double coefficient = tenth / 10.0;
    const auto response =
        four_tokens(kSignal + kOffset, coefficient) - four_tokens(kSignal, coefficient);
    CHECK(distance(response - (1 - coefficient) * kOffset, 0) <= 1e-14 * 10);  // of max |offset|
  }
}

TEST_CASE("four tokens: maps that differ keep .8077, .6827, .5577 of the signal") {
  const double first = std::exp(4 / std::sqrt(2.0)) /
                       (2 + std::exp(4 / std::sqrt(2.0)) + std::exp(1 / std::sqrt(2.0)));
  const auto gain = [](double coefficient) {
    const auto out = four_tokens(kSignal, coefficient);
    for (std::int64_t n : {1, 2, 3})  // one gain for all features, but for rounding
      CHECK(std::abs(out.at({0, 0, 0, n}) / kSignal.at({0, 0, 1, n}) - out.at({0, 0, 0, 0})) <=
            1e-15);
    return out.at({0, 0, 0, 0});
  };
  CHECK(std::abs(gain(0) - .8077) <= 5e-5);  // half of the last digit
  CHECK(std::abs(gain(.5) - .6827) <= 5e-5);
  CHECK(std::abs(gain(1) - .5577) <= 5e-5);
  for (double coefficient : {0.0, 0.5, 1.0})
    CHECK(std::abs(gain(coefficient) - (first - coefficient / 4)) <= 1e-15);
}

TEST_CASE("four tokens: equal maps lose the signal with the offset: .8077, .4038, 0") {
  const auto gain = [](double coefficient) {
    return four_tokens_equal(kSignal, coefficient).at({0, 0, 0, 0});
  };
  CHECK(std::abs(gain(0) - .8077) <= 5e-5);  // half of the last digit
  CHECK(std::abs(gain(.5) - .4038) <= 5e-5);
  CHECK(gain(1) == 0);
}
