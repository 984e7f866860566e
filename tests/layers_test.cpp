// Layers of language models: what they promise, at their edges, and their errors.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/close.hpp"
#include "support/errors.hpp"

namespace {

using namespace xtape;
using closeness::error;
using closeness::same_bits;
using closeness::tolerance;
using test::invalid;
using Doubles = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class T>
Doubles numbers(const Tensor<T>& x) {
  return cast<double>(x).values();
}

}  // namespace

// ---- norms -----------------------------------------------------------------------------------

TEST_CASE("a norm has unit mean square, and layer_norm mean 0, at any size of the values") {
  for (const double size : {1e-30, 1.0, 1e30}) {
    const Tensor<double> x = cast<double>(Random(1).normal<float>({3, 50}, 0, size));
    const auto y = rms_norm(cast<float>(x), 0);
    CHECK(error(mean(square(cast<double>(y)), -1).values(), {1, 1, 1}) <= 1e-6);
    const auto z =
        layer_norm(cast<float>(x), Tensor<float>::ones({50}), Tensor<float>::zeros({50}), 0);
    CHECK(error(mean(square(cast<double>(z)), -1).values(), {1, 1, 1}) <= 1e-6);
    CHECK(error((1 + mean(cast<double>(z), -1)).values(), {1, 1, 1}) <= 1e-6);
  }
}

TEST_CASE("layer_norm of floats far from 0 keeps the digits that they have") {
  const auto near = Random(2).normal<float>({64});
  const auto far = near + 1e6;  // 1/16 apart
  const auto one = Tensor<float>::ones({64}), zero = Tensor<float>::zeros({64});
  CHECK(error(layer_norm(far, one, zero).values(), numbers(layer_norm(far - 1e6, one, zero))) <=
        1e-6);
}

TEST_CASE_TEMPLATE("gradients of norms are those of their plain definitions, recorded or not", T,
                   float, double) {
  const auto x = Random(3).normal<T>({5, 3, 37}), g = Random(4).normal<T>({5, 3, 37});
  const auto gain = Random(5).normal<T>({37}), bias = Random(6).normal<T>({37});
  const auto rms = [](const auto& v) { return rms_norm(v[0], v[1]); };
  const auto layer = [](const auto& v) { return layer_norm(v[0], v[1], v[2]); };
  const auto check = [&](const auto& f, const std::vector<Tensor<T>>& inputs) {
    Tape<T> tape;
    const auto v = tape.variable(inputs);
    const auto y = f(v);
    const auto fast = tape.vjp(y, g, v), composed = tape.vjp(y, g, v, Record::yes);
    for (std::size_t i = 0; i < v.size(); ++i)
      CHECK(error(fast[i].values(), numbers(composed[i])) <= tolerance<T>());
  };
  check(rms, {x, gain});
  check(layer, {x, gain, bias});
}

TEST_CASE("norms have the same bits for any number of threads") {
  const auto x = Random(7).normal<float>({3000, 40});
  const auto run = [&](int threads) {
    set_num_threads(threads);
    Tape<float> tape;
    const auto v = tape.variable(x), gain = tape.variable(Random(8).normal<float>({40})),
               bias = tape.variable(Random(9).normal<float>({40}));
    const auto y = layer_norm(v, gain, bias);
    return tape.gradient(sum(y * y * y), v, gain, bias);
  };
  const int before = num_threads();
  const auto one = run(1);
  for (const int threads : {2, 3, 7}) {
    const auto found = run(threads);
    for (std::size_t i = 0; i < 3; ++i) CHECK(same_bits(found[i], one[i]));
  }
  set_num_threads(before);
}

TEST_CASE("NaN in a row of a norm stays in that row, and in no gradient that is not asked of it") {
  const Tensor<double> x{{1, 2, 3}, {4, kNan, 5}};
  const auto y = rms_norm(x);
  CHECK(std::isfinite(sum(slice(y, 0, 0, 1)).item()));
  CHECK(std::isnan(y.at({1, 0})));
  const auto first = [](const auto& v) { return sum(slice(rms_norm(v[0], v[1]), 0, 0, 1)); };
  Tape<double> tape;
  const auto v = tape.variable(std::vector<Tensor<double>>{x, Tensor<double>{1, 2, 3}});
  for (const auto& dx : tape.gradient(first(v), v)) CHECK(std::isfinite(sum(dx).item()));
}

TEST_CASE("a norm is one line of the tape, with its epsilon") {
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{1, 2});
  rms_norm(x);
  CHECK(tape.size() == 2);
  CHECK(to_string(tape).find("rms_norm(%0, epsilon=1e-05)") != std::string::npos);
}

