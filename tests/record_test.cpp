// Ops of a user's own: record and record_joint.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/errors.hpp"
#include "support/near.hpp"

namespace {

using namespace xtape;
using test::invalid;
using test::misuse;
using test::near;
using Values = std::vector<double>;
using Tensors = std::vector<Tensor<double>>;
using Needed = std::vector<bool>;

/// The sine and the cosine, as someone outside of the library would write them.
template <class T>
Tensor<T> cosine(const Tensor<T>& x);
template <class T>
Tensor<T> sine(const Tensor<T>& x) {
  std::vector<T> values = x.values();
  for (T& v : values) v = std::sin(v);
  return record<T>("sine", Tensor<T>(x.shape(), values),
                   {{x, [x](In<T> g) { return chain(g, cosine(x)); }}});
}
template <class T>
Tensor<T> cosine(const Tensor<T>& x) {
  std::vector<T> values = x.values();
  for (T& v : values) v = std::cos(v);
  return record<T>("cosine", Tensor<T>(x.shape(), values),
                   {{x, [x](In<T> g) { return chain(g, -sine(x)); }}});
}

/// Product and sum as one op of two inputs and two outputs: (a b, a + b).
Tensors product_and_sum(const Tensor<double>& a, const Tensor<double>& b, Needed* seen = nullptr) {
  const auto fixed_a = stop_gradient(a), fixed_b = stop_gradient(b);
  return record_joint<double>("product_and_sum", {fixed_a * fixed_b, fixed_a + fixed_b}, {a, b},
                              [a, b, seen](const Tensors& g, const Needed& needed) {
                                if (seen) *seen = needed;
                                Tensors result(2);
                                if (needed[0]) result[0] = g[0] * b + g[1];
                                if (needed[1]) result[1] = g[0] * a + g[1];
                                return result;
                              });
}

/// x with a rule that returns `wrong`.
Tensor<double> returning(const Tensor<double>& x, const Tensor<double>& wrong) {
  return record<double>("returning", stop_gradient(x),
                        {{x, [wrong](In<double>) { return wrong; }}});
}

}  // namespace

TEST_CASE("an op of a user's own has every derivative") {
  Tape<double> tape;
  const auto x = tape.variable(0.7);
  const auto y = sine(x);
  CHECK(tape.node(1).op == "sine");
  CHECK(y.item() == std::sin(0.7));
  const auto first = tape.gradient(y, x, Record::yes);
  const auto second = tape.gradient(first, x, Record::yes);
  const auto third = tape.gradient(second, x);
  CHECK(first.item() == std::cos(0.7));
  CHECK(second.item() == -std::sin(0.7));
  CHECK(third.item() == -std::cos(0.7));
  CHECK(grad([](auto z) { return sine(z * z); })(Tensor<float>(0.0f)).item() == 0.0f);
}

TEST_CASE("an op of constants is not recorded and its value is returned as it is") {
  const Tensor<double> x = 1, value = 2;
  const auto y = record<double>("op", value, {{x, [](In<double> g) { return g; }}});
  CHECK(y.data() == value.data());
  CHECK(!is_recorded(y));
  const auto parts = product_and_sum(x, value);
  CHECK(parts[0].item() == 2);
  CHECK(!is_recorded(parts[1]));
}

TEST_CASE("recording writes no place into a tensor that others hold") {
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{1, 2});
  const Tensor<double> value{3, 4};
  const auto y = record<double>("op", value, {{x, [](In<double> g) { return g; }}});
  CHECK(is_recorded(y));
  CHECK(!is_recorded(value));
  CHECK(y.data() == value.data());
  // The value may even stand on the tape already: it keeps its own line.
  const auto z = record<double>("op", x, {{x, [](In<double> g) { return 5 * g; }}});
  CHECK(tape.line(x) == 0);
  CHECK(tape.line(z) == 2);
  CHECK(tape.gradient(sum(z), x).values() == Values{5, 5});
  CHECK(tape.gradient(sum(x), x).values() == Values{1, 1});
  const auto w = record_joint<double>(
      "op", {value, value}, {x},
      [](const Tensors& g, const Needed&) { return Tensors{g[0] + 10 * g[1]}; });
  CHECK(!is_recorded(value));
  CHECK(tape.line(w[0]) != tape.line(w[1]));
  CHECK(tape.vjp(w[1], Tensor<double>{1, 2}, x).values() == Values{10, 20});
}

