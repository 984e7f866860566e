// Graphs that other engines' users reported as differentiated wrongly: shared values, diamonds,
// deep chains, gradients asked twice, tensors of tapes that ended.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/errors.hpp"
#include "support/near.hpp"

namespace {

using namespace xtape;
using test::invalid;
using test::misuse;
using Values = std::vector<double>;

}  // namespace

TEST_CASE("a value added to itself twice has gradient four") {
  // micrograd#64
  Tape<double> tape;
  const auto a = tape.variable(1);
  const auto b = a + a;
  const auto c = b + b;
  const auto [da, db] = tape.gradient(c, a, b);
  CHECK(da.item() == 4);
  CHECK(db.item() == 2);
}

TEST_CASE("a value used by two branches collects both") {
  // TrenTorch#182
  Tape<double> tape;
  const auto x = tape.variable(2);
  const auto y = 3 * x;
  const auto c = 2 * y + 5 * y;
  CHECK(tape.gradient(c, x).item() == 21);
}

TEST_CASE("a sum and a product that meet again give both gradients") {
  // micrograd#68: y = (c + d) + c d with c = a + b, d = a b;
  // dy/da = (1 + d) 1 + (1 + c) b = 7 + 18, dy/db = 7 + (1 + c) a = 7 + 12
  Tape<double> tape;
  const auto a = tape.variable(2), b = tape.variable(3);
  const auto c = a + b;
  const auto d = a * b;
  const auto y = (c + d) + c * d;
  CHECK(y.item() == 41);
  const auto [da, db] = tape.gradient(y, a, b);
  CHECK(da.item() == 25);
  CHECK(db.item() == 19);
}

TEST_CASE("a matrix times its own transpose has both gradients") {
  // Paddle#11977: d sum(X X^T) / dX_ik = 2 sum_j X_jk
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{{1}, {2}});
  const auto g = tape.gradient(sum(matmul(x, transpose(x))), x);
  CHECK(g.shape() == Shape{2, 1});
  CHECK(g.values() == Values{6, 6});
}

TEST_CASE("sixty doublings are sixty lines and sixty contributions of two") {
  // autodiff-cpp#3: exponential in some engines
  Tape<double> tape;
  const auto x = tape.variable(1);
  auto y = x;
  for (int i = 0; i < 60; ++i) y = y + y;
  CHECK(tape.size() == 61);
  std::size_t contributions = 0;
  const Sweep<double> counting(
      Record::no, [&](auto, auto&&, const auto& passed) { contributions += passed.size(); });
  CHECK(tape.gradient(y, x, counting).item() == std::ldexp(1.0, 60));
  CHECK(contributions == 120);
}

TEST_CASE("the norm of a long vector has the unit vector as its gradient") {
  // autodiff#314: quadratic or worse in some engines
  const auto values = Tensor<double>::arange(1, 2049);
  Tape<double> tape;
  const auto x = tape.variable(values);
  const auto y = sqrt(sum(x * x));
  const auto g = tape.gradient(y, x).values();
  // sum i^2 = n (n + 1) (2 n + 1) / 6
  const double norm = std::sqrt(2048.0 * 2049.0 * 4097.0 / 6.0);
  CHECK(tape.size() == 4);
  // Three roundings on the tape and two here; 6 leaves room for their products.
  std::size_t right = 0;
  for (std::size_t i = 0; i < g.size(); ++i)
    right += test::near(g[i], static_cast<double>(i + 1) / norm, 6 * test::kRounding);
  CHECK(right == 2048);
}

TEST_CASE("the gradient asked twice is the same to the last bit") {
  // micrograd#53, PyTorch#11192: gradients accumulated, or a freed graph
  Random random(3);
  Tape<double> tape;
  const auto x = tape.variable(random.normal<double>({3, 4}));
  const auto w = tape.variable(random.normal<double>({4, 2}));
  const auto y = sum(softmax(tanh(matmul(x, w))) * exp(matmul(x, w)));
  const auto first = tape.gradient(y, x, w);
  const auto lines = tape.size();
  const auto second = tape.gradient(y, x, w);
  CHECK(first[0].values() == second[0].values());
  CHECK(first[1].values() == second[1].values());
  CHECK(tape.size() == lines);
}

TEST_CASE("a name bound to another value does not change what was taped") {
  // autodiff#235
  Tape<double> tape;
  auto x = tape.variable(1);
  const auto variable = x;
  const auto y = x * x * x;
  x = 2;
  CHECK(tape.gradient(y, variable).item() == 3);
}

TEST_CASE("a tensor of a cleared tape is a constant to ops and misuse as target or variable") {
  // stan#99
  Tape<double> tape;
  const auto x = tape.variable(3);
  const auto y = x * x;
  tape.clear();
  CHECK(tape.size() == 0);
  const auto v = tape.variable(2);
  CHECK(tape.gradient(v * y, v).item() == 9);
  CHECK(misuse([&] { tape.gradient(y, v); }) ==
        "[gradient] target f64[] stood on a tape that has ended or was cleared: ask before that, "
        "or put it on a tape again with variable.");
  CHECK(misuse([&] { tape.gradient(v * v, x); }) ==
        "[gradient] variable f64[] stood on a tape that has ended or was cleared: ask before "
        "that, or put it on a tape again with variable.");
}

TEST_CASE("a target that never was on a tape has gradient zero") {
  // DyNet#600
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{{1, 2}});
  const auto g = tape.gradient(Tensor<double>(5.0), x);
  CHECK(g.shape() == Shape{1, 2});
  CHECK(g.values() == Values{0, 0});
}

TEST_CASE("a variable that the target does not use has gradient zero") {
  // DyNet#867
  Tape<double> tape;
  const auto x = tape.variable(2);
  const auto unused = tape.variable(Tensor<double>::ones({2, 3}));
  const auto y = x * x;
  const auto later = tape.variable(Tensor<double>{1, 2});  // behind the target
  const auto [dx, du, dl] = tape.gradient(y, x, unused, later);
  CHECK(dx.item() == 4);
  CHECK(du.shape() == Shape{2, 3});
  CHECK(du.values() == Values(6, 0.0));
  CHECK(dl.values() == Values{0, 0});
}

TEST_CASE("a variable that never was on this tape is misuse") {
  // DyNet#600: silently zero
  Tape<double> tape;
  const auto x = tape.variable(2);
  const Tensor<double> stranger({2}, {1, 2});
  CHECK(misuse([&] { tape.gradient(x * x, stranger); }) ==
        "[gradient] variable f64[2] never was on this tape: put it there with variable or watch, "
        "and compute the target from what that returns.");
}

TEST_CASE("a target of more than one element needs a seed") {
  // dezero, flashlight
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{1, 2});
  CHECK(invalid([&] { tape.gradient(x * x, x); }) ==
        "[gradient] target f64[2] has 2 elements: one is required, or a seed of its shape given "
        "to vjp.");
  CHECK(tape.vjp(x * x, Tensor<double>{1, 10}, x).values() == Values{2, 40});
  for (const Shape& one : {Shape{}, Shape{1}, Shape{1, 1}})
    CHECK(tape.gradient(reshape(sum(x * x), one), x).values() == Values{2, 4});
  const auto nothing = tape.variable(Tensor<double>::zeros({0}));
  CHECK(invalid([&] { tape.gradient(nothing, x); }) ==
        "[gradient] target f64[0] has 0 elements: one is required, or a seed of its shape given "
        "to vjp.");
}
