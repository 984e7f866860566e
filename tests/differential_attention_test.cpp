// Differential attention against the reference, the analytic VJPs, differences and itself.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/attention.hpp"

namespace {

using namespace xtape;
using namespace xtape::test;

// One position, one feature, more queries than keys and the other way round, several heads.
const std::vector<Sizes> kSizes = {
    sizes_of(1, 1, 1, 1, 1), sizes_of(1, 1, 1, 4, 3), sizes_of(1, 2, 5, 2, 2),
    sizes_of(2, 1, 2, 5, 1), sizes_of(2, 3, 4, 4, 5), sizes_of(1, 1, 9, 9, 4),
    sizes_of(3, 2, 1, 1, 2), sizes_of(2, 2, 6, 3, 1), sizes_of(1, 1, 17, 33, 16)};

constexpr Spread kSpreads[] = {Spread::scalar, Spread::per_head, Spread::per_token};

/// rowsum(a * b), rounded as a matrix product rounds: with one key the gradients cancel exactly.
template <class T>
Tensor<T> row_sums(const Tensor<T>& a, const Tensor<T>& b) {
  return squeeze(matmul(unsqueeze(a, -2), unsqueeze(b, -1)), -1);
}

/// The analytic VJPs, written in tensors with the row sums that need no dA:
/// P = A_1 - lambda A_2, O = P V, r_1 = rowsum(G * (A_1 V)), r_2 = -lambda rowsum(G * (A_2 V)).
template <class T>
Tensors<T> analytic_vjp(const Tensors<T>& x, const Tensor<T>& g, const Mask& allowed) {
  const auto &q1 = x[0], &k1 = x[1], &q2 = x[2], &k2 = x[3], &v = x[4], &lambda = x[5];
  const double s = 1 / std::sqrt(static_cast<double>(q1.dim(-1)));
  const auto a1 = softmax(mask(matmul(q1, transpose(k1)) * s, allowed));
  const auto a2 = softmax(mask(matmul(q2, transpose(k2)) * s, allowed));
  const auto dp = matmul(g, transpose(v));            // dP = G V^T
  const auto by_token = -row_sums(g, matmul(a2, v));  // [B, H, Tq, 1]
  const auto r1 = row_sums(g, matmul(a1, v));
  const auto r2 = lambda * by_token;
  const auto ds1 = a1 * (dp - r1);  // dA_1 = dP
  const auto ds2 = a2 * (-(lambda * dp) - r2);
  const auto dv = matmul(transpose(a1 - lambda * a2), g);
  auto dlambda = by_token;
  if (lambda.rank() == 0) dlambda = sum(by_token);
  if (lambda.rank() == 3) dlambda = reshape(sum(by_token, {0, 2}), lambda.shape());
  return {matmul(ds1, k1) * s,
          matmul(transpose(ds1), q1) * s,
          matmul(ds2, k2) * s,
          matmul(transpose(ds2), q2) * s,
          dv,
          dlambda};
}

template <class T>
Tensor<T> copy(const Tensor<T>& x) {
  return Tensor<T>(x.shape(), x.values());
}

}  // namespace

TEST_CASE_TEMPLATE(
    "differential attention is what the reference computes, in value and six gradients", T, float,
    double) {
  std::uint64_t seed = 1;
  for (const Sizes& s : kSizes)
    for (Spread spread : kSpreads)
      for (bool causal : {true, false}) {
        CAPTURE(seed);
        CHECK(worst_error(differential_problem<T>(s, seed++, spread), causal) <= kBar<T>);
      }
}

TEST_CASE_TEMPLATE("differential attention takes masks of every shape that broadcasts", T, float,
                   double) {
  // Not smaller: the largest of two gradients may be a difference that cancels, with few digits.
  for (const Sizes& s : {sizes_of(2, 3, 4, 5, 2), sizes_of(1, 2, 1, 3, 2)})
    for (Spread spread : kSpreads) {
      const Problem<T> p = differential_problem<T>(s, 7, spread);
      for (const Mask& allowed : masks_of_every_shape(s, 8)) {
        CAPTURE(allowed);
        CHECK(worst_error(p, allowed) <= kBar<T>);
      }
    }
}

