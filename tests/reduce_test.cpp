// Reductions at the edges: nothing to reduce, ties, infinities, precision, and their errors.
#include <doctest/doctest.h>

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
using test::invalid;
using Doubles = std::vector<double>;
using List = std::vector<std::int64_t>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The gradient of the sum of f.
template <class F>
Doubles slopes(const F& f, const Tensor<double>& x) {
  return grad([&](const Tensor<double>& v) { return sum(f(v)); })(x).values();
}

}  // namespace

// ---- nothing ---------------------------------------------------------------------------------

TEST_CASE("the sum of nothing is 0 and its gradient is empty") {
  const auto x = Tensor<double>::zeros({2, 0});
  CHECK(sum(x).values() == Doubles{0});
  CHECK(sum(x, 1).values() == Doubles{0, 0});
  CHECK(sum(x, 0).shape() == Shape{0});
  CHECK(sum(x, 1, true).shape() == Shape{2, 1});
  CHECK(grad([](const auto& v) { return sum(v); })(x).shape() == Shape{2, 0});
}

TEST_CASE("mean and max of nothing throw") {
  const auto x = Tensor<double>::zeros({2, 0});
  CHECK(invalid([&] { mean(x); }) ==
        "[mean] shape [2, 0] over axes=[0, 1]: there is nothing to take it of.");
  CHECK(invalid([&] { max(x, -1); }) ==
        "[max] shape [2, 0] over axes=[1]: there is nothing to take it of.");
  CHECK(mean(x, 0).shape() == Shape{0});
  CHECK(max(x, 0, true).shape() == Shape{1, 0});
}

// Source: JAX#6811, PyTorch#31829
TEST_CASE("logsumexp of nothing or of -inf alone is -inf with gradient 0") {
  CHECK(logsumexp(Tensor<double>::zeros({2, 0}), 1).values() == Doubles{-kInf, -kInf});
  const auto f = [](const auto& x) { return logsumexp(x, -1); };
  const Tensor<double> x{{-kInf, -kInf}, {0, 0}};
  CHECK(f(x).values() == Doubles{-kInf, std::log(2.0)});
  CHECK(slopes(f, x) == Doubles{0, 0, 0.5, 0.5});
  CHECK(slopes([](const auto& v) { return logsumexp(v); }, Tensor<double>{-kInf, -kInf}) ==
        Doubles{0, 0});
}

TEST_CASE("a list of no axes reduces nothing") {
  const Tensor<double> x{{1, 2}, {3, 4}};
  CHECK(sum(x, List()).values() == x.values());
  CHECK(mean(x, List()).values() == x.values());
  CHECK(max(x, List()).values() == x.values());
  CHECK(logsumexp(x, List()).values() == x.values());  // ln e^x with max-shift: ln 1 + x
  CHECK(sum(x, List(), true).shape() == Shape{2, 2});
  for (const auto& g : {slopes([](const auto& v) { return sum(v, List()); }, x),
                        slopes([](const auto& v) { return max(v, List()); }, x),
                        slopes([](const auto& v) { return logsumexp(v, List()); }, x)})
    CHECK(g == Doubles{1, 1, 1, 1});
}

TEST_CASE("a scalar is its own sum mean max and logsumexp") {
  const Tensor<double> x(3);
  for (const Tensor<double>& y : {sum(x), mean(x), max(x), logsumexp(x)}) {
    CHECK(y.shape() == Shape{});
    CHECK(y.item() == 3);
  }
}

// ---- max -------------------------------------------------------------------------------------

// Source: Theano#4568, PyTorch#184572
TEST_CASE("ties share the gradient of max equally") {
  const auto all_of = [](const auto& x) { return max(x); };
  const auto rows_of = [](const auto& x) { return max(x, 1); };
  CHECK(slopes(all_of, Tensor<double>{1, 1}) == Doubles{0.5, 0.5});
  CHECK(slopes(all_of, Tensor<double>{2, 1, 2, 2, 2}) == Doubles{0.25, 0, 0.25, 0.25, 0.25});
  CHECK(slopes(rows_of, Tensor<double>{{3, 3}, {1, 2}}) == Doubles{0.5, 0.5, 0, 1});
  CHECK(slopes(all_of, Tensor<double>{0, -0.0}) == Doubles{0.5, 0.5});
  CHECK(slopes(all_of, Tensor<double>{-kInf, -kInf}) == Doubles{0.5, 0.5});
}

// Source: xtensor gives -1.8e308
TEST_CASE("max of -inf alone is -inf") {
  CHECK(max(Tensor<double>{-kInf, -kInf}).item() == -kInf);
  CHECK(max(Tensor<double>{{-kInf, -kInf}, {-kInf, 1}}, 0).values() == Doubles{-kInf, 1});
}

