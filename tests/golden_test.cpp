// The golden cases: results and gradients that were computed in 40-digit arithmetic.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/attention.hpp"
#include "support/golden.hpp"

namespace {

using namespace xtape;
using namespace xtape::test;

Sizes sizes_of_case(const golden::AttentionCase& c) {
  return sizes_of(c.shape[0], c.shape[1], c.shape[2], c.shape[2], c.shape[3]);
}

Flat logits_of(const golden::AttentionCase& c, const Flat& q, const Flat& k) {
  const std::size_t t = c.shape[2], d = c.shape[3];
  Flat logits;
  for (std::size_t head = 0; head < c.shape[0] * c.shape[1]; ++head)
    for (std::size_t i = 0; i < t; ++i)
      for (std::size_t j = 0; j < t; ++j) {
        double sum = 0;
        for (std::size_t n = 0; n < d; ++n)
          sum += q[(head * t + i) * d + n] * k[(head * t + j) * d + n];
        logits.push_back(sum / std::sqrt(static_cast<double>(d)));
      }
  return logits;
}

bool logits_of_hundreds(const golden::AttentionCase& c) {
  double largest = 0;
  for (double x : logits_of(c, c.q1, c.k1)) largest = std::max(largest, std::abs(x));
  for (double x : logits_of(c, c.q2, c.k2)) largest = std::max(largest, std::abs(x));
  return largest >= 100;
}

/// Logits of hundreds carry rounding errors a hundred times those of logits of ones into the maps.
/// The float bar holds for them too: there one key takes all.
template <class T>
double bar_of(const golden::AttentionCase& c) {
  return sizeof(T) == sizeof(double) && logits_of_hundreds(c) ? 1e-10 : kBar<T>;
}

reference::DifferentialInputs reference_inputs(const golden::AttentionCase& c) {
  const Sizes s = sizes_of_case(c);
  return {s, c.q1, c.k1, c.q2, c.k2, c.value, {{c.coefficient}}, visibility(c.causal, s)};
}

template <class T>
Tensors<T> inputs_of(const golden::AttentionCase& c) {
  const Sizes s = sizes_of_case(c);
  const Shape narrow = shape_of(s, s.queries, s.features);
  const Shape wide = shape_of(s, s.queries, s.value_features);
  return {tensor<T>(narrow, c.q1), tensor<T>(narrow, c.k1),  tensor<T>(narrow, c.q2),
          tensor<T>(narrow, c.k2), tensor<T>(wide, c.value), Tensor<T>(c.coefficient)};
}

template <class T>
Tensors<T> inputs_of(const golden::LambdaCase& c) {
  const Shape shape = {length(c.shape[0])};
  return {tensor<T>(shape, c.q1), tensor<T>(shape, c.k1), tensor<T>(shape, c.q2),
          tensor<T>(shape, c.k2)};
}

/// The value and the six gradients of `f`, which is differential attention, are those of case c.
template <class T>
void check_case(const golden::AttentionCase& c, const Function<T>& f) {
  const Tensors<T> inputs = inputs_of<T>(c);
  const Tensor<T> cotangent = tensor<T>(inputs[4].shape(), c.cotangent);
  const Tensors<T> found = differentiate(f, inputs, cotangent);
  const double bar = bar_of<T>(c);
  CHECK(error(found[0], c.out) <= bar);
  CHECK(error(found[1], c.dq1) <= bar);
  CHECK(error(found[2], c.dk1) <= bar);
  CHECK(error(found[3], c.dq2) <= bar);
  CHECK(error(found[4], c.dk2) <= bar);
  CHECK(error(found[5], c.dvalue) <= bar);
  const Flat scale =
      reference::differential_attention_vjp(reference_inputs(c), c.cotangent).dcoefficient_scale;
  CHECK(scaled_error<T>(flat(found[6]), {c.dcoefficient}, scale) <= bar);
}

}  // namespace

TEST_CASE("there are 12 golden cases of attention and 4 of lambda") {
  const golden::Cases cases = golden::load();
  CHECK(cases.attention.size() == 12);
  CHECK(cases.lambda.size() == 4);
  CHECK(std::count_if(cases.attention.begin(), cases.attention.end(), logits_of_hundreds) == 1);
}

