// What differential attention refuses: every text, and that nothing is computed before the checks.
#include <doctest/doctest.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/errors.hpp"

namespace {

using namespace xtape;
using test::invalid;

const Shape kQuery = {1, 2, 3, 4};
const Shape kKey = {1, 2, 5, 4};
const Shape kValue = {1, 2, 5, 8};

Tensor<double> zeros(const Shape& shape) { return Tensor<double>::zeros(shape); }

/// What is said of operands of these shapes.
std::string refusal(const Shape& q1, const Shape& k1, const Shape& q2, const Shape& k2,
                    const Shape& value, const Shape& coefficient = {}) {
  return invalid([&] {
    differential_attention(zeros(q1), zeros(k1), zeros(q2), zeros(k2), zeros(value),
                           zeros(coefficient));
  });
}

std::string refusal_of_coefficient(const Shape& coefficient) {
  return refusal(kQuery, kKey, kQuery, kKey, kValue, coefficient);
}

std::string refusal_of_mask(const Shape& shape) {
  std::size_t size = 1;
  for (std::int64_t n : shape) size *= static_cast<std::size_t>(n);
  const Mask allowed(shape, std::vector<bool>(size, true));
  return invalid([&] {
    differential_attention(zeros(kQuery), zeros(kKey), zeros(kQuery), zeros(kKey), zeros(kValue),
                           0.5, allowed);
  });
}

template <class T>
std::string refusal_of_number(double coefficient) {
  const auto q = Tensor<T>::ones({1, 1, 1, 1});
  return invalid([&] {
    differential_attention(q, q, q, q, Tensor<T>::ones({1, 1, 1, 2}), coefficient);
  });
}

}  // namespace

TEST_CASE("differential attention refuses a q1 that is not of rank 4 or has no features") {
  CHECK(refusal({3, 4}, kKey, {3, 4}, kKey, kValue) ==
        "[differential_attention] q1 of shape [3, 4]: [B, H, T, D] with D of at least 1 is "
        "required.");
  CHECK(refusal({1, 2, 3, 0}, {1, 2, 5, 0}, {1, 2, 3, 0}, {1, 2, 5, 0}, {1, 2, 5, 0}) ==
        "[differential_attention] q1 of shape [1, 2, 3, 0]: [B, H, T, D] with D of at least 1 is "
        "required.");
  CHECK(refusal({}, {}, {}, {}, {}) ==
        "[differential_attention] q1 of shape []: [B, H, T, D] with D of at least 1 is required.");
}

TEST_CASE("differential attention refuses a k1 that differs from q1 but in its positions") {
  CHECK(refusal(kQuery, {5, 4}, kQuery, {5, 4}, kValue) ==
        "[differential_attention] k1 of shape [5, 4]: [1, 2, 3, 4] is required, but for any "
        "number of keys.");
  CHECK(refusal(kQuery, {1, 2, 5, 3}, kQuery, {1, 2, 5, 3}, kValue) ==
        "[differential_attention] k1 of shape [1, 2, 5, 3]: [1, 2, 5, 4] is required, but for any "
        "number of keys.");
  CHECK(refusal(kQuery, {1, 1, 5, 4}, kQuery, kKey, kValue) ==
        "[differential_attention] k1 of shape [1, 1, 5, 4]: [1, 2, 5, 4] is required, but for any "
        "number of keys.");
}

TEST_CASE("differential attention refuses a second query or key of another shape than the first") {
  CHECK(refusal(kQuery, kKey, kKey, kKey, kValue) ==
        "[differential_attention] q2 of shape [1, 2, 5, 4]: [1, 2, 3, 4] is required, as q1 has.");
  CHECK(refusal(kQuery, kKey, {3, 4}, kKey, kValue) ==
        "[differential_attention] q2 of shape [3, 4]: [1, 2, 3, 4] is required, as q1 has.");
  CHECK(refusal(kQuery, kKey, kQuery, kQuery, kValue) ==
        "[differential_attention] k2 of shape [1, 2, 3, 4]: [1, 2, 5, 4] is required, as k1 has.");
}

TEST_CASE("differential attention refuses a value that is not twice as wide as a key") {
  CHECK(refusal(kQuery, kKey, kQuery, kKey, kKey) ==
        "[differential_attention] value of shape [1, 2, 5, 4]: [1, 2, 5, 8] is required, twice as "
        "wide as k1.");
  CHECK(refusal(kQuery, kKey, kQuery, kKey, {1, 2, 3, 8}) ==
        "[differential_attention] value of shape [1, 2, 3, 8]: [1, 2, 5, 8] is required, twice as "
        "wide as k1.");
  CHECK(refusal(kQuery, kKey, kQuery, kKey, {5, 8}) ==
        "[differential_attention] value of shape [5, 8]: [1, 2, 5, 8] is required, twice as wide "
        "as k1.");
}

TEST_CASE("differential attention refuses a coefficient that is not one a call, head or query") {
  for (const Shape& shape : {Shape{1}, Shape{2}, Shape{1, 1, 1}, Shape{1, 2, 1, 1},
                             Shape{1, 2, 3, 4}, Shape{1, 2, 5, 1}, Shape{2, 3, 1}})
    CHECK(refusal_of_coefficient(shape) ==
          "[differential_attention] coefficient of shape " + to_string(shape) +
              ": [], [2, 1, 1] or [1, 2, 3, 1] is required, one a call, a head or a query.");
}

TEST_CASE("differential attention refuses a number for coefficient that is not finite") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const std::string end = ": a finite number is required.";
  CHECK(refusal_of_number<double>(inf) == "[differential_attention] coefficient inf" + end);
  CHECK(refusal_of_number<double>(-inf) == "[differential_attention] coefficient -inf" + end);
  CHECK(refusal_of_number<float>(std::numeric_limits<double>::quiet_NaN()) ==
        "[differential_attention] coefficient nan" + end);
  CHECK(refusal_of_number<double>(1e300) == "nothing was thrown");
}

TEST_CASE("differential attention refuses masks that do not broadcast to its scores") {
  for (const Shape& shape :
       {Shape{4}, Shape{5, 3}, Shape{3}, Shape{2, 1, 1, 5}, Shape{1, 1, 1, 3, 5}})
    CHECK(refusal_of_mask(shape) ==
          "[differential_attention] a mask of shape " + to_string(shape) +
              " for scores of shape [1, 2, 3, 5]: it must broadcast to them.");
}

TEST_CASE("differential attention checks everything before it writes on the tape") {
  Tape<double> tape;
  const auto q = tape.variable(Tensor<double>::ones({1, 1, 2, 2}));
  const auto value = tape.variable(Tensor<double>::ones({1, 1, 2, 4}));
  const Mask too_long({3}, {true, true, true});
  CHECK_THROWS_AS(differential_attention(q, q, q, q, value, 0.5, too_long), std::invalid_argument);
  CHECK_THROWS_AS(differential_attention(q, q, q, q, value, zeros({2})), std::invalid_argument);
  CHECK_THROWS_AS(differential_attention(q, q, q, q, q, 0.5), std::invalid_argument);
  CHECK(tape.size() == 2);
}