TEST_CASE("the analytic VJPs are what the reference computes") {
  std::uint64_t seed = 100;
  for (const Sizes& s : kSizes)
    for (Spread spread : kSpreads) {
      CAPTURE(seed);
      const Problem<double> p = differential_problem<double>(s, seed++, spread);
      const Mask allowed = causal_mask(length(s.queries), length(s.keys));
      Tensors<double> found = analytic_vjp(p.inputs, p.cotangent, allowed);
      found.insert(found.begin(), differential<double>(allowed)(p.inputs));
      CHECK(worst_error(expected_of(p, allowed), found) <= kBar<double>);
    }
}

TEST_CASE(
    "differential attention's gradients are the analytic ones and central differences, to second "
    "order") {
  const Mask row_of_none(
      {3, 4}, {true, false, true, true, false, false, false, false, true, true, false, true});
  const Mask by_head({2, 1, 4}, {true, true, false, true, false, true, true, true});
  for (Spread spread : kSpreads) {
    const Problem<double> p = differential_problem<double>(sizes_of(1, 2, 3, 4, 2), 11, spread);
    for (const Mask& allowed : {causal_mask(3, 4), Mask(true), row_of_none, by_head}) {
      CAPTURE(allowed);
      GradientCheck<double> options;
      options.order = 2;
      options.analytic = [&](const Tensors<double>& x, In<double> g) {
        return analytic_vjp(x, g, allowed);
      };
      const auto report = check_gradients(differential<double>(allowed), p.inputs, options);
      CHECK_MESSAGE(report.ok, report.message);
    }
  }
}

TEST_CASE("differential attention's gradients in float are central differences to three digits") {
  const Problem<float> p =
      differential_problem<float>(sizes_of(1, 2, 3, 3, 2), 12, Spread::per_head);
  const GradientReport report = check_gradients(differential<float>(true), p.inputs);
  CHECK_MESSAGE(report.ok, report.message);
}

TEST_CASE_TEMPLATE("differential attention reads strided operands as their copies, bit for bit", T,
                   float, double) {
  Random random(21);
  // Heads beside each other in a row, every other position, one head for all, half of each row.
  const auto q1 = transpose(random.normal<T>({2, 5, 3, 4}), {0, 2, 1, 3});
  const auto k1 = slice(random.normal<T>({2, 3, 12, 4}), 2, 1, 12, 2);
  const auto q2 = slice(random.normal<T>({2, 3, 5, 8}), 3, 0, 8, 2);
  const auto k2 = broadcast_to(random.normal<T>({2, 1, 6, 4}), {2, 3, 6, 4});
  const auto v = transpose(random.normal<T>({3, 2, 8, 6}), {1, 0, 3, 2});
  const auto lambda = broadcast_to(random.normal<T>({3, 1, 1}), {2, 3, 5, 1});
  const auto g = transpose(random.normal<T>({2, 3, 8, 5}));
  const Tensors<T> strided = {q1, k1, q2, k2, v, lambda};
  Tensors<T> copies, before;
  for (const auto& x : strided) {
    REQUIRE(!x.is_contiguous());
    copies.push_back(contiguous(x));
    before.push_back(copy(x));
  }
  for (bool causal : {true, false}) {
    const auto f = differential<T>(causal);
    CHECK(same_bits(differentiate(f, strided, g), differentiate(f, copies, contiguous(g))));
  }
  CHECK(same_bits(strided, before));
}

