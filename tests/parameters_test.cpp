// A model as a list of named values: found by name, watched and differentiated as a whole.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/errors.hpp"

namespace {

using namespace xtape;

template <class T>
Parameters<T> small_model() {
  return {{"w", Tensor<T>{{1, 2}, {3, 4}}}, {"layer.bias", Tensor<T>{5, 6}}, {"scale", 7}};
}

}  // namespace

TEST_CASE_TEMPLATE("a parameter is found by its name, and can be replaced", T, float, double) {
  Parameters<T> model = small_model<T>();
  CHECK(at(model, "layer.bias").values() == std::vector<T>{5, 6});
  CHECK(at(std::as_const(model), "scale").item() == 7);
  at(model, "scale") = Tensor<T>(8);
  CHECK(model[2].value.item() == 8);
  CHECK(&at(model, "w") == &model[0].value);
  model.push_back({"w", Tensor<T>(0)});
  CHECK(&at(model, "w") == &model[0].value);
}

TEST_CASE("a name that is not there is refused with the one that is most like it") {
  Parameters<double> model = small_model<double>();
  const auto refusal = [&](const std::string& name) {
    return test::invalid([&] { at(model, name); });
  };
  const auto expected = [](const std::string& name, const std::string& nearest) {
    return "[at] no parameter is named \"" + name + "\": of the names in the list \"" + nearest +
           "\" is most like it.";
  };
  CHECK(refusal("layer.bais") == expected("layer.bais", "layer.bias"));
  CHECK(refusal("layers.bias") == expected("layers.bias", "layer.bias"));
  CHECK(refusal("W") == expected("W", "w"));
  CHECK(refusal("") == expected("", "w"));
  CHECK(refusal("scael") == expected("scael", "scale"));
  model = {{"blocks.0.wk", 1}, {"blocks.0.wq", 2}, {"blocks.1.wq", 3}};
  CHECK(refusal("block.1.wq") == expected("block.1.wq", "blocks.1.wq"));
  CHECK(refusal("blocks.0.wQ") == expected("blocks.0.wQ", "blocks.0.wk"));  // the first of two
  CHECK(refusal("blocks.2.wq") == expected("blocks.2.wq", "blocks.0.wq"));
  model.clear();
  CHECK(refusal("w") == "[at] no parameter is named \"w\": the list is empty.");
}

TEST_CASE("the values of a model are counted") {
  Parameters<float> model = small_model<float>();
  CHECK(count(model) == 7);
  model.push_back({"empty", Tensor<float>::zeros({3, 0})});
  CHECK(count(model) == 7);
  CHECK(count(Parameters<double>()) == 0);
  model.push_back({"none", {}});
  CHECK(test::invalid([&] { count(model); }) ==
        "[size] an array without a value was given: it must be assigned first.");
}

TEST_CASE_TEMPLATE("a watched model stands on the tape under its names", T, float, double) {
  Parameters<T> model = small_model<T>();
  Tape<T> tape;
  tape.watch(model);
  CHECK(tape.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const Node<T> node = tape.node(static_cast<std::int64_t>(i));
    CHECK(node.op == "variable");
    CHECK(node.label == small_model<T>()[i].name);
    CHECK(model[i].name == node.label);
    CHECK(model[i].value.values() == small_model<T>()[i].value.values());
    CHECK(tape.line(model[i].value) == static_cast<std::int64_t>(i));
  }
}

TEST_CASE_TEMPLATE("the gradients of a model come in its order", T, float, double) {
  const auto loss = [](const Parameters<T>& model) {
    return sum(matmul(at(model, "layer.bias"), at(model, "w"))) * square(at(model, "scale"));
  };
  Parameters<T> model = small_model<T>();
  Tape<T> tape;
  tape.watch(model);
  const Tensor<T> y = loss(model);
  // y = s^2 sum_ij b_i w_ij: dw_ij = s^2 b_i, db_i = s^2 sum_j w_ij, ds = 2 s sum b w
  const std::vector<std::vector<T>> expected{{245, 245, 294, 294}, {147, 343}, {798}};
  const auto check = [&](const std::vector<Tensor<T>>& gradients) {
    REQUIRE(gradients.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(gradients[i].values() == expected[i]);
      CHECK(gradients[i].shape() == model[i].value.shape());
    }
  };
  check(tape.gradient(y, model));
  check(tape.gradient(y, model, Record::yes));
  check(tape.vjp(y, Tensor<T>(1), model));
  check(std::move(tape).gradient(y, model));
  CHECK(tape.size() == 0);
}

TEST_CASE("a model that was never on the tape has no gradients there") {
  const Parameters<double> model = small_model<double>();
  Tape<double> tape;
  const auto x = tape.variable(2);
  CHECK(test::misuse([&] { tape.gradient(x, model); }) != "nothing was thrown");
}
