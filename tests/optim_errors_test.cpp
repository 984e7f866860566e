// What optimisers refuse, before anything changes.
#include <doctest/doctest.h>

#include <limits>
#include <string>

#include <xtape/xtape.hpp>

#include "support/errors.hpp"
#include "support/model.hpp"

namespace {

using namespace xtape;
using test::a_model;
using test::Gradients;
using test::invalid;
using test::same_bits;
using test::some_gradients;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("gradients that do not fit the model are refused, and nothing changes") {
  const auto check = [](auto optimiser, const std::string& op) {
    Parameters<double> model = a_model<double>();
    optimiser.step(model, some_gradients(model, 0));
    const Parameters<double> before = model, state = optimiser.state();
    const auto refusal = [&](const Gradients<double>& gradients) {
      return invalid([&] { optimiser.step(model, gradients); });
    };
    auto gradients = some_gradients(model, 1);
    gradients.pop_back();
    CHECK(refusal(gradients) ==
          op + "4 gradients for 5 parameters: one for each is required, in the same order.");
    CHECK(refusal({}) ==
          op + "0 gradients for 5 parameters: one for each is required, in the same order.");
    gradients.push_back(Tensor<double>::zeros({2, 3, 4}));
    CHECK(refusal(gradients) == op + "a gradient of shape [2, 3, 4] for \"cube\" of shape "
                                     "[2, 3, 5]: they must be equal.");
    gradients[4] = {};
    CHECK(refusal(gradients) ==
          op + "an array without a value was given: it must be assigned first.");
    CHECK(same_bits(model, before));
    CHECK(same_bits(optimiser.state(), state));
  };
  check(AdamW<double>(), "[AdamW] ");
  check(Sgd<double>({0.1, 0.9}), "[Sgd] ");
}

TEST_CASE("a model with two values of one name, or another than before, is refused") {
  const auto check = [](auto optimiser, const std::string& op) {
    const auto refusal = [&](Parameters<double> model) {
      return invalid([&] { optimiser.step(model, some_gradients(model, 0)); });
    };
    const Tensor<double> x{1, 2};
    CHECK(refusal({{"a", x}, {"b", x}, {"a", x}}) ==
          op + "two parameters are named \"a\": each name may stand once.");
    CHECK(refusal({{"a", x}, {"b", x}}) == "nothing was thrown");
    const std::string steps = ": the model must be that of the steps before.";
    CHECK(refusal({{"a", x}}) == op + "a model of 1 parameters, where the state is of 2" + steps);
    CHECK(refusal({}) == op + "a model of 0 parameters, where the state is of 2" + steps);
    const std::string name = op[1] == 'A' ? "adamw.m." : "sgd.momentum.";
    CHECK(refusal({{"b", x}, {"a", x}}) ==
          op + "\"b\" of shape [2], where the state has \"" + name + "a\" of shape [2]" + steps);
    CHECK(refusal({{"a", x}, {"b", 1}}) ==
          op + "\"b\" of shape [], where the state has \"" + name + "b\" of shape [2]" + steps);
    CHECK(refusal({{"a", x}, {"b", x}}) == "nothing was thrown");
  };
  check(AdamW<double>(), "[AdamW] ");
  check(Sgd<double>({0.1, 0.9}), "[Sgd] ");
}

TEST_CASE("a state that is none is refused, and the old one stays") {
  const Tensor<double> x{1, 2};
  AdamW<double> adamw;
  Parameters<double> model{{"w", x}};
  adamw.step(model, {x});
  const Parameters<double> good = adamw.state();
  const auto refusal = [&](const Parameters<double>& state) {
    return invalid([&] { adamw.load_state(state); });
  };
  const std::string step = "\": the number of steps as \"adamw.step\" is required there.";
  CHECK(refusal({}) ==
        "[AdamW] a state of 0 values: what state() gave with the same options is required.");
  CHECK(refusal({good[0], good[1]}) ==
        "[AdamW] a state of 2 values: what state() gave with the same options is required.");
  CHECK(refusal({{"w", 1}}) == "[AdamW] a state that begins with \"w" + step);
  for (const double n : {-1.0, 0.5, kNan, kInf})
    CHECK(refusal({{"adamw.step", n}}) == "[AdamW] a state that begins with \"adamw.step" + step);
  CHECK(refusal({{"adamw.step", x}}) == "[AdamW] a state that begins with \"adamw.step" + step);
  CHECK(refusal({good[0], good[2], good[1]}) ==
        "[AdamW] \"adamw.v.w\" of shape [2] in a state: \"adamw.m.w\" of shape [2] is required "
        "there.");
  CHECK(refusal({good[0], good[1], {"adamw.v.x", x}}) ==
        "[AdamW] \"adamw.v.x\" of shape [2] in a state: \"adamw.v.w\" of shape [2] is required "
        "there.");
  CHECK(refusal({good[0], good[1], {"adamw.v.w", 1}}) ==
        "[AdamW] \"adamw.v.w\" of shape [] in a state: \"adamw.v.w\" of shape [2] is required "
        "there.");
  CHECK(refusal({good[0], good[1], {"adamw.v.w", {}}}) ==
        "[AdamW] an array without a value was given: it must be assigned first.");
  CHECK(same_bits(adamw.state(), good));

  Sgd<double> sgd({0.1, 0.9}), plain({0.1});
  sgd.step(model, {x});
  CHECK(invalid([&] { plain.load_state(sgd.state()); }) ==
        "[Sgd] a state of 1 values: what state() gave with the same options is required.");
  CHECK(invalid([&] {
          sgd.load_state({{"x", x}});
        }) ==
        "[Sgd] \"x\" of shape [2] in a state: \"sgd.momentum.\" of shape [2] is required there.");
}

TEST_CASE("options and rates outside of their ranges are refused") {
  const std::string finite = ": a finite number of at least 0 is required.";
  const std::string below_1 = ": a number of at least 0 and below 1 is required.";
  const auto adamw = [](double AdamWOptions::*option, double value) {
    AdamWOptions options;
    options.*option = value;
    return invalid([&] { AdamW<float> made(options); });
  };
  CHECK(adamw(&AdamWOptions::rate, kNan) == "[AdamW] rate nan" + finite);
  CHECK(adamw(&AdamWOptions::rate, -1) == "[AdamW] rate -1.000000" + finite);
  CHECK(adamw(&AdamWOptions::rate, kInf) == "[AdamW] rate inf" + finite);
  CHECK(adamw(&AdamWOptions::beta1, 1) == "[AdamW] beta1 1.000000" + below_1);
  CHECK(adamw(&AdamWOptions::beta2, -0.5) == "[AdamW] beta2 -0.500000" + below_1);
  CHECK(adamw(&AdamWOptions::epsilon, kNan) == "[AdamW] epsilon nan" + finite);
  CHECK(adamw(&AdamWOptions::weight_decay, kInf) == "[AdamW] weight_decay inf" + finite);
  const auto sgd = [](double SgdOptions::*option, double value) {
    SgdOptions options;
    options.*option = value;
    return invalid([&] { Sgd<float> made(options); });
  };
  CHECK(sgd(&SgdOptions::rate, kNan) == "[Sgd] rate nan" + finite);
  CHECK(sgd(&SgdOptions::momentum, 1) == "[Sgd] momentum 1.000000" + below_1);
  CHECK(sgd(&SgdOptions::weight_decay, -1) == "[Sgd] weight_decay -1.000000" + finite);

  Parameters<float> model{{"x", Tensor<float>{1}}};
  CHECK(invalid([&] { AdamW<float>().step(model, {Tensor<float>{1}}, kNan); }) ==
        "[AdamW] rate nan" + finite);
  CHECK(invalid([&] { Sgd<float>().step(model, {Tensor<float>{1}}, -kInf); }) ==
        "[Sgd] rate -inf" + finite);
  CHECK(model[0].value.item() == 1);
}
