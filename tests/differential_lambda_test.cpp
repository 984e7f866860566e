// Lambda against the reference, differences, itself, and what IEEE says of its exponentials.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
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

constexpr std::int64_t kLengths[] = {1, 2, 3, 16, 64, 129};

/// q1, k1, q2, k2 -> lambda
template <class T>
Function<T> lambda_of(double init) {
  return [init](const Tensors<T>& x) { return differential_lambda(x[0], x[1], x[2], x[3], init); };
}

template <class T>
Tensors<T> random_vectors(std::int64_t n, std::uint64_t seed) {
  Random random(seed);
  const double deviation = 1 / std::sqrt(static_cast<double>(n));
  Tensors<T> x;
  for (int i = 0; i < 4; ++i) x.push_back(random.normal<T>({n}, 0, deviation));
  return x;
}

/// dq1 = g e^a k1, dk1 = g e^a q1, dq2 = -g e^b k2, dk2 = -g e^b q2
template <class T>
Tensors<T> analytic_vjp(const Tensors<T>& x, const Tensor<T>& g) {
  const auto ga = g * exp(dot(x[0], x[1])), gb = g * exp(dot(x[2], x[3]));
  return {ga * x[1], ga * x[0], -gb * x[3], -gb * x[2]};
}

template <class T>
void check_reference(const Tensors<T>& x, double init, double g) {
  const Flat q1 = flat(x[0]), k1 = flat(x[1]), q2 = flat(x[2]), k2 = flat(x[3]);
  const Tensors<T> found = differentiate(lambda_of<T>(init), x, Tensor<T>(g));
  const double scale = reference::differential_lambda_scale(q1, k1, q2, k2, init);
  const double expected = reference::differential_lambda(q1, k1, q2, k2, init);
  CHECK(scaled_error<T>(flat(found[0]), {expected}, {scale}) <= kBar<T>);
  const auto gradients = reference::differential_lambda_vjp(q1, k1, q2, k2, g);
  CHECK(error(found[1], gradients.dq1) <= kBar<T>);
  CHECK(error(found[2], gradients.dk1) <= kBar<T>);
  CHECK(error(found[3], gradients.dq2) <= kBar<T>);
  CHECK(error(found[4], gradients.dk2) <= kBar<T>);
}

}  // namespace

TEST_CASE_TEMPLATE("lambda is what the reference computes, in value and four gradients", T, float,
                   double) {
  std::uint64_t seed = 1;
  for (std::int64_t n : kLengths)
    for (double init : {0.2, 0.8, 0.0, -1.5})
      for (double g : {1.0, -0.75, 3.5}) {
        CAPTURE(seed);
        check_reference(random_vectors<T>(n, seed++), init, g);
      }
}

TEST_CASE("lambda's gradients are the analytic ones and central differences, to second order") {
  for (std::int64_t n : {1, 2, 5}) {
    GradientCheck<double> options;
    options.order = 2;
    options.analytic = analytic_vjp<double>;
    const auto report =
        check_gradients(lambda_of<double>(0.2), random_vectors<double>(n, 11), options);
    CHECK_MESSAGE(report.ok, report.message);
  }
}

TEST_CASE("lambda's gradients in float are central differences to three digits") {
  const auto report = check_gradients(lambda_of<float>(0.2), random_vectors<float>(4, 12));
  CHECK_MESSAGE(report.ok, report.message);
}

TEST_CASE_TEMPLATE("lambda reads strided vectors as their copies, bit for bit", T, float, double) {
  Random random(21);
  const auto columns = random.normal<T>({5, 4});
  Tensors<T> strided, copies;
  for (std::int64_t i = 0; i < 4; ++i) {
    strided.push_back(reshape(slice(columns, 1, i, i + 1), {5}));
    REQUIRE(!strided.back().is_contiguous());
    copies.push_back(contiguous(strided.back()));
  }
  strided[3] = broadcast_to(Tensor<T>(0.25), {5});
  copies[3] = contiguous(strided[3]);
  const std::vector<T> before = columns.values();
  const auto f = lambda_of<T>(0.2);
  CHECK(same_bits(differentiate<T>(f, strided, Tensor<T>(1.5)),
                  differentiate<T>(f, copies, Tensor<T>(1.5))));
  CHECK(columns.values() == before);
}