TEST_CASE("norms refuse other shapes and an epsilon below 0") {
  const Tensor<double> x = Tensor<double>::ones({2, 3}), v = Tensor<double>::ones({2});
  CHECK(invalid([&] { rms_norm(Tensor<double>(1)); }) ==
        "[rms_norm] x of shape []: at least one axis is required.");
  CHECK(invalid([&] { rms_norm(x, v); }) ==
        "[rms_norm] a gain of shape [2] for x of shape [2, 3]: one value for each of x's last axis "
        "is required.");
  CHECK(invalid([&] { layer_norm(x, slice(x, 0, 0, 1), v); }) ==
        "[layer_norm] a gain of shape [1, 3] for x of shape [2, 3]: one value for each of x's last "
        "axis is required.");
  CHECK(invalid([&] { layer_norm(x, Tensor<double>::ones({3}), v); }) ==
        "[layer_norm] a bias of shape [2] for x of shape [2, 3]: one value for each of x's last "
        "axis is required.");
  CHECK(invalid([&] { rms_norm(x, -1.0); }) ==
        "[rms_norm] epsilon -1.000000: it must be finite and not negative.");
  CHECK(invalid([&] { rms_norm(x, kNan); }) ==
        "[rms_norm] epsilon nan: it must be finite and not negative.");
  CHECK(invalid([&] { rms_norm(x, kInf); }) ==
        "[rms_norm] epsilon inf: it must be finite and not negative.");
}

// ---- linear ----------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("linear has the bits of the product of a matrix, whatever axes x has", T, float,
                   double) {
  const auto x = Random(10).normal<T>({6, 5, 33}), weight = Random(11).normal<T>({17, 33});
  const auto g = Random(12).normal<T>({6, 5, 17});
  const auto run = [](const auto& a, const auto& w, const auto& cotangent) {
    Tape<T> tape;
    const auto v = tape.variable(a), u = tape.variable(w);
    const auto y = linear(v, u);
    const auto [da, dw] = tape.vjp(y, cotangent, v, u);
    return std::vector<Tensor<T>>{y, da, dw};
  };
  const auto batched = run(x, weight, g);
  const auto flat = run(reshape(x, {30, 33}), weight, reshape(g, {30, 17}));
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(same_bits(reshape(batched[i], {-1}), reshape(flat[i], {-1})));
  const auto lying = transpose(contiguous(transpose(x, {1, 0, 2})), {1, 0, 2});
  REQUIRE(!lying.is_contiguous());
  const auto strided = run(lying, weight, g);
  for (std::size_t i = 0; i < 3; ++i) CHECK(same_bits(batched[i], strided[i]));
}

TEST_CASE("the gradient of linear's weight is one dense product, never a stack for each batch") {
  Tape<float> tape;
  const auto x = tape.variable(Random(13).normal<float>({50, 2, 3}));
  const auto weight = tape.variable(Random(14).normal<float>({4, 3}));
  const auto y = linear(x, weight);
  const auto dweight = tape.gradient(sum(square(y)), weight, Record::yes);
  CHECK(dweight.is_contiguous());
  for (std::int64_t i = 0; i < tape.size(); ++i) {
    std::int64_t size = 1;
    for (const std::int64_t n : tape.node(i).shape) size *= n;
    CHECK(size <= 50 * 2 * 4);  // a stack would be 50 times the weight
  }
}

TEST_CASE("linear refuses shapes that do not fit") {
  const auto x = Tensor<double>::ones({2, 3});
  CHECK(invalid([&] {
          linear(x, Tensor<double>::ones({3, 2}));
        }) ==
        "[linear] x of shape [2, 3] and a weight of shape [3, 2]: x's last axis must equal the "
        "second of the weight's two.");
  CHECK(invalid([&] { linear(x, Tensor<double>::ones({3})); }) ==
        "[linear] x of shape [2, 3] and a weight of shape [3]: x's last axis must equal the second "
        "of the weight's two.");
  CHECK(invalid([&] { linear(Tensor<double>(1), x); }) ==
        "[linear] x of shape [] and a weight of shape [2, 3]: x's last axis must equal the second "
        "of the weight's two.");
  CHECK(invalid([&] { linear(x, x, Tensor<double>::ones({3})); }) ==
        "[linear] a bias of shape [3] for a weight of shape [2, 3]: one value for each row of the "
        "weight is required.");
}