// Source: xtensor loses a NaN that comes second
TEST_CASE("NaN anywhere comes out of every reduction") {
  for (const Tensor<double>& x :
       {Tensor<double>{1, kNan}, Tensor<double>{kNan, 1}, Tensor<double>{kInf, kNan, kInf}}) {
    CHECK(std::isnan(sum(x).item()));
    CHECK(std::isnan(mean(x).item()));
    CHECK(std::isnan(max(x).item()));
    CHECK(std::isnan(min(x).item()));
    CHECK(std::isnan(prod(x).item()));
    CHECK(std::isnan(var(x).item()));
    CHECK(std::isnan(norm(x).item()));
    CHECK(std::isnan(logsumexp(x).item()));
  }
  const Doubles y = max(Tensor<double>{{1, kNan}, {kNan, 2}, {3, 4}}, 1).values();
  CHECK(std::isnan(y[0]));
  CHECK(std::isnan(y[1]));
  CHECK(y[2] == 4);
  const Doubles z = max(Tensor<double>{{1, kNan}, {3, 4}}, 0).values();
  CHECK(z[0] == 3);
  CHECK(std::isnan(z[1]));
}

// ---- precision -------------------------------------------------------------------------------

// Source: numpy#22956
TEST_CASE("sums of float are accumulated in double") {
  const Tensor<float> x{16777216, 1, 1};
  CHECK(sum(x).item() == 16777218);
  CHECK(sum(reshape(x, {3, 1}), 0).values() == std::vector<float>{16777218});
  const Tensor<float> y({2, 3}, {16777216, 1, 1, 16777216, 1, 1});
  CHECK(sum(transpose(y), 0).values() == std::vector<float>{16777218, 16777218});
  CHECK(mean(Tensor<float>{16777216, 1, 1, 2}).item() == 4194305);
}

TEST_CASE("a gradient summed over a broadcast is accumulated in double") {
  const Tensor<float> x{16777216, 1, 1};
  CHECK(grad([&](const auto& s) { return sum(s * x); })(Tensor<float>(2)).item() == 16777218);
}

TEST_CASE("logsumexp is exact for logits of any size") {
  CHECK(logsumexp(Tensor<double>{1e4, 1e4}).item() ==
        doctest::Approx(1e4 + std::log(2.0)).epsilon(1e-15));
  CHECK(logsumexp(Tensor<double>{-1e8, -1e8 - 1}).item() ==
        doctest::Approx(-1e8 + std::log1p(std::exp(-1.0))).epsilon(1e-15));
  CHECK(logsumexp(Tensor<float>{1e8f, 0}).item() == 1e8f);
}

TEST_CASE("the gradient of logsumexp is softmax for logits of any size") {
  const auto f = [](const auto& x) { return logsumexp(x); };
  for (const double top : {0.0, 1e4, -1e4, 1e8, -1e8}) {
    // The difference of 1 between the logits is exact.
    CHECK(error(slopes(f, Tensor<double>{top, top - 1}),
                {1 / (1 + std::exp(-1.0)), 1 / (1 + std::exp(1.0))}) <= 1e-15);
    CHECK(grad(f)(Tensor<float>{top, top}).values() == std::vector<float>{0.5, 0.5});
  }
  const auto rows = [](const auto& x) { return sum(logsumexp(x, 1)); };
  CHECK(grad(rows)(Tensor<float>{{1e8, 1e8}, {0, 0}}).values() ==
        std::vector<float>{0.5, 0.5, 0.5, 0.5});
}

TEST_CASE("second derivatives of logsumexp hold for logits of any size and for -inf") {
  const auto f = [](const auto& x) { return logsumexp(x); };
  const Tensor<double> v{1, 0};
  for (const double top : {0.0, 1e4, 1e8})
    CHECK(hvp(f, Tensor<double>{top, top}, v).values() == Doubles{0.25, -0.25});
  CHECK(hvp(f, Tensor<double>{-kInf, -kInf}, v).values() == Doubles{0, 0});
  CHECK(hvp(f, Tensor<double>{-kInf, 3}, v).values() == Doubles{0, 0});
}

TEST_CASE("logsumexp with an entry of inf is inf and entries of -inf add nothing") {
  CHECK(logsumexp(Tensor<double>{kInf, 0}).item() == kInf);
  CHECK(logsumexp(Tensor<double>{-kInf, 3}).item() == 3);
  CHECK(slopes([](const auto& x) { return logsumexp(x); }, Tensor<double>{-kInf, 3}) ==
        Doubles{0, 1});
}

// ---- errors ----------------------------------------------------------------------------------

TEST_CASE("an axis that is not there is refused in the op's name") {
  const auto x = Tensor<double>::ones({2, 3});
  const std::string high = " axis 2 of 2 axes: it must be at least -2 and below 2.";
  const std::string low = " axis -3 of 2 axes: it must be at least -2 and below 2.";
  CHECK(invalid([&] { sum(x, 2); }) == "[sum]" + high);
  CHECK(invalid([&] { mean(x, {0, 2}); }) == "[mean]" + high);
  CHECK(invalid([&] { max(x, -3); }) == "[max]" + low);
  CHECK(invalid([&] { logsumexp(x, {1, -3}); }) == "[logsumexp]" + low);
}

TEST_CASE("an axis given twice is refused in the op's name") {
  const auto x = Tensor<double>::ones({2, 3});
  const std::string rest = " axes [0, -2]: each may be given once only.";
  CHECK(invalid([&] { sum(x, {0, -2}); }) == "[sum]" + rest);
  CHECK(invalid([&] { mean(x, {0, -2}); }) == "[mean]" + rest);
  CHECK(invalid([&] { max(x, {0, -2}); }) == "[max]" + rest);
  CHECK(invalid([&] { logsumexp(x, {0, -2}); }) == "[logsumexp]" + rest);
}
