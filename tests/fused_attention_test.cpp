// Fused attention: the reference's numbers, the composition's derivatives, and facts of its own.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/attention.hpp"
#include "support/errors.hpp"

namespace {

using namespace xtape;
using namespace xtape::test;

template <class T>
Tensors<T> solve_fused(const Problem<T>& p, const Visible& visible) {
  return differentiate<T>(
      p.inputs.size() == 3 ? fused_ordinary<T>(visible) : fused_differential<T>(visible), p.inputs,
      p.cotangent);
}

template <class T>
double fused_error(const Problem<T>& p, const Visible& visible) {
  return worst_error(expected_of(p, visible), solve_fused(p, visible));
}

constexpr Spread kSpreads[] = {Spread::scalar, Spread::per_head, Spread::per_token};

/// Numbers of keys and features around those of vectors, tiles, chunks and blocks.
std::vector<Sizes> sizes_around_blocks() {
  constexpr std::size_t kLengths[] = {1,  2,  3,  4,  5,  7,  8,  9,  15,  16, 17,
                                      31, 33, 47, 48, 49, 63, 64, 65, 127, 129};
  constexpr std::size_t kFeatures[] = {1, 2, 4, 5, 8, 16, 17, 24, 32, 63, 64, 128};
  std::vector<Sizes> sizes;
  for (std::size_t n : kLengths) sizes.push_back(sizes_of(1, 1, n, n, 3));
  for (std::size_t features : kFeatures) sizes.push_back(sizes_of(1, 2, 9, 11, features));
  sizes.push_back(sizes_of(2, 1, 70, 3, 2));
  sizes.push_back(sizes_of(1, 2, 3, 300, 4));
  return sizes;
}

}  // namespace

TEST_CASE_TEMPLATE("fused differential attention is the reference at sizes around its blocks", T,
                   float, double) {
  std::uint64_t seed = 1;
  for (const Sizes& s : sizes_around_blocks())
    for (bool causal : {true, false}) {
      CAPTURE(seed);
      const Spread spread = kSpreads[seed % 3];
      CHECK(fused_error(differential_problem<T>(s, seed++, spread), causal) <= kBar<T>);
    }
}

TEST_CASE_TEMPLATE("fused attention is the reference at sizes around its blocks", T, float,
                   double) {
  std::uint64_t seed = 100;
  for (const Sizes& s : sizes_around_blocks())
    for (bool causal : {true, false}) {
      CAPTURE(seed);
      CHECK(fused_error(ordinary_problem<T>(s, seed++), causal) <= kBar<T>);
    }
}

TEST_CASE_TEMPLATE("fused attention takes masks of every shape, also rows of nothing", T, float,
                   double) {
  for (const Sizes& s : {sizes_of(2, 3, 4, 5, 2), sizes_of(1, 2, 1, 3, 2)}) {
    const Problem<T> ordinary = ordinary_problem<T>(s, 6);
    const Problem<T> differential = differential_problem<T>(s, 7, Spread::per_head);
    for (const Mask& allowed : masks_of_every_shape(s, 8)) {
      CAPTURE(allowed);
      CHECK(fused_error(ordinary, allowed) <= kBar<T>);
      CHECK(fused_error(differential, allowed) <= kBar<T>);
    }
  }
}

TEST_CASE_TEMPLATE("fused attention at [1, 4, 256, 64] is within the bars", T, float, double) {
  for (bool causal : {true, false})
    CHECK(fused_error(differential_problem<T>(sizes_of(1, 4, 256, 256, 64), 9), causal) <= kBar<T>);
}

TEST_CASE_TEMPLATE("a fused op reads strided operands as their copies, bit for bit", T, float,
                   double) {
  Random random(21);
  const auto q1 = transpose(random.normal<T>({2, 5, 3, 4}), {0, 2, 1, 3});
  const auto k1 = slice(random.normal<T>({2, 3, 12, 4}), 2, 1, 12, 2);
  const auto q2 = slice(random.normal<T>({2, 3, 5, 8}), 3, 0, 8, 2);
  const auto k2 = broadcast_to(random.normal<T>({2, 1, 6, 4}), {2, 3, 6, 4});
  const auto v = transpose(random.normal<T>({3, 2, 8, 6}), {1, 0, 3, 2});
  const auto lambda = broadcast_to(random.normal<T>({3, 1, 1}), {2, 3, 5, 1});
  const auto g = transpose(random.normal<T>({2, 3, 8, 5}));
  const Tensors<T> strided = {q1, k1, q2, k2, v, lambda};
  Tensors<T> copies;
  for (const auto& x : strided) copies.push_back(contiguous(x));
  for (bool causal : {true, false}) {
    const auto f = fused_differential<T>(causal);
    CHECK(same_bits(differentiate(f, strided, g), differentiate(f, copies, contiguous(g))));
  }
  for (std::size_t i = 0; i < strided.size(); ++i)
    CHECK(same_bits(contiguous(strided[i]), copies[i]));
}

TEST_CASE_TEMPLATE("a fused op gives the same bits for any number of threads", T, float, double) {
  const int before = num_threads();
  for (const Sizes& s : {sizes_of(1, 1, 300, 300, 32), sizes_of(2, 3, 130, 140, 32)}) {
    const Problem<T> p = differential_problem<T>(s, 24, Spread::per_token);
    set_num_threads(1);
    const Tensors<T> expected = solve_fused(p, true);
    for (int threads : {2, 3, 8}) {
      set_num_threads(threads);
      CHECK(same_bits(solve_fused(p, true), expected));
    }
  }
  set_num_threads(before);
}