TEST_CASE("a gradient passes through a view to the tensor behind it") {
  // One projection holds both queries of all heads, as a model would keep it: [B, T, 2 H D].
  const Problem<double> p = differential_problem<double>(sizes_of(2, 3, 4, 4, 2), 22);
  const auto heads = [](In<double> x) { return transpose(reshape(x, {2, 4, 3, 2}), {0, 2, 1, 3}); };
  const auto f = [&](In<double> both) {
    const auto parts = split(both, {6, 6}, 2);
    return differential_attention(heads(parts[0]), p.inputs[1], heads(parts[1]), p.inputs[3],
                                  p.inputs[4], p.inputs[5]);
  };
  const auto merge = [](In<double> q) { return reshape(transpose(q, {0, 2, 1, 3}), {2, 4, 6}); };
  const auto both = concatenate<double>({merge(p.inputs[0]), merge(p.inputs[2])}, 2);
  const auto found = vjp(f, both, p.cotangent);
  const Tensors<double> expected = solve(p, true);
  CHECK(same_bits(found.first, expected[0]));
  CHECK(same_bits(found.second, concatenate<double>({merge(expected[1]), merge(expected[3])}, 2)));
}

TEST_CASE_TEMPLATE("differential attention never changes its operands", T, float, double) {
  const Problem<T> p = differential_problem<T>(sizes_of(2, 2, 3, 5, 2), 23, Spread::per_token);
  Tensors<T> before;
  for (const auto& x : p.inputs) before.push_back(copy(x));
  const Tensor<T> cotangent = copy(p.cotangent);
  solve(p, true);
  CHECK(same_bits(p.inputs, before));
  CHECK(same_bits(p.cotangent, cotangent));
}

TEST_CASE_TEMPLATE("differential attention gives the same bits every time", T, float, double) {
  const Problem<T> p = differential_problem<T>(sizes_of(2, 3, 17, 17, 8), 24);
  CHECK(same_bits(solve(p, true), solve(p, true)));
}

TEST_CASE_TEMPLATE("each head of each batch is computed as if it were alone", T, float, double) {
  const Problem<T> p = differential_problem<T>(sizes_of(2, 3, 4, 5, 2), 25, Spread::per_token);
  const Tensors<T> all = solve(p, true);
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t h = 0; h < 3; ++h) {
      const auto part = [&](In<T> x) { return slice(slice(x, 0, b, b + 1), 1, h, h + 1); };
      Problem<T> one{sizes_of(1, 1, 4, 5, 2), {}, part(p.cotangent), Spread::per_token};
      for (const auto& x : p.inputs) one.inputs.push_back(part(x));
      const Tensors<T> alone = solve(one, true);
      for (std::size_t i = 0; i < all.size(); ++i) CHECK(same_bits(alone[i], part(all[i])));
    }
}

TEST_CASE_TEMPLATE("a coefficient is the same as a number, a constant or a variable", T, float,
                   double) {
  const Problem<T> p = differential_problem<T>(sizes_of(1, 2, 3, 4, 2), 26);
  const auto& x = p.inputs;
  const auto with = [&](const auto& lambda) {
    return differential_attention(x[0], x[1], x[2], x[3], x[4], lambda);
  };
  static_assert(std::is_same_v<decltype(with(0.5)), Tensor<T>>);
  static_assert(std::is_same_v<decltype(with(0.5f)), Tensor<T>>);
  static_assert(std::is_same_v<decltype(with(2)), Tensor<T>>);
  CHECK(same_bits(with(0.3), with(Tensor<T>(0.3))));
  CHECK(same_bits(with(0.5f), with(Tensor<T>(0.5))));
  CHECK(same_bits(with(2), with(Tensor<T>(2))));
  CHECK(same_bits(with(-3), with(Tensor<T>(-3))));
  // By head or token, equal numbers are the same as one.
  CHECK(same_bits(with(0.3), with(Tensor<T>::full({2, 1, 1}, 0.3))));
  CHECK(same_bits(with(0.3), with(Tensor<T>::full({1, 2, 3, 1}, 0.3))));
  Tape<T> tape;
  CHECK(same_bits(with(0.3), with(tape.variable(Tensor<T>(0.3)))));
}

