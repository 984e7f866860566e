// Derivatives of functions: grad, value_and_grad, vjp, jvp, hvp, and how they nest.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <type_traits>
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
using Scalar = Tensor<double>;

const auto cube = [](auto x) { return x * x * x; };

}  // namespace

TEST_CASE("grad gives the derivative at a point") {
  CHECK(grad(cube)(Scalar(2)).item() == 12);
  CHECK(grad([](auto x) { return sum(x * x); })(Tensor<double>{{1, 2}, {3, 4}}).values() ==
        Values{2, 4, 6, 8});
  CHECK(grad(cube)(Tensor<float>(2)).item() == 12.0f);
}

TEST_CASE("grad nests to any order") {
  CHECK(grad(grad(cube))(Scalar(2)).item() == 12);
  CHECK(grad(grad(grad(cube)))(Scalar(2)).item() == 6);
  CHECK(grad(grad(grad(grad(cube))))(Scalar(2)).item() == 0);
}

TEST_CASE("value_and_grad gives the value beside the gradient") {
  const auto [value, gradient] = value_and_grad(cube)(Scalar(2));
  CHECK(value.item() == 8);
  CHECK(gradient.item() == 12);
}

TEST_CASE("what value_and_grad returns is usable afterwards") {
  const auto [value, gradient] = value_and_grad(cube)(Scalar(2));
  CHECK((value + gradient).item() == 20);
  CHECK(grad(cube)(value).item() == 3 * 64);
  Tape<double> tape;
  const auto v = tape.variable(value);
  CHECK(tape.gradient(v * value, v).item() == 8);
}

TEST_CASE("grad of several arguments is an array and of a vector a vector") {
  const auto f = [](auto x, auto y) { return x * x * y; };
  const auto both = grad(f)(Scalar(3), Scalar(5));
  static_assert(std::is_same_v<decltype(both), const std::array<Scalar, 2>>);
  CHECK(both[0].item() == 30);
  CHECK(both[1].item() == 9);
  const auto g = [](const std::vector<Scalar>& x) { return x[0] * x[0] * x[1]; };
  const auto listed = grad(g)(std::vector<Scalar>{3, 5, 7});
  static_assert(std::is_same_v<decltype(listed), const std::vector<Scalar>>);
  CHECK(listed.size() == 3);
  CHECK(listed[0].item() == 30);
  CHECK(listed[1].item() == 9);
  CHECK(listed[2].item() == 0);
}

TEST_CASE("the argument of grad counts once when the function also uses it from outside") {
  // d/dz (z x) at z = x is x, not 2 x.
  Tape<double> tape;
  const auto x = tape.variable(5);
  CHECK(grad([&](auto z) { return z * x; })(x).item() == 5);
  const Scalar constant = 5;
  CHECK(grad([&](auto z) { return z * constant; })(constant).item() == 5);
  // As a function of x that derivative is x itself: its own derivative is 1.
  const auto slope = grad([&](auto z) { return z * x; })(x);
  CHECK(tape.gradient(slope, x).item() == 1);
}

TEST_CASE("an inner grad sees the variables of the outer one in either order") {
  // Perturbation confusion: d/dx [x d/dy (x + y)] = d/dx [x] = 1, never 2.
  const auto left = [](auto x) { return x * grad([&](auto y) { return x + y; })(Scalar(1)); };
  const auto right = [](auto x) { return grad([&](auto y) { return y + x; })(Scalar(1)) * x; };
  CHECK(grad(left)(Scalar(3)).item() == 1);
  CHECK(grad(right)(Scalar(3)).item() == 1);
  // d/dx [x d/dy (x y)] = d/dx x^2
  const auto product = [](auto x) { return x * grad([&](auto y) { return y * x; })(Scalar(1)); };
  CHECK(grad(product)(Scalar(3)).item() == 6);
  CHECK(grad(grad(product))(Scalar(3)).item() == 2);
}

TEST_CASE("a grad inside of a tape joins it in either order") {
  Tape<double> tape;
  const auto x = tape.variable(3);
  const auto left = x * grad([&](auto y) { return x + y; })(Scalar(1));
  CHECK(left.item() == 3);
  CHECK(tape.gradient(left, x).item() == 1);
  const auto right = grad([&](auto y) { return y + x; })(Scalar(1)) * x;
  CHECK(tape.gradient(right, x).item() == 1);
  const auto square = x * grad([&](auto y) { return y * x; })(Scalar(1));
  CHECK(square.item() == 9);
  CHECK(tape.gradient(square, x).item() == 6);
  // y on its own first, x afterwards: what was written before joining moves along.
  const auto late = grad([&](auto y) {
    const auto own = y * y * y;
    return own * x;
  })(Scalar(2));
  CHECK(late.item() == 36);                    // 3 y^2 x
  CHECK(tape.gradient(late, x).item() == 12);  // 3 y^2
}

