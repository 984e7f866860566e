// Comparisons, selection by masks, causal masks, and their errors.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/errors.hpp"

namespace {

using namespace xtape;
using test::invalid;
using Bools = std::vector<bool>;
using Doubles = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class A, class B, class = void>
constexpr bool adds = false;
template <class A, class B>
constexpr bool adds<A, B, std::void_t<decltype(std::declval<A>() + std::declval<B>())>> = true;

/// Which keys each query sees, a row each.
Bools visible(std::int64_t queries, std::int64_t keys) {
  const Mask mask = causal_mask(queries, keys);
  CHECK(mask.shape() == Shape{queries, keys});
  return mask.values();
}

}  // namespace

// ---- comparisons -----------------------------------------------------------------------------

TEST_CASE("comparisons of tensors and numbers give masks") {
  const Tensor<double> x{1, 2, 3};
  CHECK((x < 2).values() == Bools{true, false, false});
  CHECK((x <= 2).values() == Bools{true, true, false});
  CHECK((x > 2).values() == Bools{false, false, true});
  CHECK((x >= 2).values() == Bools{false, true, true});
  CHECK((2 < x).values() == Bools{false, false, true});
  CHECK((2 >= x).values() == Bools{true, true, false});
  CHECK(equal(x, 2).values() == Bools{false, true, false});
  CHECK(less(x, Tensor<double>{3, 2, 1}).values() == Bools{true, false, false});
  CHECK(less_equal(x, Tensor<double>{3, 2, 1}).values() == Bools{true, true, false});
}

TEST_CASE("comparisons broadcast and read any strides") {
  const Tensor<double> rows({2, 1}, {1, 2}), columns({1, 3}, {1, 2, 3});
  CHECK((rows < columns).values() == Bools{false, true, true, false, false, true});
  const Tensor<double> x{{1, 2, 3}, {4, 5, 6}};
  CHECK((transpose(x) > 3).values() == Bools{false, true, false, true, false, true});
  CHECK((Tensor<double>::ones({0, 3}) < columns).shape() == Shape{0, 3});
}

TEST_CASE("a comparison with NaN is false") {
  const Tensor<double> x{kNan, 1}, y{kNan, kNan};
  for (const Mask& m : {x<y, x <= y, x> y, x >= y, equal(x, y)})
    CHECK(m.values() == Bools{false, false});
}

TEST_CASE("zero equals minus zero and infinity equals itself") {
  CHECK(equal(Tensor<double>{0, kInf, kInf}, Tensor<double>{-0.0, kInf, -kInf}).values() ==
        Bools{true, true, false});
}

TEST_CASE("masks combine by and or and not") {
  const Mask a{true, true, false, false}, b{true, false, true, false};
  CHECK((a & b).values() == Bools{true, false, false, false});
  CHECK((a | b).values() == Bools{true, true, true, false});
  CHECK((!a).values() == Bools{false, false, true, true});
  CHECK((Mask({2, 1}, {true, false}) & Mask{true, false}).values() ==
        Bools{true, false, false, false});
}

TEST_CASE("masks cannot be added to masks or tensors") {
  static_assert(!adds<Mask, Mask>);
  static_assert(!adds<Mask, Tensor<double>>);
  static_assert(!adds<Tensor<double>, Mask>);
  static_assert(adds<Tensor<double>, Tensor<double>>);
  CHECK((std::is_same_v<decltype(Tensor<float>(1) < 2), Mask>));
}

TEST_CASE("comparisons write nothing on a tape") {
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{1, 2});
  CHECK((x < 2).values() == Bools{true, false});
  CHECK(equal(x, x).values() == Bools{true, true});
  CHECK(tape.size() == 1);
}

TEST_CASE("operands of comparisons that do not broadcast are refused in the op's name") {
  const auto a = Tensor<double>::ones({2, 3}), b = Tensor<double>::ones({2});
  const std::string rest =
      " cannot broadcast [2, 3] with [2]: lengths, counted from the last axis, must be equal or 1.";
  CHECK(invalid([&] { less(a, b); }) == "[less]" + rest);
  CHECK(invalid([&] { less_equal(a, b); }) == "[less_equal]" + rest);
  CHECK(invalid([&] { equal(a, b); }) == "[equal]" + rest);
  const Mask c = a < 2, d = b < 2;
  CHECK(invalid([&] { c& d; }) == "[and]" + rest);
  CHECK(invalid([&] { c | d; }) == "[or]" + rest);
  CHECK(invalid([&] { where(c, a, b); }) == "[where]" + rest);
  CHECK(invalid([&] { where(c, b, 0); }) == "[where]" + rest);
}

// ---- selection -------------------------------------------------------------------------------

