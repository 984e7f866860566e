// Masks, alignment, large numbers, NaN and float's digits, in attention and differential attention.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/attention.hpp"

namespace {

using namespace xtape;
using namespace xtape::test;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

/// x: [B, H, T, D] with f at every value of one position, or of one of its features.
template <class T, class F>
Tensor<T> changed(const Tensor<T>& x, std::int64_t position, F f, std::int64_t feature = -1) {
  std::vector<T> values = x.values();
  const std::int64_t t = x.dim(2), d = x.dim(3);
  for (std::int64_t i = 0; i < x.size(); ++i)
    if (i / d % t == position && (feature < 0 || i % d == feature)) {
      T& v = values[static_cast<std::size_t>(i)];
      v = static_cast<T>(f(static_cast<double>(v)));
    }
  return Tensor<T>(x.shape(), values);
}

template <class T>
Tensor<T> rows(const Tensor<T>& x, std::int64_t start, std::int64_t stop) {
  return slice(x, 2, start, stop);
}

/// The same numbers in double.
Problem<double> widened(const Problem<float>& p) {
  Problem<double> wide{p.sizes, {}, cast<double>(p.cotangent), p.spread};
  for (const auto& x : p.inputs) wide.inputs.push_back(cast<double>(x));
  return wide;
}

/// Which of `keys` each query sees: a weight of both maps' sum, for values of an identity.
template <class T>
std::vector<std::vector<std::int64_t>> seen(std::size_t queries, std::size_t keys,
                                            const Visible& visible) {
  const auto p = differential_problem<T>(sizes_of(1, 1, queries, keys, keys), 1);
  const auto& x = p.inputs;
  const auto identity =
      reshape(slice(Tensor<T>::eye(x[4].dim(-1)), 0, 0, length(keys)), x[4].shape());
  // At coefficient -1 the maps are added, so that no weight is 0 but where both are.
  const auto map = differential_attention(x[0], x[1], x[2], x[3], identity, -1, visible);
  std::vector<std::vector<std::int64_t>> result(queries);
  for (std::size_t i = 0; i < queries; ++i)
    for (std::int64_t j = 0; j < length(keys); ++j)
      if (map.at({0, 0, length(i), j}) != 0) result[i].push_back(j);
  return result;
}

using Keys = std::vector<std::vector<std::int64_t>>;

}  // namespace

// ---- float ----------------------------------------------------------------------------------

TEST_CASE("at [1, 4, 256, 64] float is within 2e-5 of the reference, double within 1e-12") {
  const auto p = differential_problem<float>(sizes_of(1, 4, 256, 256, 64), 11);
  const Expected expected = expected_of(p, true);
  CHECK(worst_error(expected, solve(p, true)) <= kBar<float>);
  CHECK(worst_error(expected, solve(widened(p), true)) <= kBar<double>);
}

TEST_CASE("with queries and keys four times larger float is within 2e-5 of the reference") {
  auto p = differential_problem<float>(sizes_of(1, 4, 256, 256, 64), 12);
  for (std::size_t i = 0; i < 4; ++i) p.inputs[i] = 4 * p.inputs[i];
  CHECK(worst_error(p, true) <= kBar<float>);
}

// ---- causality ------------------------------------------------------------------------------

// Source: PyTorch#103082, PyTorch#108108, MLX#2835
TEST_CASE_TEMPLATE("one causal query after four keys sees all of them", T, float, double) {
  CHECK(seen<T>(1, 4, true) == Keys{{0, 1, 2, 3}});
  const auto p = differential_problem<T>(sizes_of(2, 2, 1, 4, 3), 21);
  CHECK(every(solve(p, true)[0] - solve(p, false)[0], 0));
}

// Source: PyTorch#103082, PyTorch#108108, MLX#2835
TEST_CASE_TEMPLATE("two causal queries after five keys see four and then five", T, float, double) {
  CHECK(seen<T>(2, 5, true) == Keys{{0, 1, 2, 3}, {0, 1, 2, 3, 4}});
}

// Source: PyTorch#103082, PyTorch#108108, MLX#2835
TEST_CASE_TEMPLATE("of five causal queries with two keys the first three see none and give zeros",
                   T, float, double) {
  CHECK(seen<T>(5, 2, true) == Keys{{}, {}, {}, {0}, {0, 1}});
  const auto p = differential_problem<T>(sizes_of(2, 2, 5, 2, 3), 22);
  const Tensors<T> found = solve(p, true);
  for (std::size_t i : {0u, 1u, 3u}) CHECK(every(rows(found[i], 0, 3), 0));
  for (const auto& x : found) CHECK(!any_nan(x));
  CHECK(!every(rows(found[0], 3, 5), 0));
}

