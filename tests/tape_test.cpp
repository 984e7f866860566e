// Tape: its lines, what it keeps, when it ends, and what it refuses.
#include <doctest/doctest.h>

#include <type_traits>
#include <utility>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/errors.hpp"

namespace {

using namespace xtape;
using test::invalid;
using test::misuse;
using Values = std::vector<double>;

static_assert(!std::is_copy_constructible_v<Tape<double>>, "a tape moves only");
static_assert(!std::is_copy_assignable_v<Tape<double>>, "a tape moves only");
static_assert(std::is_nothrow_move_constructible_v<Tape<double>>);
static_assert(std::is_nothrow_move_assignable_v<Tape<double>>);

}  // namespace

TEST_CASE("a tape has a line for each variable and each op on one") {
  Tape<double> tape;
  CHECK(tape.size() == 0);
  const auto x = tape.variable(Tensor<double>{1, 2}, "x");
  const Tensor<double> c{3, 4};
  const auto constant = c * c;  // of constants: no line
  const auto y = x * constant;
  const auto z = sum(y, 0, true);
  CHECK(tape.size() == 3);
  CHECK(tape.line(x) == 0);
  CHECK(tape.line(y) == 1);
  CHECK(tape.line(z) == 2);
}

TEST_CASE("a node tells its op its label its inputs its shape and its attributes") {
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{1, 2}, "x");
  const auto y = x * Tensor<double>{3, 4};
  const auto z = y + 0.5;
  const auto s = sum(z, 0, true);
  sum(s * x);

  const auto variable = tape.node(0);
  CHECK(variable.op == "variable");
  CHECK(variable.label == "x");
  CHECK(variable.attributes.empty());
  CHECK(variable.inputs.empty());
  CHECK(variable.shape == Shape{2});
  CHECK(variable.outputs == 1);

  const auto product = tape.node(1);
  CHECK(product.op == "mul");
  CHECK(product.label.empty());
  CHECK(product.inputs.size() == 2);
  CHECK(product.inputs[0].line == 0);
  CHECK(product.inputs[1].line == -1);
  CHECK(!product.inputs[1].constant.has_value());  // a constant of two numbers is not kept

  const auto offset = tape.node(2);
  CHECK(offset.op == "add");
  CHECK(offset.inputs[0].line == 1);
  CHECK(offset.inputs[1].line == -1);
  CHECK(offset.inputs[1].constant.item() == 0.5);

  const auto total = tape.node(3);
  CHECK(total.op == "sum");
  CHECK(total.attributes == "axes=[0], keepdims");
  CHECK(total.inputs.size() == 1);
  CHECK(total.inputs[0].line == 2);
  CHECK(total.shape == Shape{1});

  CHECK(tape.node(4).inputs[0].line == 3);
  CHECK(tape.node(4).inputs[1].line == 0);
}

TEST_CASE("each output of an op with several has its line behind the first") {
  Tape<float> tape;
  const auto x = tape.variable(Tensor<float>::zeros({5, 2}));
  const auto parts = split(x, {1, 4}, 0);
  CHECK(tape.size() == 3);
  CHECK(tape.line(parts[0]) == 1);
  CHECK(tape.line(parts[1]) == 2);
  CHECK(tape.node(1).outputs == 2);
  CHECK(tape.node(1).shape == Shape{1, 2});
  CHECK(tape.node(1).attributes == "axis=0, lengths=[1, 4]");
  CHECK(tape.node(2).outputs < 1);
  CHECK(tape.node(2).shape == Shape{4, 2});
  CHECK(tape.node(2).inputs.empty());
}

TEST_CASE("a tape keeps the values that a pullback reads and no others") {
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{1, 2});
  const auto product = x * x;       // its rule reads x, which it holds itself
  const auto power = exp(product);  // its rule reads its own value
  const auto total = sum(power);
  for (const auto& y : {x, product, total}) CHECK(!tape.node(tape.line(y)).value.has_value());
  CHECK(tape.node(tape.line(power)).value.values() == power.values());
}