TEST_CASE("a rule that names the output makes the node keep it and receives it") {
  Tape<double> tape;
  const auto x = tape.variable(3);
  const auto y = record<double>("op", Tensor<double>(7),
                                {{x, [](In<double> g, In<double> out) { return g * out; }}});
  const auto z = record<double>("op", Tensor<double>(7), {{x, [](In<double> g) { return g; }}});
  CHECK(tape.node(tape.line(y)).value.item() == 7);
  CHECK(!tape.node(tape.line(z)).value.has_value());
  CHECK(tape.gradient(y, x).item() == 7);
}

TEST_CASE("a rule with large captures works like one with small ones") {
  Tape<double> tape;
  const auto x = tape.variable(3);
  const Tensor<double> a = 1, b = 2, c = 3, d = 4;
  const std::string text(100, 'x');
  const auto y = record<double>("op", Tensor<double>(0), {{x, [a, b, c, d, text](In<double> g) {
                                                             const double n =
                                                                 static_cast<double>(text.size());
                                                             return g * (a + b + c + d) * n;
                                                           }}});
  const auto z = record<double>(
      "op", Tensor<double>(5),
      {{x, [a, b, c, d](In<double> g, In<double> out) { return g * (a + b + c + d) * out; }}});
  CHECK(tape.gradient(y, x).item() == 1000);
  CHECK(tape.node(tape.line(z)).value.item() == 5);
  CHECK(tape.gradient(z, x).item() == 50);
}

TEST_CASE("an op on one tensor twice adds what both rules give") {
  Tape<double> tape;
  const auto x = tape.variable(3);
  const auto y = record<double>(
      "op", Tensor<double>(0),
      {{x, [](In<double> g) { return 2 * g; }}, {x, [](In<double> g) { return 5 * g; }}});
  CHECK(tape.gradient(y, x).item() == 7);
}

TEST_CASE("a rule may return any shape that its input broadcasts to") {
  Tape<double> tape;
  const auto scalar = tape.variable(1);
  const auto vector = tape.variable(Tensor<double>{1});
  const auto row = tape.variable(Tensor<double>({1, 2}, {1, 2}));
  const Tensor<double> wide({3, 2}, {1, 2, 3, 4, 5, 6});
  CHECK(tape.gradient(returning(scalar, wide), scalar).shape() == Shape{});
  CHECK(tape.gradient(returning(scalar, wide), scalar).item() == 21);
  CHECK(tape.gradient(returning(vector, wide), vector).values() == Values{21});
  CHECK(tape.gradient(sum(returning(row, wide)), row).shape() == Shape{1, 2});
  CHECK(tape.gradient(sum(returning(row, wide)), row).values() == Values{9, 12});
  CHECK(tape.gradient(returning(vector, Tensor<double>({1, 1, 1}, {4})), vector).shape() ==
        Shape{1});
}

TEST_CASE("a rule that returns another shape throws and names the op") {
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{1, 2, 3});
  const auto text = [&](const Tensor<double>& wrong) {
    return invalid([&] { tape.gradient(sum(returning(x, wrong)), x); });
  };
  const std::string begin = "[returning] a pullback returned shape ";
  const std::string end =
      " for an input of shape [3]: it must be a shape that the input broadcasts to.";
  CHECK(text(Tensor<double>{1, 2}) == begin + "[2]" + end);
  CHECK(text(1) == begin + "[]" + end);
  CHECK(text(Tensor<double>{1}) == begin + "[1]" + end);
  CHECK(text(Tensor<double>({3, 1}, {1, 2, 3})) == begin + "[3, 1]" + end);
  CHECK(text(Tensor<double>()) ==
        "[returning] an array without a value was given: it must be assigned first.");
  CHECK(tape.gradient(sum(x), x).values() == Values{1, 1, 1});  // the tape is as it was
}

