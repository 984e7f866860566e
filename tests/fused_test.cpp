// record_fused: a kernel's value with the derivatives of its composition, and a fast backward that
// is used only where nothing records it.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/errors.hpp"

namespace {

using namespace xtape;
using test::invalid;
using Values = std::vector<double>;
using Tensors = std::vector<Tensor<double>>;
using Needed = std::vector<bool>;

/// What the parts of a fused op were asked.
struct Calls {
  int composition = 0;
  int fast = 0;
  Needed needed;
};

/// sum(a^2 b) as a fused op; a fast backward if `fast`, which then gives `factor` times the truth.
Tensor<double> fused_op(const Tensor<double>& a, const Tensor<double>& b, Calls& calls, bool fast,
                        double factor = 1) {
  const Tensor<double> x = stop_gradient(a), y = stop_gradient(b);
  FastPullback<double> backward;
  if (fast)
    backward = [x, y, factor, &calls](In<double> g, const Needed& needed) {
      ++calls.fast;
      calls.needed = needed;
      Tensors result(2);
      if (needed[0]) result[0] = factor * g * 2 * x * y;
      if (needed[1]) result[1] = factor * g * x * x;
      return result;
    };
  return record_fused<double>(
      "fused", sum(x * x * y), {a, b},
      [&calls](const Tensors& in) {
        ++calls.composition;
        return sum(in[0] * in[0] * in[1]);
      },
      backward, "fast=" + std::to_string(fast));
}

}  // namespace

TEST_CASE("a fused op has the derivatives of its composition") {
  Calls calls;
  Tape<double> tape;
  const auto a = tape.variable(Tensor<double>{1, 2}), b = tape.variable(Tensor<double>{3, 5});
  const auto y = fused_op(a, b, calls, false);
  CHECK(y.item() == 3 + 20);
  CHECK(tape.size() == 3);
  CHECK(tape.node(2).op == "fused");
  CHECK(tape.node(2).attributes == "fast=0");
  CHECK(calls.composition == 0);  // only its derivatives are asked for
  const auto [da, db] = tape.gradient(y, a, b);
  CHECK(da.values() == Values{6, 20});
  CHECK(db.values() == Values{1, 4});
  CHECK(calls.composition == 1);  // once for all inputs
  CHECK(tape.size() == 3);
}

TEST_CASE("a fast backward is used when the sweep is not recorded") {
  Calls calls;
  Tape<double> tape;
  const auto a = tape.variable(Tensor<double>{1, 2}), b = tape.variable(Tensor<double>{3, 5});
  const auto y = fused_op(a, b, calls, true, 100);  // wrong on purpose, to be recognised
  const auto [da, db] = tape.gradient(y, a, b);
  CHECK(da.values() == Values{600, 2000});
  CHECK(db.values() == Values{100, 400});
  CHECK(calls.fast == 1);
  CHECK(calls.composition == 0);
}

TEST_CASE("a recorded sweep uses the composition and never the fast backward") {
  Calls calls;
  Tape<double> tape;
  const auto a = tape.variable(Tensor<double>{1, 2}), b = tape.variable(Tensor<double>{3, 5});
  const auto y = fused_op(a, b, calls, true, 100);
  const auto [da, db] = tape.gradient(y, a, b, Record::yes);
  CHECK(da.values() == Values{6, 20});
  CHECK(db.values() == Values{1, 4});
  CHECK(calls.fast == 0);
  CHECK(calls.composition == 1);
  // d sum(2 a b) / da = 2 b, and by b: 2 a
  const auto [daa, dab] = tape.gradient(sum(da), a, b);
  CHECK(daa.values() == Values{6, 10});
  CHECK(dab.values() == Values{2, 4});
}

TEST_CASE("a fused op has the second derivatives of its composition under grad") {
  Calls calls;
  for (const bool fast : {false, true}) {
    const auto f = [&](auto x) { return fused_op(x, x, calls, fast); };  // sum(x^3)
    const Tensor<double> x{1, 2};
    CHECK(grad(f)(x).values() == Values{3, 12});
    CHECK(hvp(f, x, Tensor<double>{1, 1}).values() == Values{6, 12});
    CHECK(grad([&](auto z) { return sum(grad(f)(z)); })(x).values() == Values{6, 12});
  }
}

TEST_CASE("a fused op computes no derivative that nobody needs") {
  Calls calls;
  Tape<double> tape;
  const auto a = tape.variable(Tensor<double>{1, 2}), b = tape.variable(Tensor<double>{3, 5});
  CHECK(tape.gradient(fused_op(a, b, calls, true), b).values() == Values{1, 4});
  CHECK(calls.needed == Needed{false, true});
  CHECK(tape.gradient(fused_op(a, Tensor<double>{3, 5}, calls, true), a).values() == Values{6, 20});
  CHECK(calls.needed == Needed{true, false});
  // Without a fast backward only the needed input stands on a tape while the composition runs.
  Needed recorded;
  const auto y = record_fused<double>("fused", sum(stop_gradient(a) * stop_gradient(b)), {a, b},
                                      [&](const Tensors& in) {
                                        recorded = {is_recorded(in[0]), is_recorded(in[1])};
                                        return sum(in[0] * in[1]);
                                      });
  CHECK(tape.gradient(y, a).values() == Values{3, 5});
  CHECK(recorded == Needed{true, false});
}

TEST_CASE("a fused op is handed the cotangent of its output") {
  for (const bool fast : {false, true}) {
    Calls calls;
    Tape<double> tape;
    const auto a = tape.variable(Tensor<double>{1, 2}), b = tape.variable(Tensor<double>{3, 5});
    const auto y = fused_op(a, b, calls, fast);
    const auto [da, db] = tape.gradient(10 * y + sum(a), a, b);
    CHECK(da.values() == Values{61, 201});
    CHECK(db.values() == Values{10, 40});
  }
}

TEST_CASE("a fused op of constants is not recorded") {
  Calls calls;
  const Tensor<double> a{1, 2}, b{3, 5};
  CHECK(!is_recorded(fused_op(a, b, calls, true)));
  CHECK(calls.fast + calls.composition == 0);
}

TEST_CASE("a fast backward must give one cotangent an input") {
  Tape<double> tape;
  const auto a = tape.variable(Tensor<double>{1, 2});
  const auto same = [](const Tensors& in) { return sum(in[0]); };
  const auto y = record_fused<double>("fused", Tensor<double>(3), {a}, same,
                                      [](In<double>, const Needed&) { return Tensors(); });
  CHECK(invalid([&] { tape.gradient(y, a); }) ==
        "[fused] a joint pullback returned 0 cotangents for 1 inputs: one an input is required.");
  CHECK(tape.gradient(y, a, Record::yes).values() == Values{1, 1});
}

TEST_CASE("a composition of another shape than the fused value throws and names the op") {
  Tape<double> tape;
  const auto a = tape.variable(Tensor<double>{1, 2});
  const auto y = record_fused<double>("fused", Tensor<double>(3), {a},
                                      [](const Tensors& in) { return in[0]; });
  CHECK(invalid([&] { tape.gradient(y, a); }) ==
        "[fused] seed f64[] for target f64[2]: the shapes must be equal.");
}

TEST_CASE("a fused op without a composition is refused when it is recorded") {
  CHECK(invalid([] { record_fused<double>("fused", Tensor<double>(3), {}, nullptr); }) ==
        "[fused] no composition: the derivatives are taken from it.");
}