TEST_CASE("a tape told to keeps all values") {
  Tape<double> tape(Keep::values);
  const auto x = tape.variable(Tensor<double>{1, 2});
  const auto product = x * x;
  const auto power = exp(product);
  const auto total = sum(power);
  const auto parts = split(product, {1, 1}, 0);
  for (const auto& y : {x, product, power, total, parts[0], parts[1]})
    CHECK(tape.node(tape.line(y)).value.values() == y.values());
}

TEST_CASE("watch replaces tensors and vectors of tensors by variables") {
  Tape<double> tape;
  Tensor<double> w = 2;
  std::vector<Tensor<double>> rest{3, 4};
  tape.watch(w, rest);
  CHECK(tape.size() == 3);
  CHECK(tape.line(w) == 0);
  CHECK(tape.line(rest[1]) == 2);
  const auto y = w * rest[0] * rest[1];
  CHECK(tape.gradient(y, w).item() == 12);
  const std::vector<Tensor<double>> g = tape.gradient(y, rest);
  CHECK(g.size() == 2);
  CHECK(g[0].item() == 8);
  CHECK(g[1].item() == 6);
}

TEST_CASE("making a variable leaves the tensor itself off the tape") {
  Tape<double> tape;
  const Tensor<double> x = 2;
  const auto v = tape.variable(x);
  CHECK(v.data() == x.data());  // the values are shared
  CHECK((x * x).item() == 4);
  CHECK(tape.size() == 1);
  CHECK(misuse([&] { tape.line(x); }) ==
        "[line] the tensor does not stand on this tape: give one of its variables, or what was "
        "computed from them.");
}

TEST_CASE("a variable made of a variable depends on nothing") {
  Tape<double> tape;
  const auto x = tape.variable(3);
  const auto fresh = tape.variable(x * x);
  const auto [dx, df] = tape.gradient(fresh * x, x, fresh);
  CHECK(dx.item() == 9);
  CHECK(df.item() == 3);
}

TEST_CASE("a tensor whose tape has ended is a constant to ops") {
  Tensor<double> x, y;
  {
    Tape<double> tape;
    x = tape.variable(3);
    y = x * x;
  }
  CHECK((x + y).item() == 12);
  Tape<double> tape;
  const auto v = tape.variable(2);
  const auto z = v * x + y;
  CHECK(tape.size() == 3);
  CHECK(tape.node(1).inputs[1].line == -1);
  CHECK(tape.gradient(z, v).item() == 3);
}

TEST_CASE("a tensor whose tape has ended is misuse as a target or a variable") {
  Tensor<double> x;
  {
    Tape<double> tape;
    x = tape.variable(Tensor<double>{3, 4});
  }
  Tape<double> tape;
  const auto v = tape.variable(2);
  const std::string rest =
      " f64[2] stood on a tape that has ended or was cleared: ask before that, or put it on a "
      "tape again with variable.";
  CHECK(misuse([&] { tape.gradient(x, v); }) == "[gradient] target" + rest);
  CHECK(misuse([&] { tape.gradient(v, x); }) == "[gradient] variable" + rest);
  CHECK(misuse([&] { tape.vjp(x, x, v); }) == "[vjp] target" + rest);
  const auto again = tape.variable(x);
  CHECK(tape.vjp(again * again, Tensor<double>{1, 1}, again).values() == Values{6, 8});
}

TEST_CASE("a tensor of a tape whose state was recycled is not taken for a living one") {
  for (int i = 0; i < 100; ++i) {
    Tensor<double> old;
    {
      Tape<double> tape;
      old = tape.variable(3);
    }
    Tape<double> tape;  // most likely in the same memory as the one before
    const auto v = tape.variable(2);
    const auto y = v * old;
    CHECK(tape.node(1).inputs[1].line == -1);
    CHECK(tape.gradient(y, v).item() == 3);
    CHECK_THROWS_AS(tape.gradient(y, old), std::logic_error);
    CHECK_THROWS_AS(tape.line(old), std::logic_error);
    tape.clear();
    const auto w = tape.variable(5);  // a line 0 again, under the same tape
    CHECK(tape.gradient(w * v, w).item() == 2);
    CHECK_THROWS_AS(tape.gradient(w, v), std::logic_error);
  }
}