TEST_CASE("a joint rule is told which inputs need it and which outputs count") {
  Tape<double> tape;
  const auto a = tape.variable(3), b = tape.variable(5);
  Needed seen;
  const auto y = product_and_sum(a, b, &seen);
  CHECK(tape.gradient(y[0], a).item() == 5);
  CHECK(seen == Needed{true, false});
  CHECK(tape.gradient(y[0], b).item() == 3);
  CHECK(seen == Needed{false, true});
  CHECK(tape.gradient(y[1], b).item() == 1);
  const auto [da, db] = tape.gradient(y[0] * y[1], a, b);
  CHECK(seen == Needed{true, true});
  CHECK(da.item() == 5 * 8 + 15);  // of a b (a + b)
  CHECK(db.item() == 3 * 8 + 15);
  const auto z = product_and_sum(a, 2, &seen);
  CHECK(tape.gradient(z[0] + z[1], a).item() == 3);
  CHECK(seen == Needed{true, false});
}

TEST_CASE("a joint op has second derivatives too") {
  const auto f = [](auto x) {
    const auto y = product_and_sum(x, x * x);
    return y[0] * y[1];  // x^3 (x + x^2) = x^4 + x^5
  };
  CHECK(grad(f)(Tensor<double>(2)).item() == 4 * 8 + 5 * 16);
  CHECK(grad(grad(f))(Tensor<double>(2)).item() == 12 * 4 + 20 * 8);
}

TEST_CASE("a joint rule must give one cotangent an input") {
  Tape<double> tape;
  const auto a = tape.variable(3), b = tape.variable(5);
  const auto y = record_joint<double>("two_of_three", {Tensor<double>(1)}, {a, b, a},
                                      [](const Tensors& g, const Needed&) {
                                        return Tensors{g[0], g[0]};
                                      });
  CHECK(invalid([&] { tape.gradient(y[0], a); }) ==
        "[two_of_three] a joint pullback returned 2 cotangents for 3 inputs: one an input is "
        "required.");
  const auto z = record_joint<double>("nothing", {Tensor<double>(1)}, {a},
                                      [](const Tensors&, const Needed&) { return Tensors(1); });
  CHECK(invalid([&] { tape.gradient(z[0], a); }) ==
        "[nothing] an array without a value was given: it must be assigned first.");
}

TEST_CASE("a rule that mixes in another living tape while gradients are recorded throws") {
  Tape<double> tape;
  const auto u = tape.variable(2);
  const auto meddling = [&](auto x) {
    return record<double>("meddling", stop_gradient(x),
                          {{x, [x, u](In<double> g) { return g * x * u; }}});
  };
  // The inner sweep is recorded on the outer function's tape, and u joins only in its middle.
  CHECK(misuse([&] { grad([&](auto x) { return grad(meddling)(x); })(Tensor<double>(1)); }) ==
        "[mul] mixes tapes while the gradient of one of them is computed: a pullback may use its "
        "inputs and its output only.");
  CHECK(tape.gradient(u * u, u).item() == 4);
}

TEST_CASE("attributes of an op of a user's own show on its node") {
  Tape<double> tape;
  const auto x = tape.variable(3);
  record<double>("op", Tensor<double>(1), {{x, [](In<double> g) { return g; }}}, "power=3");
  CHECK(tape.node(1).attributes == "power=3");
  CHECK(to_string(tape) == "%0: f64[] = variable()\n%1: f64[] = op(%0, power=3)\n");
}

TEST_CASE("an input that gets no rule is an error not a crash") {
  Tape<double> tape;
  const auto x = tape.variable(3);
  CHECK(invalid([&] {
          record<double>("op", Tensor<double>(1), {{x, {}}});
        }) == "[op] an input that stands on a tape has no pullback: one is required.");
  CHECK(tape.size() == 1);
  CHECK(record<double>("op", Tensor<double>(1), {{Tensor<double>(2), {}}}).item() == 1);
  CHECK(invalid([&] { record_joint<double>("op", {Tensor<double>(1)}, {x}, nullptr); }) ==
        "[op] no joint pullback: one for all inputs is required.");
}