TEST_CASE_TEMPLATE("an operand's gradient is the same whether the others are constants or not", T,
                   float, double) {
  for (Spread spread : kSpreads) {
    const Problem<T> p = differential_problem<T>(sizes_of(2, 2, 3, 4, 2), 27, spread);
    const Tensors<T> all = solve(p, true);
    for (std::size_t i = 0; i < 6; ++i) {
      Tape<T> tape;
      Tensors<T> x = p.inputs;
      x[i] = tape.variable(x[i]);
      const Tensor<T> y = differential<T>(true)(x);
      CHECK(same_bits(y, all[0]));
      CHECK(same_bits(tape.vjp(y, p.cotangent, x[i]), all[i + 1]));
    }
  }
}

TEST_CASE_TEMPLATE(
    "differential attention keeps the dtype and gives each gradient its operand's shape", T, float,
    double) {
  for (Spread spread : kSpreads) {
    const Problem<T> p = differential_problem<T>(sizes_of(2, 3, 4, 5, 2), 31, spread);
    static_assert(std::is_same_v<decltype(differential<T>(true)(p.inputs)), Tensor<T>>);
    const Tensors<T> found = solve(p, true);
    CHECK(found[0].shape() == Shape{2, 3, 4, 4});
    for (std::size_t i = 0; i < 6; ++i) CHECK(found[i + 1].shape() == p.inputs[i].shape());
  }
}

TEST_CASE("differential attention is causal unless it is told otherwise") {
  const Problem<double> p = differential_problem<double>(sizes_of(1, 1, 3, 5, 2), 32);
  const auto& x = p.inputs;
  const auto causal = differential_attention(x[0], x[1], x[2], x[3], x[4], x[5]);
  CHECK(same_bits(causal, differential<double>(true)(x)));
  CHECK(same_bits(causal, differential<double>(causal_mask(3, 5))(x)));
  CHECK(!same_bits(causal, differential<double>(false)(x)));
  CHECK(same_bits(differential<double>(false)(x), differential<double>(Mask(true))(x)));
  CHECK(same_bits(differential_attention(x[0], x[1], x[2], x[3], x[4], 0.5),
                  differential_attention(x[0], x[1], x[2], x[3], x[4], 0.5, true)));
}

TEST_CASE("differential attention without positions, queries or keys is empty or zero") {
  for (bool causal : {true, false})
    for (Spread spread : kSpreads)
      for (const Sizes& s :
           {sizes_of(2, 3, 0, 0, 4), sizes_of(2, 3, 0, 2, 4), sizes_of(2, 3, 2, 0, 4),
            sizes_of(0, 3, 2, 2, 4), sizes_of(2, 0, 2, 2, 4)}) {
        const Problem<double> p = differential_problem<double>(s, 41, spread);
        const Tensors<double> found = solve(p, causal);
        CHECK(found[0].shape() == p.cotangent.shape());
        for (std::size_t i = 0; i < 6; ++i) CHECK(found[i + 1].shape() == p.inputs[i].shape());
        for (const auto& x : found) CHECK(every(x, 0));
      }
}

TEST_CASE("differential attention is recorded as its primitives alone, each map masked") {
  const Problem<double> p = differential_problem<double>(sizes_of(1, 2, 3, 3, 2), 51);
  const auto recorded = [&](const Visible& visible) {
    Tape<double> tape;
    differential<double>(visible)(tape.variable(p.inputs));
    std::multiset<std::string> ops;
    for (std::int64_t line = 6; line < tape.size(); ++line) ops.insert(tape.node(line).op);
    return ops;
  };
  std::multiset<std::string> expected = {"matmul", "matmul",  "matmul",  "mul",       "mul",
                                         "mul",    "softmax", "softmax", "transpose", "transpose",
                                         "mask",   "mask",    "sub"};
  CHECK(recorded(true) == expected);
  CHECK(recorded(Mask(true)) == expected);
  expected.erase("mask");
  CHECK(recorded(false) == expected);
}

TEST_CASE("differential attention of constants is a constant") {
  const Problem<double> p = differential_problem<double>(sizes_of(1, 1, 2, 2, 1), 52);
  Tape<double> tape;
  const auto y = differential<double>(true)(p.inputs);
  CHECK(tape.size() == 0);
  CHECK(!is_recorded(y));
}
