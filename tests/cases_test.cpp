// What users of other engines reported as wrong, where no other test has it already.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/close.hpp"
#include "support/errors.hpp"

namespace {

using namespace xtape;
using closeness::same_bits;
using test::invalid;
using Doubles = std::vector<double>;
using Floats = std::vector<float>;

constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace

// ---- broadcast, shape, layout ----------------------------------------------------------------

// candle#3735, flash-attention#355: a transposed operand was read as if it lay dense
TEST_CASE_TEMPLATE("a function of a transpose is that of its copy in value and gradients", T, float,
                   double) {
  const Tensor<T> x{{1, 2, 3}, {4, 5, 6}}, w{{1, 2}, {3, 4}, {5, 6}};
  struct Result {
    Tensor<T> product, sum_of_both;
    std::vector<Tensor<T>> gradients;
  };
  const auto at = [&](auto layout) {
    Tape<T> tape;
    const auto v = tape.variable(x), u = tape.variable(w);
    const auto turned = layout(v);
    const auto product = matmul(transpose(u), turned), both = turned + u;
    const auto [dv, du] = tape.gradient(sum(product) + sum(square(both)), v, u);
    return Result{product, both, {dv, du}};
  };
  const Result view = at([](const auto& v) { return transpose(v); });
  const Result copy = at([](const auto& v) { return contiguous(transpose(v)); });
  CHECK(view.product.values() == std::vector<T>{22, 49, 28, 64});
  CHECK(view.sum_of_both.values() == std::vector<T>{2, 6, 5, 9, 8, 12});
  // W's row sums 3, 7, 11, and twice what both add up to
  CHECK(view.gradients[0].values() ==
        std::vector<T>{3 + 4, 7 + 10, 11 + 16, 3 + 12, 7 + 18, 11 + 24});
  // X's column sums 5, 7, 9, and the same
  CHECK(view.gradients[1].values() ==
        std::vector<T>{5 + 4, 5 + 12, 7 + 10, 7 + 18, 9 + 16, 9 + 24});
  CHECK(same_bits(view.product, copy.product));
  CHECK(same_bits(view.sum_of_both, copy.sum_of_both));
  for (std::size_t i = 0; i < 2; ++i) CHECK(same_bits(view.gradients[i], copy.gradients[i]));
}

// PyTorch#92680
TEST_CASE("the gradient of a flipped tensor is flipped back") {
  const auto f = [](const auto& x) { return sum(flip(x) * Tensor<double>{1, 2, 3}); };
  CHECK(grad(f)(Tensor<double>{7, 8, 9}).values() == Doubles{3, 2, 1});
}

// tinygrad#3108, candle#3756
TEST_CASE("a product over nothing is zeros and a length of 0 does not broadcast to 1") {
  const auto y = matmul(Tensor<double>::ones({2, 0}), Tensor<double>::ones({0, 3}));
  CHECK(y.shape() == Shape{2, 3});
  CHECK(y.values() == Doubles(6, 0));
  CHECK(invalid([] {
          matmul(Tensor<double>::ones({2, 0}), Tensor<double>::ones({1, 3}));
        }) ==
        "[matmul] cannot multiply a [2, 0] by b [1, 3]: a's last axis must equal b's second to "
        "last.");
}

// xtensor 0.24 to 0.26: the left side of [1, 3] += [2, 3] grew in silence, or was written outside
// of
TEST_CASE("a cotangent of a larger shape is summed before it is added, also through a view") {
  const Tensor<double> w{{1, 2, 3}, {4, 5, 6}};
  const auto small_first = [&](const auto& v) { return sum(3 * v) + sum(v * w); };
  const auto large_first = [&](const auto& v) { return sum(v * w) + sum(3 * v); };
  const Tensor<double> x({1, 3}, {7, 8, 9}), all{{7, 8, 9}, {1, 1, 1}};
  const auto check = [&](auto f) {
    const auto g = grad(f)(x);
    CHECK(g.shape() == Shape{1, 3});
    CHECK(g.values() == Doubles{3 + 5, 3 + 7, 3 + 9});
    const auto through_view = [&](const auto& v) { return f(slice(v, 0, 0, 1)); };
    CHECK(grad(through_view)(all).values() == Doubles{8, 10, 12, 0, 0, 0});
  };
  check(small_first);
  check(large_first);
}

// xtensor: noalias(x) = transpose(x) and noalias(x) /= sum(x) were corrupt or wrong
TEST_CASE("a tensor may be bound to what is computed from itself") {
  Tensor<double> x{{1, 2}, {3, 4}};
  x = transpose(x);
  CHECK(x.values() == Doubles{1, 3, 2, 4});
  x = x / sum(x);
  CHECK(x.values() == Doubles{0.1, 0.3, 0.2, 0.4});
  x = concatenate<double>({x, x}, 0) * 0;
  CHECK(x.values() == Doubles(8, 0));
}

// ---- numerics --------------------------------------------------------------------------------

// lattice#374, flashinfer#4401, llm.c: a sentinel such as -1e4 in place of -inf
TEST_CASE("softmax weighs logits below every sentinel and masks beside them") {
  for (const double top : {-20000.0, -1e30}) {
    const Tensor<float> x{top, top, 5};
    CHECK(softmax(x, Mask{true, true, false}).values() == Floats{0.5, 0.5, 0});
  }
  const auto y = softmax(Tensor<double>{-20000, -20001}).values();
  CHECK(y[0] == doctest::Approx(.7310586).epsilon(1e-7));  // to the digits that were reported
  CHECK(y[1] == doctest::Approx(.2689414).epsilon(1e-7));
}

// PyTorch#2421, JAX#3058: sqrt(sum x^2) spelled out has the NaN that the primitive has not
TEST_CASE("the norm has gradient 0 at 0 where its formula spelled out has NaN") {
  const Tensor<double> zero{0, 0};
  const auto primitive = [](const auto& x) { return norm(x); };
  CHECK(grad(primitive)(zero).values() == Doubles{0, 0});
  const auto distance = [](const auto& x) { return norm(x - x); };
  CHECK(grad(distance)(Tensor<double>{3, 4}).values() == Doubles{0, 0});
  const Doubles spelled = grad([](const auto& x) { return sqrt(sum(square(x))); })(zero).values();
  CHECK(std::isnan(spelled[0]));
}

// PyTorch#8940, PyTorch#27134
TEST_CASE("the power 0 of 0 and the exponent's gradient at base 0 are finite") {
  CHECK(grad([](const auto& x) { return sum(pow(x, 0)); })(Tensor<double>{0, 1}).values() ==
        Doubles{0, 0});
  const auto by_exponent = [](const auto& b) { return sum(pow(Tensor<double>{0, 2}, b)); };
  const auto g = grad(by_exponent)(Tensor<double>{1, 1}).values();
  CHECK(g[0] == 0);
  CHECK(g[1] == doctest::Approx(1.3863).epsilon(1e-4));  // to the digits that were reported
}

// JAX#6811, PyTorch#31829
TEST_CASE("logsumexp of nothing but -inf is -inf with gradient 0 also in second order") {
  const auto f = [](const auto& x) { return logsumexp(x); };
  const Tensor<double> none{-kInf, -kInf};
  CHECK(f(none).item() == -kInf);
  CHECK(grad(f)(none).values() == Doubles{0, 0});
  CHECK(hessian(f, none).values() == Doubles(4, 0));
}

// ---- types -----------------------------------------------------------------------------------

// hw1#20, AutoGrad.jl#69
TEST_CASE("a float tensor times a number is float, and so is its gradient") {
  Tape<float> tape;
  const auto x = tape.variable(Tensor<float>{1, 2});
  const auto y = x * 0.2;
  CHECK(y.values() == Floats{0.2f, 0.4f});
  CHECK(tape.gradient(sum(y), x).values() == Floats{0.2f, 0.2f});
}