TEST_CASE_TEMPLATE("causal queries see what a causal mask lets through, bit for bit", T, float,
                   double) {
  for (const auto& [queries, keys] : {std::pair{1, 4}, {2, 5}, {5, 2}, {4, 4}}) {
    const auto s =
        sizes_of(2, 2, static_cast<std::size_t>(queries), static_cast<std::size_t>(keys), 3);
    const auto p = differential_problem<T>(s, 23);
    CHECK(same_bits(solve(p, true), solve(p, causal_mask(queries, keys))));
  }
}

TEST_CASE_TEMPLATE("a later key and value changed by 1e3 leave earlier outputs bitwise the same", T,
                   float, double) {
  const auto p = differential_problem<T>(sizes_of(2, 2, 6, 6, 3), 24);
  const auto before = differential<T>(true)(p.inputs);
  const auto add = [](double v) { return v + 1e3; };
  for (std::int64_t later = 1; later < 6; ++later) {
    auto x = p.inputs;
    for (std::size_t i : {1u, 3u, 4u}) x[i] = changed(x[i], later, add);
    const auto after = differential<T>(true)(x);
    CHECK(same_bits(rows(after, 0, later), rows(before, 0, later)));
    CHECK(!same_bits(rows(after, later, later + 1), rows(before, later, later + 1)));
    const auto plain = [](const Tensors<T>& at) { return attention(at[0], at[1], at[4]); };
    CHECK(same_bits(rows(plain(x), 0, later), rows(plain(p.inputs), 0, later)));
  }
}

TEST_CASE_TEMPLATE("earlier outputs pass no gradient to later keys and values", T, float, double) {
  auto p = differential_problem<T>(sizes_of(2, 2, 6, 6, 3), 25);
  for (std::int64_t i = 3; i < 6; ++i)
    p.cotangent = changed(p.cotangent, i, [](double) { return 0; });
  const Tensors<T> found = solve(p, true);
  for (std::size_t i : {1u, 2u, 3u, 4u, 5u}) {
    CHECK(every(rows(found[i], 3, 6), 0));
    CHECK(!every(rows(found[i], 0, 3), 0));
  }
}

// ---- masks ----------------------------------------------------------------------------------

// Source: x-transformers#164
TEST_CASE_TEMPLATE("true in a mask means may attend", T, float, double) {
  CHECK(seen<T>(2, 3, Mask({2, 3}, {false, true, false, true, false, true})) == Keys{{1}, {0, 2}});
  const auto p = differential_problem<T>(sizes_of(1, 2, 2, 4, 3), 31);
  const auto found = differential<T>(Mask{false, false, true, false})(p.inputs);
  const auto value = rows(p.inputs[4], 2, 3);
  CHECK(every(found - (Tensor<T>(1) - p.inputs[5]) * value, 0));
  const auto plain =
      attention(p.inputs[0], p.inputs[1], p.inputs[4], Mask{false, false, true, false});
  CHECK(every(plain - value, 0));
}

// Source: PyTorch#41508
TEST_CASE_TEMPLATE("a query that may see nothing gives zeros and no NaN in any gradient", T, float,
                   double) {
  const auto p = differential_problem<T>(sizes_of(2, 2, 3, 4, 3), 32);
  const Mask allowed({3, 1}, {true, false, true});
  const Tensors<T> found = solve(p, allowed);
  for (std::size_t i : {0u, 1u, 3u}) CHECK(every(rows(found[i], 1, 2), 0));
  for (const auto& x : found) {
    CHECK(!any_nan(x));
    CHECK(!every(x, 0));
  }
  // The others are as if that query were not there.
  const Tensors<T> free = solve(p, false);
  for (std::size_t i : {0u, 1u, 3u})
    for (std::int64_t row : {0, 2})
      CHECK(same_bits(rows(found[i], row, row + 1), rows(free[i], row, row + 1)));
}

TEST_CASE_TEMPLATE("where every query may see nothing, value and gradients are zeros", T, float,
                   double) {
  const auto p = differential_problem<T>(sizes_of(1, 2, 3, 4, 2), 33, Spread::per_head);
  for (const auto& x : solve(p, Mask(false))) CHECK(every(x, 0));
  const auto plain = ordinary_problem<T>({1, 2, 3, 4, 2, 3}, 34);
  for (const auto& x : solve(plain, Mask(false))) CHECK(every(x, 0));
}

// ---- NaN and infinity -----------------------------------------------------------------------

