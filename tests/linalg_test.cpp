// Products at the edges: vectors, batches, empty sums, layouts, NaN, and their errors.
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

Tensor<double> ones(const Shape& shape) { return Tensor<double>::ones(shape); }

}  // namespace

TEST_CASE("matmul gives the shapes that NumPy gives and gradients of its operands' shapes") {
  struct Case {
    Shape a, b, result;
  };
  const Case cases[] = {
      {{2, 3}, {3, 4}, {2, 4}},
      {{3}, {3}, {}},
      {{3}, {3, 4}, {4}},
      {{2, 3}, {3}, {2}},
      {{3}, {5, 3, 4}, {5, 4}},
      {{5, 2, 3}, {3}, {5, 2}},
      {{5, 2, 3}, {3, 4}, {5, 2, 4}},
      {{2, 3}, {5, 3, 4}, {5, 2, 4}},
      {{5, 1, 2, 3}, {6, 3, 4}, {5, 6, 2, 4}},
      {{1, 2, 3}, {0, 3, 4}, {0, 2, 4}},
      {{2, 0}, {0, 3}, {2, 3}},
      {{0}, {0}, {}},
  };
  for (const Case& c : cases) {
    const Shape &a = c.a, &b = c.b;
    CAPTURE(a);
    CAPTURE(b);
    Tape<double> tape;
    const auto left = tape.variable(ones(a)), right = tape.variable(ones(b));
    const auto y = matmul(left, right);
    CHECK(y.shape() == c.result);
    // A product of ones is the length of the sum everywhere.
    CHECK(y.values() == Doubles(static_cast<std::size_t>(y.size()), static_cast<double>(a.back())));
    const auto [da, db] = tape.gradient(sum(y), left, right);
    CHECK(da.shape() == a);
    CHECK(db.shape() == b);
    if (da.size() > 0) CHECK(sum(da).item() == sum(y).item());  // each term once, by Euler
    if (db.size() > 0) CHECK(sum(db).item() == sum(y).item());
  }
}

// Source: tinygrad#3108, candle#3756
TEST_CASE("a product over nothing is zeros with empty gradients") {
  Tape<double> tape;
  const auto a = tape.variable(ones({2, 0})), b = tape.variable(ones({0, 3}));
  const auto y = matmul(a, b);
  CHECK(y.values() == Doubles(6, 0.0));
  const auto [da, db] = tape.gradient(sum(y), a, b);
  CHECK(da.shape() == Shape{2, 0});
  CHECK(db.shape() == Shape{0, 3});
}

TEST_CASE("one matrix for a batch has its gradient over nothing too") {
  Tape<double> tape;
  const auto a = tape.variable(ones({2, 2, 0})), b = tape.variable(ones({0, 3}));
  const auto [da, db] = tape.gradient(sum(matmul(a, b)), a, b);
  CHECK(da.shape() == Shape{2, 2, 0});
  CHECK(db.shape() == Shape{0, 3});
}

TEST_CASE("the gradient of one matrix for a batch is the sum over the batch") {
  Random random(11);
  const auto a = random.normal<double>({2, 3, 4, 5});
  const auto b = random.normal<double>({5, 2});
  const auto g = random.normal<double>({2, 3, 4, 2});
  const auto whole = vjp([&](const auto& w) { return matmul(a, w); }, b, g).second;
  std::vector<double> total(10);
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 3; ++j)
      for (std::int64_t m = 0; m < 4; ++m)
        for (std::int64_t k = 0; k < 5; ++k)
          for (std::int64_t n = 0; n < 2; ++n)
            total[static_cast<std::size_t>(2 * k + n)] += a.at({i, j, m, k}) * g.at({i, j, m, n});
  // Sums of 24 products: their order may cost some of the last bits.
  CHECK(closeness::error(whole.values(), total) <= closeness::tolerance<double>());
}

// Source: candle#3735, flash-attention#355
TEST_CASE("matmul of transposed operands is that of their copies") {
  const Tensor<double> x{{1, 2, 3}, {4, 5, 6}}, w{{1, 2}, {3, 4}, {5, 6}};
  const auto y = matmul(transpose(x), transpose(w));
  CHECK(y.values() == Doubles{9, 19, 29, 12, 26, 40, 15, 33, 51});
  CHECK(same_bits(y, matmul(contiguous(transpose(x)), contiguous(transpose(w)))));
  const auto f = [&](const auto& v) { return sum(square(matmul(v, transpose(w)))); };
  CHECK(same_bits(grad(f)(transpose(x)), grad(f)(contiguous(transpose(x)))));
}

TEST_CASE("matmul reads sliced and repeated operands by their strides") {
  const auto wide = reshape(Tensor<double>::arange(0, 12), {2, 6});
  const auto a = slice(wide, 1, 0, 6, 2);  // [[0, 2, 4], [6, 8, 10]]
  CHECK(matmul(a, Tensor<double>{1, 10, 100}).values() == Doubles{420, 1086});
  const auto row = broadcast_to(Tensor<double>{1, 2}, {3, 2});
  CHECK(matmul(a, row).values() == Doubles{6, 12, 24, 48});
  CHECK(matmul(row, transpose(row)).values() == Doubles(9, 5.0));
}