TEST_CASE("a gradient penalty has the right derivative on a tape") {
  // f(w, x) = sum (w x)^2; p = sum (df/dx)^2 = 4 sum w^4 x^2; dp/dw = 16 w^3 x^2
  Tape<double> tape;
  const auto w = tape.variable(Tensor<double>{1, 2});
  const Tensor<double> x{3, 5};
  const auto slope = grad([&](auto at) { return sum(square(w * at)); })(x);
  CHECK(slope.values() == Values{2 * 1 * 3, 2 * 4 * 5});
  const auto penalty = sum(square(slope));
  CHECK(penalty.item() == 36 + 1600);
  CHECK(tape.gradient(penalty, w).values() == Values{16 * 1 * 9, 16 * 8 * 25});
}

TEST_CASE("a gradient penalty has the right derivative under grad") {
  const Tensor<double> x{3, 5};
  const auto penalty = [&](auto w) {
    return sum(square(grad([&](auto at) { return sum(square(w * at)); })(x)));
  };
  CHECK(grad(penalty)(Tensor<double>{1, 2}).values() == Values{144, 3200});
}

TEST_CASE("grad with arguments on a tape and off it mixes them") {
  Tape<double> tape;
  const auto x = tape.variable(3);
  const auto f = [](auto a, auto b) { return a * a * b; };
  const auto [da, db] = grad(f)(x, Scalar(5));
  CHECK(da.item() == 30);
  CHECK(db.item() == 9);
  CHECK(tape.gradient(da + db, x).item() == 10 + 6);  // 2 a b + a^2: its derivative by a
  const auto [dc, dd] = grad(f)(Scalar(5), x);
  CHECK(tape.gradient(dc * dd, x).item() == 10 * 25);  // 2 c d c^2: by d
}

TEST_CASE("several closures join one tape one after the other") {
  Tape<double> tape;
  const auto x = tape.variable(2);
  auto total = x * 0;
  for (int i = 1; i <= 5; ++i)
    total = total + grad([&](auto y) { return y * y * x; })(Scalar(i));  // 2 i x
  CHECK(total.item() == 60);
  CHECK(tape.gradient(total, x).item() == 30);
  tape.clear();
  const auto again = tape.variable(3);
  CHECK(grad([&](auto y) { return y * again; })(Scalar(1)).item() == 3);
}

TEST_CASE("closures that joined each other join a tape together") {
  Tape<double> tape;
  const auto x = tape.variable(2);
  // The inner function meets the outer one's argument first, and the tape only afterwards.
  const auto outer = grad([&](auto y) {
    return grad([&](auto z) {
      const auto joined = z * z * y;
      return joined * y * x;
    })(Scalar(3));
  })(Scalar(5));
  // d/dy d/dz (z^2 y^2 x) = 4 z y x
  CHECK(outer.item() == 4 * 3 * 5 * 2);
  CHECK(tape.gradient(outer, x).item() == 60);
}

TEST_CASE("grad of a function that ignores its argument is zero") {
  CHECK(grad([](auto) { return Scalar(7); })(Tensor<double>{1, 2}).values() == Values{0, 0});
  Tape<double> tape;
  const auto v = tape.variable(2);
  CHECK(grad([&](auto) { return v * v; })(Scalar(1)).item() == 0);
  CHECK(grad([&](auto x) { return stop_gradient(x) * v; })(v).item() == 0);
}

TEST_CASE("grad of a function that returns its argument is one") {
  CHECK(grad([](auto x) { return x; })(Scalar(7)).item() == 1);
  Tape<double> tape;
  const auto v = tape.variable(2);
  CHECK(grad([](auto x) { return x; })(v).item() == 1);
}

TEST_CASE("a tape made inside of a function under grad throws and says what to do") {
  const auto f = [](auto x) {
    Tape<double> tape;
    const auto v = tape.variable(3);
    return x * v;
  };
  const auto g = [](auto x) {
    Tape<double> tape;
    const auto v = tape.variable(3);
    return v + x;
  };
  const std::string text =
      "mixes an argument of a function under grad with a variable of a Tape made inside that "
      "function: pass the tensor in as an argument.";
  CHECK(misuse([&] { grad(f)(Scalar(2)); }) == "[mul] " + text);
  CHECK(misuse([&] { grad(g)(Scalar(2)); }) == "[add] " + text);
  CHECK(grad(cube)(Scalar(2)).item() == 12);  // nothing is left behind
}