TEST_CASE_TEMPLATE("differential attention meets every golden case in value and six gradients", T,
                   float, double) {
  for (const golden::AttentionCase& c : golden::load().attention) {
    CAPTURE(c.label);
    check_case(c, differential<T>(c.causal));
  }
}

TEST_CASE_TEMPLATE("fused differential attention meets every golden case too", T, float, double) {
  for (const golden::AttentionCase& c : golden::load().attention) {
    CAPTURE(c.label);
    check_case(c, fused_differential<T>(c.causal));
  }
}

TEST_CASE_TEMPLATE("a number for coefficient meets every golden case too", T, float, double) {
  for (const golden::AttentionCase& c : golden::load().attention) {
    CAPTURE(c.label);
    const Tensors<T> x = inputs_of<T>(c);
    for (const Tensor<T>& out :
         {differential_attention(x[0], x[1], x[2], x[3], x[4], c.coefficient, c.causal),
          fused::differential_attention(x[0], x[1], x[2], x[3], x[4], c.coefficient, c.causal)})
      CHECK(error(out, c.out) <= bar_of<T>(c));
  }
}

TEST_CASE_TEMPLATE("lambda meets every golden case in value and four gradients", T, float, double) {
  for (const golden::LambdaCase& c : golden::load().lambda) {
    CAPTURE(c.label);
    const auto f = [&c](const Tensors<T>& x) {
      return differential_lambda(x[0], x[1], x[2], x[3], c.lambda_init);
    };
    const Tensors<T> found = differentiate<T>(f, inputs_of<T>(c), Tensor<T>(c.cotangent));
    const double scale =
        reference::differential_lambda_scale(c.q1, c.k1, c.q2, c.k2, c.lambda_init);
    CHECK(scaled_error<T>(flat(found[0]), {c.out}, {scale}) <= kBar<T>);
    CHECK(error(found[1], c.dq1) <= kBar<T>);
    CHECK(error(found[2], c.dk1) <= kBar<T>);
    CHECK(error(found[3], c.dq2) <= kBar<T>);
    CHECK(error(found[4], c.dk2) <= kBar<T>);
  }
}

TEST_CASE("the reference meets every golden case of attention") {
  for (const golden::AttentionCase& c : golden::load().attention) {
    CAPTURE(c.label);
    const auto in = reference_inputs(c);
    const auto g = reference::differential_attention_vjp(in, c.cotangent);
    const double bar = bar_of<double>(c);
    CHECK(error<double>(reference::differential_attention(in), c.out) <= bar);
    CHECK(error<double>(g.dq1, c.dq1) <= bar);
    CHECK(error<double>(g.dk1, c.dk1) <= bar);
    CHECK(error<double>(g.dq2, c.dq2) <= bar);
    CHECK(error<double>(g.dk2, c.dk2) <= bar);
    CHECK(error<double>(g.dvalue, c.dvalue) <= bar);
    CHECK(scaled_error<double>(g.dcoefficient, {c.dcoefficient}, g.dcoefficient_scale) <= bar);
  }
}

TEST_CASE("the reference meets every golden case of lambda") {
  for (const golden::LambdaCase& c : golden::load().lambda) {
    CAPTURE(c.label);
    const double value = reference::differential_lambda(c.q1, c.k1, c.q2, c.k2, c.lambda_init);
    const double scale =
        reference::differential_lambda_scale(c.q1, c.k1, c.q2, c.k2, c.lambda_init);
    CHECK(std::abs(value - c.out) <= kBar<double> * scale);
    const auto g = reference::differential_lambda_vjp(c.q1, c.k1, c.q2, c.k2, c.cotangent);
    CHECK(error<double>(g.dq1, c.dq1) <= kBar<double>);
    CHECK(error<double>(g.dk1, c.dk1) <= kBar<double>);
    CHECK(error<double>(g.dq2, c.dq2) <= kBar<double>);
    CHECK(error<double>(g.dk2, c.dk2) <= kBar<double>);
  }
}