// ---- swiglu ----------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("swiglu is silu times up, in value and gradients, at infinite gates too", T,
                   float, double) {
  const Tensor<T> gate{-kInf, -1e4, -90, -1.3, 0, 2, 90, 1e4}, up{1, 2, 3, 4, 5, 6, 7, 8};
  const auto g = Random(15).normal<T>({8});
  const auto run = [&](const auto& f) {
    Tape<T> tape;
    const auto a = tape.variable(gate), b = tape.variable(up);
    const auto y = f(a, b);
    const auto [da, db] = tape.vjp(y, g, a, b);
    return std::vector<Tensor<T>>{y, da, db};
  };
  const auto fused = run([](const auto& a, const auto& b) { return swiglu(a, b); });
  const auto plain = run([](const auto& a, const auto& b) { return silu(a) * b; });
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(error(fused[i].values(), numbers(plain[i])) <= tolerance<T>() / 10);
  CHECK(swiglu(Tensor<T>(kInf), Tensor<T>(2)).item() == static_cast<T>(kInf));
}

TEST_CASE("swiglu has the same bits for any number of threads, and refuses two shapes") {
  const auto gate = Random(16).normal<float>({301, 333}), up = Random(17).normal<float>({301, 333});
  const auto run = [&](int threads) {
    set_num_threads(threads);
    Tape<float> tape;
    const auto a = tape.variable(gate), b = tape.variable(up);
    return tape.gradient(sum(swiglu(a, b)), a, b);
  };
  const int before = num_threads();
  const auto one = run(1), two = run(2);
  set_num_threads(before);
  CHECK(same_bits(one[0], two[0]));
  CHECK(same_bits(one[1], two[1]));
  CHECK(
      invalid([&] { swiglu(gate, transpose(up)); }) ==
      "[swiglu] a gate of shape [301, 333] and up of shape [333, 301]: the shapes must be equal.");
}

// ---- rotary ----------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("rotary's products depend on the distance alone", T, float, double) {
  const auto q = Random(18).normal<T>({1, 8}), k = Random(19).normal<T>({1, 8});
  const auto product = [&](std::int64_t m, std::int64_t n) {
    return static_cast<double>(sum(rotary(q, m) * rotary(k, n)).item());
  };
  for (const std::int64_t shift : {1, 7, 100})
    CHECK(std::abs(product(5 + shift, 2 + shift) - product(5, 2)) <= 10 * tolerance<T>());
}

TEST_CASE_TEMPLATE("rotary from a place on gives the bits of that part of the whole", T, float,
                   double) {
  const auto x = Random(20).normal<T>({2, 3, 10, 6});
  const auto whole = rotary(x);
  for (std::int64_t t = 0; t < 10; ++t)
    CHECK(same_bits(rotary(slice(x, 2, t, t + 1), t), slice(whole, 2, t, t + 1)));
  CHECK(same_bits(rotary(slice(x, 2, 4, 10), 4), slice(whole, 2, 4, 10)));
}

TEST_CASE("rotary's angles are exact far from the beginning") {
  // Of pair 1 of 2 the angle is t / 100.
  const std::int64_t start = 123'456'789;
  const auto y = rotary(Tensor<double>{{1, 0, 1, 0}}, start);
  CHECK(error(y.values(), {std::cos(123456789.0), std::sin(123456789.0), std::cos(1234567.89),
                           std::sin(1234567.89)}) <= 1e-9);
  // A float keeps no more than its own rounding off.
  CHECK(error(rotary(Tensor<float>{{1, 0, 1, 0}}, start).values(), y.values()) <= 1e-7);
}

TEST_CASE("rotary is undone by its own pullback, and its second by that one's") {
  const auto x = Random(21).normal<double>({3, 5, 4});
  const auto f = [](const auto& v) { return rotary(v, 3); };
  const auto [y, back] = vjp(f, x, rotary(x, 3));
  CHECK(error(back.values(), x.values()) <= 1e-15);
  Tape<double> tape;
  const auto v = tape.variable(x);
  const auto dx = tape.gradient(0.5 * sum(square(rotary(v, 3))), v, Record::yes);
  CHECK(error(tape.gradient(sum(dx), v).values(), Doubles(60, 1)) <= 1e-15);
  CHECK(to_string(tape).find("rotary(%0, start=3, theta=10000)") != std::string::npos);
}