TEST_CASE("a matrix that is repeated over a batch by strides gets one summed gradient") {
  const auto f = [](const auto& b) {
    return sum(matmul(Tensor<double>::ones({3, 1, 2}), broadcast_to(b, {3, 2, 2})));
  };
  CHECK(grad(f)(ones({2, 2})).values() == Doubles{3, 3, 3, 3});
}

TEST_CASE("zero times NaN is NaN in a matrix product") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto y = matmul(Tensor<double>{{0, 1}, {1, 0}}, Tensor<double>{{nan, 1}, {2, 3}}).values();
  CHECK(std::isnan(y[0]));
  CHECK(std::isnan(y[2]));
  CHECK(y[1] == 3);
  CHECK(y[3] == 1);
}

TEST_CASE("the product with the identity is the operand itself") {
  const auto x = Random(3).normal<double>({4, 4});
  CHECK(same_bits(matmul(x, Tensor<double>::eye(4)), x));
  CHECK(same_bits(matmul(Tensor<double>::eye(4), x), x));
}

TEST_CASE("dot accumulates float in double and is 0 over nothing") {
  CHECK(dot(Tensor<float>{16777216, 1, 1}, Tensor<float>{1, 1, 1}).item() == 16777218);
  CHECK(dot(ones({0}), ones({0})).item() == 0);
  CHECK(dot(ones({3}), ones({3})).shape() == Shape{});
}

TEST_CASE("dot reads strided vectors") {
  const auto x = Tensor<double>::arange(0, 6);
  CHECK(dot(slice(x, 0, 0, 6, 2), slice(x, 0, 1, 6, 2)).item() == 0 * 1 + 2 * 3 + 4 * 5);
  CHECK(dot(broadcast_to(Tensor<double>(2), {6}), x).item() == 30);
}

TEST_CASE("dot with itself has gradient twice the vector") {
  CHECK(grad([](const auto& x) { return dot(x, x); })(Tensor<double>{1, -2}).values() ==
        Doubles{2, -4});
}

TEST_CASE("matmul refuses operands that do not multiply") {
  const auto text = [](const Shape& a, const Shape& b) {
    return invalid([&] { matmul(ones(a), ones(b)); });
  };
  const std::string rest = ": a's last axis must equal b's second to last.";
  CHECK(text({2, 3}, {4, 2}) == "[matmul] cannot multiply a [2, 3] by b [4, 2]" + rest);
  CHECK(text({2, 0}, {1, 3}) == "[matmul] cannot multiply a [2, 0] by b [1, 3]" + rest);
  CHECK(text({3}, {2}) == "[matmul] cannot multiply a [3] by b [2]" + rest);
  CHECK(text({}, {3}) == "[matmul] cannot multiply a [] by b [3]" + rest);
  CHECK(text({3}, {}) == "[matmul] cannot multiply a [3] by b []" + rest);
}

TEST_CASE("matmul refuses batches that do not broadcast") {
  CHECK(invalid([] {
          matmul(ones({2, 2, 3}), ones({3, 3, 4}));
        }) ==
        "[matmul] cannot broadcast [2] with [3]: lengths, counted from the last axis, must be "
        "equal or 1.");
}

TEST_CASE("dot refuses all but two vectors of one length") {
  const std::string rest = ": two vectors of one length are required.";
  CHECK(invalid([] { dot(ones({2}), ones({3})); }) ==
        "[dot] a of shape [2] and b of shape [3]" + rest);
  CHECK(invalid([] {
          dot(ones({1, 2}), ones({1, 2}));
        }) == "[dot] a of shape [1, 2] and b of shape [1, 2]" + rest);
  CHECK(invalid([] { dot(ones({}), ones({})); }) == "[dot] a of shape [] and b of shape []" + rest);
}

// ---- outer -----------------------------------------------------------------------------------

TEST_CASE("outer holds every product and gives each vector the other's share") {
  const Tensor<double> a{2, 3}, b{5, 7, 11};
  CHECK(outer(a, b).shape() == Shape{2, 3});
  CHECK(outer(a, b).values() == Doubles{10, 14, 22, 15, 21, 33});
  const Tensor<double> weights{{1, 0, 1}, {0, 1, 0}};
  const auto g =
      grad([&](const auto& x, const auto& y) { return sum(outer(x, y) * weights); })(a, b);
  CHECK(g[0].values() == Doubles{5 + 11, 7});
  CHECK(g[1].values() == Doubles{2, 3, 2});
  // Of a vector with itself both sides count: d/dx sum_ij x_i x_j = 2 sum x.
  CHECK(grad([](const auto& x) { return sum(outer(x, x)); })(a).values() == Doubles{10, 10});
}

TEST_CASE("outer refuses all but two vectors") {
  const std::string rest = ": two vectors are required.";
  const auto text = [](const Shape& a, const Shape& b) {
    return invalid([&] { outer(ones(a), ones(b)); });
  };
  CHECK(text({2, 3}, {3}) == "[outer] a of shape [2, 3] and b of shape [3]" + rest);
  CHECK(text({3}, {}) == "[outer] a of shape [3] and b of shape []" + rest);
}