// Source: PyTorch#187297, PyTorch#68425
TEST_CASE("where keeps the branch that is not taken out of the gradient") {
  const auto safe = [](const auto& x) { return sum(where(x > 0, sqrt(x), x)); };
  CHECK(grad(safe)(Tensor<double>{-1, -4}).values() == Doubles{1, 1});
  const auto line = [](const auto& a) { return where(a <= 0, exp(a), 1 + a); };
  CHECK(grad(line)(Tensor<float>(100)).item() == 1);
  const auto reciprocal = [](const auto& x) { return sum(where(equal(x, 0), 0, 1 / x)); };
  CHECK(grad(reciprocal)(Tensor<double>{0, 2}).values() == Doubles{0, -0.25});
  const auto entropy = [](const auto& x) { return sum(where(x > 0, x * log(x), 0)); };
  CHECK(grad(entropy)(Tensor<double>{0, 1}).values() == Doubles{0, 1});
}

TEST_CASE("where keeps the branch that is not taken out of second derivatives") {
  const auto safe = [](const auto& x) { return where(x > 0, sqrt(x), x * x); };
  CHECK(grad(grad(safe))(Tensor<double>(-1)).item() == 2);
  CHECK(grad(grad(safe))(Tensor<double>(0)).item() == 2);
  CHECK(grad(grad(safe))(Tensor<double>(1)).item() == -0.25);
}

TEST_CASE("what where does not take changes nothing even if it is NaN") {
  const Mask c{true, false};
  CHECK(where(c, Tensor<double>{1, kNan}, Tensor<double>{kNan, 2}).values() == Doubles{1, 2});
  CHECK(where(c, Tensor<double>{1, kInf}, 0).values() == Doubles{1, 0});
  CHECK(where(c, 0, Tensor<double>{kNan, 2}).values() == Doubles{0, 2});
}

TEST_CASE("NaN and infinity in masked places change neither the value nor the gradient") {
  const Mask allowed{true, false, false};
  for (const double bad : {kNan, kInf, -kInf, 7.0}) {
    const Tensor<double> x{2, bad, bad};
    CHECK(mask(x, allowed, 0).values() == Doubles{2, 0, 0});
    CHECK(grad([&](const auto& v) { return sum(square(mask(v, allowed, 0))); })(x).values() ==
          Doubles{4, 0, 0});
    CHECK(softmax(mask(x, allowed)).values() == Doubles{1, 0, 0});
  }
}

TEST_CASE("mask fills with -inf unless told otherwise") {
  const Mask allowed{true, false};
  CHECK(mask(Tensor<double>{1, 2}, allowed).values() == Doubles{1, -kInf});
  CHECK(mask(Tensor<double>{1, 2}, allowed, -3).values() == Doubles{1, -3});
  CHECK(mask(Tensor<float>{1, 2}, allowed).values() ==
        std::vector<float>{1, -std::numeric_limits<float>::infinity()});
}

TEST_CASE("a mask must broadcast to what it masks and not the other way round") {
  CHECK(invalid([] {
          mask(Tensor<double>::ones({2, 3}), Mask{true, false});
        }) == "[mask] a mask of shape [2] for x of shape [2, 3]: it must broadcast to x.");
  CHECK(mask(Tensor<double>::ones({2, 2}), Mask{true, false}, 0).values() == Doubles{1, 0, 1, 0});
  CHECK(invalid([] {
          mask(Tensor<double>::ones({3}), Mask({2, 3}, Bools(6)));
        }) == "[mask] a mask of shape [2, 3] for x of shape [3]: it must broadcast to x.");
  CHECK(invalid([] { mask(Tensor<double>::ones({1}), Mask({3}, Bools(3))); }) ==
        "[mask] a mask of shape [3] for x of shape [1]: it must broadcast to x.");
}

// ---- causal masks ----------------------------------------------------------------------------

TEST_CASE("a causal mask lets each query see the keys up to its own") {
  CHECK(visible(3, 3) == Bools{true, false, false, true, true, false, true, true, true});
}

TEST_CASE("a causal mask is aligned to the last key") {
  CHECK(visible(1, 4) == Bools{true, true, true, true});
  CHECK(visible(2, 5) == Bools{true, true, true, true, false, true, true, true, true, true});
  CHECK(visible(5, 2) == Bools{false, false, false, false, false, false, true, false, true, true});
}

TEST_CASE("a causal mask may be empty but not negative") {
  CHECK(visible(0, 3).empty());
  CHECK(visible(3, 0).empty());
  CHECK(invalid([] { causal_mask(-1, 2); }) ==
        "[causal_mask] shape [-1, 2]: no length may be negative.");
  CHECK(invalid([] { causal_mask(2, -1); }) ==
        "[causal_mask] shape [2, -1]: no length may be negative.");
}