TEST_CASE("two living tapes do not mix") {
  Tape<double> first, second;
  const auto a = first.variable(2);
  const auto b = second.variable(3);
  const std::string text =
      "[mul] mixes tensors of two living tapes: put all variables on one tape, or pass "
      "stop_gradient of one of the tensors.";
  CHECK(misuse([&] { (void)(a * b); }) == text);
  CHECK(misuse([&] { (void)(b * a); }) == text);
  CHECK(misuse([&] {
          concatenate<double>({reshape(a, {1}), reshape(b, {1})}, 0);
        }) == "[concatenate]" + text.substr(5));
  CHECK(misuse([&] { second.variable(a); }) ==
        "[variable] a tensor of another living tape was given, and its derivative would be lost: "
        "compute with it on that tape, or give stop_gradient of it.");
  CHECK(misuse([&] { second.gradient(a, b); }) ==
        "[gradient] target f64[] stands on another tape: ask the tape that it was computed on.");
  CHECK(misuse([&] { second.gradient(b, a); }) ==
        "[gradient] variable f64[] stands on another tape: ask the tape that it was computed on.");
  CHECK_THROWS_AS(second.line(a), std::logic_error);
  CHECK(second.gradient(b * stop_gradient(a), b).item() == 2);
  const auto copied = second.variable(stop_gradient(a));
  CHECK(second.gradient(b * copied, copied).item() == 3);
}

TEST_CASE("several tapes live at once on one thread") {
  Tape<double> first, second;
  const auto a = first.variable(2);
  const auto b = second.variable(3);
  const auto y = a * a;
  const auto z = b * b;
  CHECK(first.gradient(y, a).item() == 4);
  CHECK(second.gradient(z, b).item() == 6);
}

TEST_CASE("stop_gradient leaves the tape and shares the values") {
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{1, 2});
  const auto stopped = stop_gradient(x);
  CHECK(stopped.data() == x.data());
  CHECK(tape.size() == 1);
  CHECK(tape.gradient(sum(stopped * x), x).values() == Values{1, 2});
  CHECK(tape.gradient(sum(stopped * stopped), x).values() == Values{0, 0});
}

TEST_CASE("a tape can be moved and moved from") {
  Tape<double> tape;
  const auto x = tape.variable(2);
  const auto y = x * x;
  Tape<double> other = std::move(tape);
  CHECK(other.size() == 2);
  CHECK(other.gradient(y, x).item() == 4);
  Tape<double> third;
  const auto z = third.variable(1);
  third = std::move(other);
  CHECK(third.gradient(y * x, x).item() == 12);
  CHECK_THROWS_AS(third.line(z), std::logic_error);
  third = Tape<double>();
  CHECK(third.size() == 0);
  CHECK_THROWS_AS(third.gradient(y, x), std::logic_error);
}

TEST_CASE("a line that is not on the tape throws") {
  Tape<double> tape;
  tape.variable(1);
  CHECK(invalid([&] { tape.node(1); }) == "[node] line 1 of a tape with 1 lines: there is none.");
  CHECK(invalid([&] { tape.node(-1); }) == "[node] line -1 of a tape with 1 lines: there is none.");
}

TEST_CASE("an op that throws leaves no line") {
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{1, 2});
  CHECK(invalid([&] {
          x + Tensor<double>{1, 2, 3};
        }) ==
        "[add] cannot broadcast [2] with [3]: lengths, counted from the last axis, must be equal "
        "or 1.");
  CHECK_THROWS_AS(sum(x, 1), std::invalid_argument);
  CHECK(tape.size() == 1);
  CHECK(tape.gradient(sum(x * x), x).values() == Values{2, 4});
}

TEST_CASE("float and double tapes live side by side") {
  Tape<float> narrow;
  Tape<double> wide;
  const auto x = narrow.variable(3);
  const auto y = wide.variable(4);
  CHECK(narrow.gradient(x * x, x).item() == 6.0f);
  CHECK(wide.gradient(y * y, y).item() == 8.0);
  CHECK(misuse([&] { narrow.gradient(x, Tensor<float>(1)); }) ==
        "[gradient] variable f32[] never was on this tape: put it there with variable or watch, "
        "and compute the target from what that returns.");
}
