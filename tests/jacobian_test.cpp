// jacobian and hessian against formulas by hand, at shapes of every kind, and nested.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/errors.hpp"
#include "support/near.hpp"

namespace {

using namespace xtape;
using test::invalid;
using test::kRounding;
using test::near;
using Doubles = std::vector<double>;

/// (x0 x1, x0^2): J = [[x1, x0], [2 x0, 0]]
template <class T>
Tensor<T> pair(const Tensor<T>& x) {
  const auto part = unstack(x);
  return stack(std::vector<Tensor<T>>{part[0] * part[1], part[0] * part[0]});
}

/// x0^2 x1 + x1^3: H = [[2 x1, 2 x0], [2 x0, 6 x1]]
template <class T>
Tensor<T> cubic(const Tensor<T>& x) {
  const auto part = unstack(x);
  return part[0] * part[0] * part[1] + part[1] * part[1] * part[1];
}

const auto kPair = [](const auto& x) { return pair(x); };
const auto kCubic = [](const auto& x) { return cubic(x); };

}  // namespace

TEST_CASE_TEMPLATE("a Jacobian has a row for each value of the result", T, float, double) {
  const Tensor<T> j = jacobian(kPair, Tensor<T>{3, 5});
  CHECK(j.shape() == Shape{2, 2});
  CHECK(j.values() == std::vector<T>{5, 3, 6, 0});
}

TEST_CASE("a Jacobian's shape is the result's and then the argument's") {
  const Tensor<double> x({2, 3}, {1, 2, 3, 4, 5, 6});
  // y_ij = x_ji: 1 where i = l and j = k
  const auto j = jacobian([](const auto& v) { return transpose(v); }, x);
  CHECK(j.shape() == Shape{3, 2, 2, 3});
  for (std::int64_t at = 0; at < j.size(); ++at) {
    const std::int64_t l = at % 3, k = at / 3 % 2, c = at / 6 % 2, r = at / 12;
    CHECK(j.at({r, c, k, l}) == (r == l && c == k ? 1 : 0));
  }
}

TEST_CASE("the Jacobian of a product with a matrix is that matrix") {
  const Tensor<double> a({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto j = jacobian([&](const auto& x) { return matmul(a, x); }, Tensor<double>{7, 8, 9});
  CHECK(j.shape() == Shape{2, 3});
  CHECK(j.values() == a.values());
}

TEST_CASE("a Jacobian of or with respect to a scalar has that side's axes left out") {
  const auto square_ = [](const auto& x) { return x * x; };
  const auto both = jacobian(square_, Tensor<double>(3));
  CHECK(both.shape() == Shape{});
  CHECK(both.item() == 6);
  const auto of_scalar = jacobian(
      [](const auto& x) {
        return x * Tensor<double>{1, 2};
      },
      Tensor<double>(3));
  CHECK(of_scalar.shape() == Shape{2});
  CHECK(of_scalar.values() == Doubles{1, 2});
  const auto to_scalar =
      jacobian([](const auto& x) { return sum(x * x); }, Tensor<double>({1, 2}, {3, 4}));
  CHECK(to_scalar.shape() == Shape{1, 2});
  CHECK(to_scalar.values() == Doubles{6, 8});
}

TEST_CASE("a Jacobian of nothing is empty") {
  const auto same = [](const auto& x) { return x * 2; };
  CHECK(jacobian(same, Tensor<double>::zeros({0})).shape() == Shape{0, 0});
  const auto none = jacobian([](const auto& x) { return slice(x, 0, 0, 0); }, Tensor<double>{1, 2});
  CHECK(none.shape() == Shape{0, 2});
  const auto of_none =
      jacobian([](const auto& x) { return sum(x); }, Tensor<double>::zeros({3, 0}));
  CHECK(of_none.shape() == Shape{3, 0});
}

TEST_CASE("the Jacobian of what does not depend on its argument is zeros") {
  const auto j = jacobian(
      [](const auto&) {
        return Tensor<double>{1, 2};
      },
      Tensor<double>{3, 4, 5});
  CHECK(j.shape() == Shape{2, 3});
  CHECK(j.values() == Doubles(6, 0));
}

TEST_CASE("a Hessian is symmetric and twice the shape of its argument") {
  const auto h = hessian(kCubic, Tensor<double>{3, 5});
  CHECK(h.shape() == Shape{2, 2});
  CHECK(h.values() == Doubles{10, 6, 6, 30});
  // sum x^3: 6 x on the diagonal
  const auto cubes = [](const auto& x) { return sum(x * x * x); };
  const auto wide = hessian(cubes, Tensor<double>({1, 2}, {3, 4}));
  CHECK(wide.shape() == Shape{1, 2, 1, 2});
  CHECK(wide.values() == Doubles{18, 0, 0, 24});
}

TEST_CASE("the Hessian of a quadratic form is its matrix plus the transpose") {
  const Tensor<double> a({2, 2}, {1, 2, 3, 4});
  const auto form = [&](const auto& x) { return dot(x, matmul(a, x)); };
  CHECK(hessian(form, Tensor<double>{7, -5}).values() == Doubles{2, 5, 5, 8});
}

TEST_CASE("the Hessian of a function of a scalar is its second derivative") {
  const auto h = hessian([](const auto& x) { return exp(x); }, Tensor<double>(0.5));
  CHECK(h.shape() == Shape{});
  CHECK(near(h.item(), std::exp(0.5), 2 * kRounding));
}

TEST_CASE("the Hessian of a linear function is zeros") {
  const auto h = hessian([](const auto& x) { return sum(3 * x); }, Tensor<double>{1, 2});
  CHECK(h.shape() == Shape{2, 2});
  CHECK(h.values() == Doubles(4, 0));
}

TEST_CASE("a Hessian times a vector is what hvp gives") {
  const Tensor<double> x{3, 5}, v{2, -1};
  CHECK(matmul(hessian(kCubic, x), v).values() == hvp(kCubic, x, v).values());
}

TEST_CASE("a gradient passes through a Jacobian and a Hessian") {
  const Tensor<double> x{3, 5};
  // sum J^2 = x1^2 + 5 x0^2
  CHECK(grad([](const auto& v) { return sum(square(jacobian(kPair, v))); })(x).values() ==
        Doubles{30, 10});
  // sum H = 8 x1 + 4 x0
  CHECK(grad([](const auto& v) { return sum(hessian(kCubic, v)); })(x).values() == Doubles{4, 8});
}

TEST_CASE("a Jacobian joins the tape that its argument stands on") {
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{3, 5});
  const auto total = sum(square(jacobian(kPair, x)));
  CHECK(tape.gradient(total, x).values() == Doubles{30, 10});
}

TEST_CASE("the Jacobian of a Hessian holds the third derivatives") {
  // of x0^2 x1 + x1^3
  const auto third =
      jacobian([](const auto& x) { return hessian(kCubic, x); }, Tensor<double>{3, 5});
  CHECK(third.shape() == Shape{2, 2, 2});
  CHECK(third.values() == Doubles{0, 2, 2, 0, 2, 0, 0, 6});
}

TEST_CASE("the Hessian of a result with more than one element throws") {
  CHECK(invalid([] {
          hessian(kPair, Tensor<double>{3, 5});
        }) == invalid([] {
          grad(kPair)(Tensor<double>{3, 5});
        }));
  CHECK(invalid([] { hessian(kPair, Tensor<double>{3, 5}); }).rfind("[grad] ", 0) == 0);
}