TEST_CASE("rotary refuses what it cannot turn") {
  const auto x = Tensor<double>::ones({2, 4});
  CHECK(invalid([&] { rotary(Tensor<double>::ones({4})); }) ==
        "[rotary] x of shape [4]: [..., T, D] with an even D is required.");
  CHECK(invalid([&] {
          rotary(Tensor<double>::ones({4, 3}));
        }) == "[rotary] x of shape [4, 3]: [..., T, D] with an even D is required.");
  CHECK(invalid([&] { rotary(x, -1); }) == "[rotary] start -1: it must not be negative.");
  CHECK(invalid([&] { rotary(x, 0, 0); }) ==
        "[rotary] theta 0.000000: it must be positive and finite.");
  CHECK(invalid([&] { rotary(x, 0, kInf); }) ==
        "[rotary] theta inf: it must be positive and finite.");
}

// ---- dropout and embedding -------------------------------------------------------------------

TEST_CASE("dropout keeps the mean, drops the asked share and draws one number for each value") {
  Random random(22), same(22);
  const auto x = Tensor<double>::ones({100, 1000});
  const auto y = dropout(x, 0.25, random);
  std::int64_t dropped = 0;
  for (const double v : y.values()) {
    CHECK((v == 0 || v == 1 / 0.75));
    dropped += v == 0 ? 1 : 0;
  }
  // The deviation of their number is (n p q)^(1/2) = 137: five of them.
  CHECK(std::abs(static_cast<double>(dropped) - 25000) <= 685);
  for (int i = 0; i < 100'000; ++i) same.uniform();
  CHECK(random.state() == same.state());
}

TEST_CASE("dropout drops the same values on every platform, and in every layout") {
  Random random(0), again(0), third(0);
  const Tensor<double> x{{1, 2, 3}, {4, 5, 6}};
  // SplitMix64 of 0 begins 0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f,
  // 0xf88bb8a8724c81ec, 0x1b39896a51a8749b, 0x53cb9f0c747ea2ea: the third and fifth are below 0.25.
  const Doubles expected{1 / 0.75, 2 / 0.75, 0, 4 / 0.75, 0, 6 / 0.75};
  CHECK(error(dropout(x, 0.25, random).values(), expected) <= 1e-15);
  CHECK(error(dropout(cast<float>(x), 0.25, again).values(), expected) <= 1e-7);
  const auto lying = transpose(contiguous(transpose(x)));
  CHECK(error(dropout(lying, 0.25, third).values(), expected) <= 1e-15);
}

TEST_CASE("dropout out of training, and at probability 0, is x itself and draws nothing") {
  Random random(23);
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{1, 2});
  CHECK(dropout(x, 0.5, random, false).raw() == x.raw());
  CHECK(dropout(x, 0, random).raw() == x.raw());
  CHECK(tape.size() == 1);
  CHECK(random.state() == 23);
}

TEST_CASE("what dropout drops counts for nothing, even NaN") {
  Random random(0);
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{1, 2, kNan});  // the third is dropped
  const auto y = dropout(x, 0.25, random);
  CHECK(error(y.values(), {1 / 0.75, 2 / 0.75, 0}) <= 1e-15);
  CHECK(tape.vjp(y, Tensor<double>{3, 3, kInf}, x).values() == Doubles{3 / 0.75, 3 / 0.75, 0});
}

TEST_CASE("dropout refuses a probability outside of 0 to 1") {
  Random random(24);
  const Tensor<double> x = 1;
  for (const auto& [p, name] :
       {std::pair(1.0, "1.000000"), {-0.1, "-0.100000"}, {kNan, "nan"}, {1.5, "1.500000"}})
    CHECK(invalid([&, probability = p] { dropout(x, probability, random); }) ==
          "[dropout] probability " + std::string(name) + ": it must be at least 0 and below 1.");
}

TEST_CASE("embedding looks rows up, and refuses ids outside and tables of other rank") {
  const Tensor<double> weight{{1, 2}, {3, 4}, {5, 6}};
  const auto y = embedding(weight, Index{{2, 0}, {2, 1}});
  CHECK(y.shape() == Shape{2, 2, 2});
  CHECK(y.values() == Doubles{5, 6, 1, 2, 5, 6, 3, 4});
  CHECK(invalid([&] {
          embedding(weight, Index{0, 3});
        }) ==
        "[embedding] id 3 (number 1 of the ids) for a weight of 3 rows: it must be at least 0 and "
        "below their number.");
  CHECK(invalid([&] { embedding(weight, Index{-1}); }) ==
        "[embedding] id -1 (number 0 of the ids) for a weight of 3 rows: it must be at least 0 and "
        "below their number.");
  CHECK(invalid([&] {
          embedding(Tensor<double>{1, 2}, Index{0});
        }) == "[embedding] a weight of shape [2]: a row for each id, [N, D], is required.");
}