TEST_CASE_TEMPLATE("a key of NaN or infinity that nobody sees changes no output", T, float,
                   double) {
  const auto p = differential_problem<T>(sizes_of(1, 2, 3, 4, 2), 41);
  const Mask hidden{true, true, false, true};
  const Tensors<T> clean = solve(p, hidden);
  for (double bad : {kNan, kInf, -kInf})
    for (std::size_t k : {1u, 3u}) {
      auto dirty = p;
      dirty.inputs[k] = changed(
          p.inputs[k], 2, [bad](double) { return bad; }, 0);
      const Tensors<T> found = solve(dirty, hidden);
      // All but that map's dQ = dS K, where 0 x NaN is NaN, in that feature alone.
      for (std::size_t i = 0; i < 7; ++i)
        if (i != k) CHECK(same_bits(found[i], clean[i]));
      for (double v : flat(slice(found[k], 3, 0, 1))) CHECK(std::isnan(v));
      CHECK(same_bits(slice(found[k], 3, 1, 2), slice(clean[k], 3, 1, 2)));
    }
}

TEST_CASE_TEMPLATE("a value of NaN spreads as products spread it, even if nobody sees it", T, float,
                   double) {
  const auto p = differential_problem<T>(sizes_of(1, 2, 3, 4, 2), 42);
  const Mask hidden{true, true, false, true};
  auto x = p.inputs;
  x[4] = changed(
      x[4], 2, [](double) { return kNan; }, 1);
  const auto found = differential<T>(hidden)(x), clean = differential<T>(hidden)(p.inputs);
  for (double v : flat(slice(found, 3, 1, 2))) CHECK(std::isnan(v));
  for (std::int64_t n : {0, 2, 3})
    CHECK(same_bits(slice(found, 3, n, n + 1), slice(clean, 3, n, n + 1)));
}

TEST_CASE_TEMPLATE("a query of NaN spoils its own output alone", T, float, double) {
  const auto p = differential_problem<T>(sizes_of(1, 2, 3, 4, 2), 43);
  const auto clean = differential<T>(true)(p.inputs);
  for (std::size_t q : {0u, 2u}) {
    auto x = p.inputs;
    x[q] = changed(
        x[q], 1, [](double) { return kNan; }, 0);
    const auto found = differential<T>(true)(x);
    for (double v : flat(rows(found, 1, 2))) CHECK(std::isnan(v));
    for (std::int64_t i : {0, 2}) CHECK(same_bits(rows(found, i, i + 1), rows(clean, i, i + 1)));
  }
}

// ---- large logits ---------------------------------------------------------------------------

TEST_CASE("logits of 1e4 that differ by hundredths are told apart") {
  auto p = differential_problem<float>(sizes_of(1, 1, 3, 4, 1), 51);
  for (std::size_t q : {0u, 2u}) p.inputs[q] = Tensor<float>::full({1, 1, 3, 1}, 100);
  for (std::size_t k : {1u, 3u})  // logits of 1e4, 1e4 + .05, 1e4 - .05, 1e4
    p.inputs[k] = Tensor<float>({1, 1, 4, 1}, {100, 100.0005f, 99.9995f, 100});
  p.inputs[5] = Tensor<float>(0.3);
  const Problem<double> wide = widened(p);
  CHECK(worst_error(wide, false) <= 1e-10);  // a logit is rounded by 1e-12

  // In float a logit is a multiple of 2^-10, off by up to 5e-4, and a weight by twice its share.
  const auto found = cast<double>(differential<float>(false)(p.inputs));
  const auto expected = differential<double>(false)(wide.inputs);
  CHECK(distance(found - expected, 0) <= 1e-3 * 1.3 * distance(wide.inputs[4], 0));
  const auto blind = 0.7 * mean(wide.inputs[4], 2, true);  // all logits taken for one
  CHECK(distance(found - blind, 0) > 10 * distance(found - expected, 0));
}

TEST_CASE_TEMPLATE("of logits that differ by thousands one key takes all", T, float, double) {
  auto p = differential_problem<T>(sizes_of(1, 1, 2, 4, 1), 52);
  for (std::size_t q : {0u, 2u}) p.inputs[q] = Tensor<T>::full({1, 1, 2, 1}, 100);
  p.inputs[1] = Tensor<T>({1, 1, 4, 1}, {-100, 100, 20, 0});  // logits of -1e4, 1e4, ...
  p.inputs[3] = Tensor<T>({1, 1, 4, 1}, {0, -20, 40, 100});
  const Tensors<T> found = solve(p, false);
  const auto &v = p.inputs[4], &lambda = p.inputs[5];
  const auto expected = (rows(v, 1, 2) - lambda * rows(v, 3, 4));
  CHECK(error(found[0], flat(broadcast_to(expected, found[0].shape()))) <= kBar<T>);
  for (std::size_t i : {1u, 2u, 3u, 4u}) CHECK(every(found[i], 0));
}