TEST_CASE("a tape of its own inside of a function under grad does no harm") {
  const auto f = [](auto x) {
    Tape<double> tape;
    const auto v = tape.variable(3);
    return x * tape.gradient(v * v, v);
  };
  CHECK(grad(f)(Scalar(2)).item() == 6);
}

TEST_CASE("grad of a result with more than one element throws") {
  CHECK(invalid([] {
          grad([](auto x) { return x * x; })(Tensor<double>{1, 2});
        }) ==
        "[grad] target f64[2] has 2 elements: one is required, or a seed of its shape given to "
        "vjp.");
}

TEST_CASE("grad adds no line to a tape that it does not touch") {
  Tape<double> tape;
  const auto x = tape.variable(2);
  CHECK(grad(cube)(Scalar(2)).item() == 12);
  CHECK(grad(cube)(stop_gradient(x)).item() == 12);
  CHECK(tape.size() == 1);
}

TEST_CASE("vjp gives the value and the product of the cotangent with the Jacobian") {
  // f(x) = (x0 x1, x0^2); J = [[x1, x0], [2 x0, 0]]
  const auto f = [](auto x) {
    const auto a = slice(x, 0, 0, 1), b = slice(x, 0, 1, 2);
    return concatenate<double>({a * b, a * a}, 0);
  };
  const auto [y, dx] = vjp(f, Tensor<double>{3, 5}, Tensor<double>{10, 1});
  CHECK(y.values() == Values{15, 9});
  CHECK(dx.values() == Values{50 + 6, 30});
  const auto [value, dy] = jvp(f, Tensor<double>{3, 5}, Tensor<double>{10, 1});
  CHECK(value.values() == Values{15, 9});
  CHECK(dy.values() == Values{5 * 10 + 3, 60});
}

TEST_CASE("jvp is the derivative along a direction in the shape of the result") {
  const Tensor<double> a({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto linear = [&](auto x) { return matmul(a, x); };
  const auto [y, dy] = jvp(linear, Tensor<double>{1, 1, 1}, Tensor<double>{1, 0, -1});
  CHECK(y.values() == Values{6, 15});
  CHECK(dy.values() == Values{-2, -2});
  const auto [e, de] = jvp([](auto x) { return exp(x); }, Scalar(0.5), 2);
  CHECK(near(e.item(), std::exp(0.5), 2 * test::kRounding));
  CHECK(de.item() == 2 * e.item());
}

TEST_CASE("jvp nests with grad and with itself") {
  // d/dx of the derivative of x^3 along 1
  const auto along = [](auto x) { return jvp(cube, x, 1).second; };
  CHECK(grad(along)(Scalar(2)).item() == 12);
  CHECK(jvp(along, Scalar(2), 1).second.item() == 12);
  Tape<double> tape;
  const auto x = tape.variable(2);
  CHECK(tape.gradient(along(x), x).item() == 12);
}

TEST_CASE("hvp is the Hessian times a vector") {
  // f = x0^2 x1 + x1^3: H = [[2 x1, 2 x0], [2 x0, 6 x1]]
  const auto f = [](auto x) {
    const auto a = slice(x, 0, 0, 1), b = slice(x, 0, 1, 2);
    return sum(a * a * b + b * b * b);
  };
  const Tensor<double> x{3, 5};
  CHECK(hvp(f, x, Tensor<double>{1, 0}).values() == Values{10, 6});
  CHECK(hvp(f, x, Tensor<double>{0, 1}).values() == Values{6, 30});
  CHECK(hvp(f, x, Tensor<double>{2, -1}).values() == Values{14, -18});
}

TEST_CASE("hvp has exactly the shape of its argument") {
  const auto f = [](auto x) { return sum(square(square(x))); };  // H = 12 x^2 on the diagonal
  const Tensor<double> x({1, 2}, {1, 2});
  const auto h = hvp(f, x, Tensor<double>({1, 2}, {1, 1}));
  CHECK(h.shape() == Shape{1, 2});
  CHECK(h.values() == Values{12, 48});
}

TEST_CASE("clearing the outer tape inside of a function under grad throws and does no harm") {
  Tape<double> tape;
  const auto x = tape.variable(2);
  const std::string text = misuse([&] {
    grad([&](auto y) {
      const auto joined = y * x;
      tape.clear();
      return joined;
    })(Scalar(3));
  });
  CHECK(text ==
        "[grad] the tape of the arguments ended inside the function: let it live until the "
        "gradient is there.");
  // Each of these tapes must have a state of its own.
  Tape<double> first, second;
  const auto a = first.variable(2);
  const auto b = second.variable(3);
  CHECK(second.size() == 1);
  CHECK(first.gradient(a * a, a).item() == 4);
  CHECK(second.gradient(b * b, b).item() == 6);
}