TEST_CASE_TEMPLATE("lambda keeps the dtype and is of shape [], its gradients vectors", T, float,
                   double) {
  const Tensors<T> x = random_vectors<T>(3, 31);
  static_assert(std::is_same_v<decltype(differential_lambda(x[0], x[1], x[2], x[3])), Tensor<T>>);
  const Tensors<T> found = differentiate(lambda_of<T>(0.2), x, Tensor<T>(1));
  CHECK(found[0].shape() == Shape{});
  for (std::size_t i = 1; i < 5; ++i) CHECK(found[i].shape() == Shape{3});
}

TEST_CASE("lambda's initial value is 0.2 unless another is given, and has no part in gradients") {
  const Tensors<double> x = random_vectors<double>(3, 32);
  const auto by_default = differential_lambda(x[0], x[1], x[2], x[3]);
  CHECK(same_bits(by_default, lambda_of<double>(0.2)(x)));
  Tensors<double> low = differentiate<double>(lambda_of<double>(0.2), x, 1);
  Tensors<double> high = differentiate<double>(lambda_of<double>(0.8), x, 1);
  CHECK(high[0].item() - low[0].item() == doctest::Approx(0.6).epsilon(1e-14));
  low[0] = high[0];
  CHECK(same_bits(low, high));
}

TEST_CASE_TEMPLATE("lambda vectors of zeros give the initial value and never move", T, float,
                   double) {
  for (std::int64_t n : kLengths) {
    const Tensors<T> zeros(4, Tensor<T>::zeros({n}));
    const Tensors<T> found = differentiate(lambda_of<T>(0.8), zeros, Tensor<T>(1));
    CHECK(found[0].item() == static_cast<T>(0.8));
    for (std::size_t i = 1; i < 5; ++i) CHECK(every(found[i], 0));
  }
}

TEST_CASE_TEMPLATE("equal pairs of lambda vectors leave the initial value and opposite gradients",
                   T, float, double) {
  const Tensors<T> x = random_vectors<T>(16, 33);
  const Tensors<T> found =
      differentiate<T>(lambda_of<T>(0.25), {x[0], x[1], x[0], x[1]}, Tensor<T>(1));
  CHECK(found[0].item() == T(0.25));
  CHECK(same_bits(found[3], -found[1]));
  CHECK(same_bits(found[4], -found[2]));
  CHECK(!every(found[1], 0));
}

TEST_CASE("lambda overflows as IEEE says: e^361 is infinite in float and finite in double") {
  const Tensor<float> large = {19}, zero = {0};  // 19 * 19 = 361
  constexpr float inf = std::numeric_limits<float>::infinity();
  CHECK(differential_lambda(large, large, zero, zero).item() == inf);
  CHECK(differential_lambda(zero, zero, large, large).item() == -inf);
  CHECK(std::isnan(differential_lambda(large, large, large, large).item()));
  const Tensors<float> found =
      differentiate<float>(lambda_of<float>(0.2), {large, large, zero, zero}, Tensor<float>(1));
  CHECK(found[1].values() == std::vector<float>{inf});  // e^a k1
  CHECK(found[2].values() == std::vector<float>{inf});
  CHECK(found[3].values() == std::vector<float>{0});
  const Tensor<double> wide = {19}, none = {0};
  const double value = differential_lambda(wide, wide, none, none).item();
  CHECK(value == doctest::Approx(std::exp(361)).epsilon(1e-15));
  CHECK(differential_lambda(wide, wide, wide, wide).item() == 0.2);
}