TEST_CASE_TEMPLATE("at coefficient 0 the fused difference is fused attention bit for bit", T, float,
                   double) {
  Problem<T> p = differential_problem<T>(sizes_of(2, 2, 70, 75, 16), 31);
  p.inputs[5] = Tensor<T>(0);
  for (bool causal : {true, false}) {
    const Tensors<T> found = solve_fused(p, causal);
    const auto expected = differentiate<T>(fused_ordinary<T>(causal),
                                           {p.inputs[0], p.inputs[1], p.inputs[4]}, p.cotangent);
    CHECK(same_bits(found[0], expected[0]));
    CHECK(same_bits(found[1], expected[1]));
    CHECK(same_bits(found[2], expected[2]));
    CHECK(every(found[3], 0));
    CHECK(every(found[4], 0));
    CHECK(same_bits(found[5], expected[3]));
    CHECK(!every(found[6], 0));
  }
}

TEST_CASE_TEMPLATE("equal maps cancel bit for bit in the fused op at coefficient 1", T, float,
                   double) {
  Problem<T> p = differential_problem<T>(sizes_of(1, 2, 40, 40, 8), 32);
  p.inputs[2] = p.inputs[0];
  p.inputs[3] = p.inputs[1];
  p.inputs[5] = Tensor<T>(1);
  const Tensors<T> found = solve_fused(p, true);
  CHECK(every(found[0], 0));
  CHECK(every(found[5], 0));
  CHECK(every(found[1] + found[3], 0));
  CHECK(!every(found[1], 0));
}

TEST_CASE_TEMPLATE("a later key changed by 1e3 leaves earlier fused outputs bitwise the same", T,
                   float, double) {
  const Problem<T> p = differential_problem<T>(sizes_of(1, 1, 70, 70, 8), 33);
  const auto first = [&](const Tensors<T>& x) {
    return slice(fused_differential<T>(true)(x), 2, 0, 50);
  };
  Tensors<T> changed = p.inputs;
  const auto later = pad(Tensor<T>::full({1, 1, 20, 8}, 1e3), {{{0, 0}, {0, 0}, {50, 0}, {0, 0}}});
  changed[1] = changed[1] + later;
  changed[3] = changed[3] - later;
  changed[4] = changed[4] + concatenate<T>({later, later}, 3);
  CHECK(same_bits(first(changed), first(p.inputs)));
}

TEST_CASE("fused derivatives of second order are the composition's") {
  for (const Mask& allowed : {causal_mask(3, 4), Mask(true)}) {
    const Problem<double> p =
        differential_problem<double>(sizes_of(1, 2, 3, 4, 2), 11, Spread::per_head);
    GradientCheck<double> options;
    options.order = 2;
    const auto report = check_gradients(fused_differential<double>(allowed), p.inputs, options);
    CHECK_MESSAGE(report.ok, report.message);
    const Problem<double> q = ordinary_problem<double>(sizes_of(1, 2, 3, 4, 2), 12);
    const auto ordinary = check_gradients(fused_ordinary<double>(allowed), q.inputs, options);
    CHECK_MESSAGE(ordinary.ok, ordinary.message);
  }
}

TEST_CASE_TEMPLATE("fused attention tells logits of 1e4 apart, and takes all of one key", T, float,
                   double) {
  // With D = 1 the logits are q k: 1e4 + {0, 1, 2} for both maps.
  const Tensor<T> q({1, 1, 1, 1}, {100}), k({1, 1, 3, 1}, {100, T(100.01), T(100.02)});
  const Tensor<T> v({1, 1, 3, 1}, {1, 2, 4});
  const T y = fused::attention(q, k, v, false).item(), z = attention(q, k, v, false).item();
  CHECK(std::abs(static_cast<double>(y - z)) <= 2e-3);
  CHECK(fused::attention(100 * q, 100 * k, v, false).item() == 4);
}

TEST_CASE("fused attention without queries or keys is empty or zero") {
  const auto of = [](std::int64_t queries, std::int64_t keys) {
    const Problem<double> p = differential_problem<double>(
        sizes_of(1, 2, static_cast<std::size_t>(queries), static_cast<std::size_t>(keys), 3), 40);
    return solve_fused(p, true);
  };
  CHECK(of(0, 3)[0].shape() == Shape{1, 2, 0, 6});
  CHECK(every(of(0, 3)[5], 0));
  CHECK(of(4, 0)[0].shape() == Shape{1, 2, 4, 6});
  for (const Tensor<double>& x : of(4, 0)) CHECK(every(x, 0));
}

TEST_CASE("a fused op is one line, and refuses what the composition refuses in its own name") {
  Tape<double> tape;
  const auto q = tape.variable(Tensor<double>::ones({1, 1, 2, 3}));
  const auto v = Tensor<double>::ones({1, 1, 2, 6});
  fused::differential_attention(q, q, q, q, v, 0.5);
  CHECK(tape.size() == 2);
  CHECK(tape.node(1).op == std::string("fused::differential_attention"));
  CHECK(
      invalid([&] { fused::attention(q, v, v); }) ==
      "[fused::attention] k of shape [1, 1, 2, 6]: [1, 1, 2, 3] is required, but for any number of "
      "keys.");
  CHECK(invalid([&] {
          fused::differential_attention(q, q, q, q, v, std::numeric_limits<double>::infinity());
        }) == "[fused::differential_attention] coefficient inf: a finite number is required.");
}