TEST_CASE("lambda is recorded as its primitives alone") {
  Tape<double> tape;
  const Tensors<double> x = tape.variable(random_vectors<double>(3, 51));
  differential_lambda(x[0], x[1], x[2], x[3]);
  std::multiset<std::string> ops;
  for (std::int64_t line = 4; line < tape.size(); ++line) ops.insert(tape.node(line).op);
  CHECK(ops == std::multiset<std::string>{"mul", "mul", "sum", "sum", "exp", "exp", "sub", "add"});
}

TEST_CASE("lambda's vectors learn through differential attention") {
  const Tensors<double> vectors = random_vectors<double>(3, 61);
  const auto p = differential_problem<double>(sizes_of(1, 2, 4, 4, 2), 62);
  const auto& x = p.inputs;
  const auto f = [&](const Tensors<double>& l) {
    return differential_attention(x[0], x[1], x[2], x[3], x[4],
                                  differential_lambda(l[0], l[1], l[2], l[3], 0.5));
  };
  const auto report = check_gradients<double>(f, vectors);
  CHECK_MESSAGE(report.ok, report.message);
  // The coefficient's gradient is what reaches lambda.
  auto given = p;
  given.inputs[5] = lambda_of<double>(0.5)(vectors);
  const auto dcoefficient = solve(given, true).back();
  auto expected = analytic_vjp(vectors, dcoefficient);
  const auto found = differentiate<double>(f, vectors, p.cotangent);
  for (std::size_t i = 0; i < 4; ++i) CHECK(error(found[i + 1], flat(expected[i])) <= kBar<double>);
}

TEST_CASE("the initial lambda of layers 1, 2, 12 is .2, .355509, .777870") {
  CHECK(std::abs(lambda_init(1) - 0.2) <= 1e-16);      // 0.8 - 0.6, rounded
  CHECK(std::abs(lambda_init(2) - 0.355509) <= 5e-7);  // half of the last digit
  CHECK(std::abs(lambda_init(12) - 0.777870) <= 5e-7);
  for (int layer : {1, 2, 3, 12, 28, 1000})
    CHECK(std::abs(lambda_init(layer) - reference::lambda_init(layer)) <= 1e-15);
}

TEST_CASE("the initial lambda refuses layers below 1") {
  CHECK(invalid([] { lambda_init(0); }) == "[lambda_init] layer 0: layers count from 1.");
  CHECK(invalid([] { lambda_init(-7); }) == "[lambda_init] layer -7: layers count from 1.");
}

TEST_CASE("lambda refuses what is not four vectors of one length of at least 1") {
  const auto refusal = [](const Shape& q1, const Shape& k1, const Shape& q2, const Shape& k2) {
    return invalid([&] {
      differential_lambda(Tensor<double>::zeros(q1), Tensor<double>::zeros(k1),
                          Tensor<double>::zeros(q2), Tensor<double>::zeros(k2));
    });
  };
  CHECK(refusal({}, {}, {}, {}) ==
        "[differential_lambda] q1 of shape []: a vector [D] with D of at least 1 is required.");
  CHECK(refusal({0}, {0}, {0}, {0}) ==
        "[differential_lambda] q1 of shape [0]: a vector [D] with D of at least 1 is required.");
  CHECK(refusal({1, 3}, {1, 3}, {1, 3}, {1, 3}) ==
        "[differential_lambda] q1 of shape [1, 3]: a vector [D] with D of at least 1 is required.");
  CHECK(refusal({3}, {4}, {3}, {3}) ==
        "[differential_lambda] k1 of shape [4]: [3] is required, as q1 has.");
  CHECK(refusal({3}, {3}, {1}, {3}) ==
        "[differential_lambda] q2 of shape [1]: [3] is required, as q1 has.");
  CHECK(refusal({3}, {3}, {3}, {}) ==
        "[differential_lambda] k2 of shape []: [3] is required, as q1 has.");
  Tape<double> tape;
  const auto v = tape.variable(Tensor<double>::ones({3}));
  CHECK_THROWS_AS(differential_lambda(v, v, v, slice(stop_gradient(v), 0, 0, 2)),
                  std::invalid_argument);
  CHECK(tape.size() == 1);
}
