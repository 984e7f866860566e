// Softmax and losses at the edges: huge logits, rows with nothing allowed, NaN, and their errors.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/close.hpp"
#include "support/errors.hpp"

namespace {

using namespace xtape;
using closeness::error;
using test::invalid;
using Doubles = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const Doubles kPair{1 / (1 + std::exp(-1.0)), 1 / (1 + std::exp(1.0))};  // softmax of [x, x - 1]

}  // namespace

// ---- softmax ---------------------------------------------------------------------------------

// Source: TF#11756
TEST_CASE("softmax gives equal weights to equal logits and none to -inf") {
  const Tensor<double> x{4, -kInf, 4, 4, 4};
  CHECK(softmax(x).values() == Doubles{0.25, 0, 0.25, 0.25, 0.25});
  const Tensor<double> third{0, 0, 1, 0, 0};
  CHECK(vjp([](const auto& v) { return softmax(v); }, x, third).second.values() ==
        Doubles{-0.0625, 0, 0.1875, -0.0625, -0.0625});
}

// Source: lattice#374, flashinfer#4401
TEST_CASE("softmax is exact for logits of any size") {
  for (const double top : {-20000.0, 1e4, -1e4, 1e8, -1e8})
    CHECK(error(softmax(Tensor<double>{top, top - 1}).values(), kPair) <= 1e-15);
  CHECK(error(softmax(Tensor<float>{-20000, -20001}).values(), kPair) <= 1e-7);
  CHECK(error(softmax(Tensor<float>{1e4, 1e4 - 1}).values(), kPair) <= 1e-7);
  // Floats of 1e8 lie 8 apart.
  CHECK(error(softmax(Tensor<float>{1e8, 1e8 - 8}).values(),
              {1 / (1 + std::exp(-8.0)), 1 / (1 + std::exp(8.0))}) <= 1e-7);
  CHECK(softmax(Tensor<double>{1e308, -1e308}).values() == Doubles{1, 0});
}

// Source: MLX#1467
TEST_CASE_TEMPLATE("softmax of a row with nothing allowed is zeros with gradient zeros", T, float,
                   double) {
  for (const std::int64_t n : {1, 2, 127, 128}) {
    const auto x = Tensor<T>::full({n}, -kInf);
    const std::vector<T> zeros(static_cast<std::size_t>(n));
    CHECK(softmax(x).values() == zeros);
    CHECK(vjp([](const auto& v) { return softmax(v); }, x, Tensor<T>::arange(0, double(n)))
              .second.values() == zeros);
  }
}

TEST_CASE("a row with nothing allowed leaves the other rows alone") {
  const Tensor<double> x{{-kInf, -kInf}, {3, 2}};
  const auto f = [](const auto& v) { return softmax(v); };
  const auto [y, dx] = vjp(f, x, Tensor<double>{{1, 2}, {1, 0}});
  CHECK(error(y.values(), {0, 0, kPair[0], kPair[1]}) <= 1e-15);
  const double slope = kPair[0] * kPair[1];
  CHECK(error(dx.values(), {0, 0, slope, -slope}) <= 1e-15);
}

TEST_CASE("softmax along an axis is softmax of each line along it") {
  const auto x = Random(2).normal<double>({3, 4, 2});
  const auto y = softmax(x, 1);
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 2; ++j) {
      const auto line = [&](const auto& v) {
        return squeeze(slice(slice(v, 0, i, i + 1), 2, j, j + 1), {0, 2});
      };
      CHECK(closeness::same_bits(softmax(line(x)), contiguous(line(y))));
    }
}

TEST_CASE("the weights of softmax sum to one whatever their number") {
  for (const std::int64_t n : {1, 10, 1000, 100000}) {
    const auto x = Random(1).normal<float>({n}, 0, 3);
    CHECK(sum(softmax(x)).item() == doctest::Approx(1).epsilon(1e-6));  // n roundings of 6e-8 w_i
  }
}

TEST_CASE("NaN and +inf make their row NaN and no other") {
  for (const double bad : {kNan, kInf}) {
    const Tensor<double> x{{1, bad}, {3, 2}};
    for (const auto& y : {softmax(x), exp(log_softmax(x))}) {
      CHECK(std::isnan(y.at({0, 1})));
      CHECK(error(Doubles{y.at({1, 0}), y.at({1, 1})}, kPair) <= 1e-15);
    }
  }
  const Doubles y = softmax(Tensor<double>{kNan, 1, -kInf}).values();
  for (const double v : y) CHECK(std::isnan(v));
}

// ---- masked softmax --------------------------------------------------------------------------

TEST_CASE("NaN and infinity in masked logits change neither weights nor gradients") {
  const Mask allowed{true, false, true, false};
  const auto f = [&](const auto& x) { return softmax(x, allowed); };
  const Tensor<double> seed{1, 2, 0, 3};
  for (const double bad : {kNan, kInf, -kInf, 1e300, 7.0}) {
    const auto [y, dx] = vjp(f, Tensor<double>{3, bad, 2, bad}, seed);
    CHECK(error(y.values(), {kPair[0], 0, kPair[1], 0}) <= 1e-15);
    const double slope = kPair[0] * kPair[1];  // of seed [1, 0] among the two
    CHECK(error(dx.values(), {slope, 0, -slope, 0}) <= 1e-15);
    const auto h =
        hessian([&](const auto& x) { return sum(f(x) * seed); }, Tensor<double>{3, bad, 2, bad});
    const double curve = slope * (kPair[1] - kPair[0]);  // d(y0 y1)/dx0
    CHECK(error(h.values(), {curve, 0, -curve, 0, 0, 0, 0, 0, -curve, 0, curve, 0, 0, 0, 0, 0}) <=
          1e-14);
  }
}

TEST_CASE_TEMPLATE("masked softmax has one rule at lengths 127 and 128 for none, one and all", T,
                   float, double) {
  for (const std::int64_t n : {127, 128}) {
    const auto size = static_cast<std::size_t>(n);
    const auto x = Tensor<T>::full({n}, 5);
    std::vector<bool> only(size);
    only[size - 1] = true;
    std::vector<T> last(size);
    last[size - 1] = 1;
    CHECK(softmax(x, Mask({n}, std::vector<bool>(size))).values() == std::vector<T>(size));
    CHECK(softmax(x, Mask({n}, only)).values() == last);
    const Mask all({n}, std::vector<bool>(size, true));
    CHECK(closeness::same_bits(softmax(x, all), softmax(x)));
    CHECK(error(softmax(x, all).values(), Doubles(size, 1 / static_cast<double>(n))) <= 1e-7);
  }
}

TEST_CASE("rows with nothing visible are zeros with gradient zeros beside rows with something") {
  const Tensor<double> x{{kNan, kInf}, {3, 2}};
  const Mask allowed({2, 1}, {false, true});
  const auto f = [&](const auto& v) { return softmax(v, allowed); };
  const auto [y, dx] = vjp(f, x, Tensor<double>{{1, 2}, {1, 0}});
  CHECK(error(y.values(), {0, 0, kPair[0], kPair[1]}) <= 1e-15);
  const double slope = kPair[0] * kPair[1];
  CHECK(error(dx.values(), {0, 0, slope, -slope}) <= 1e-15);
}

TEST_CASE("the axis of masked softmax is that of its weights' sum") {
  const Tensor<double> x{{3, 1}, {2, 1}, {9, 1}};
  const Mask allowed({3, 1}, {true, true, false});
  CHECK(error(softmax(x, allowed, 0).values(), {kPair[0], 0.5, kPair[1], 0.5, 0, 0}) <= 1e-15);
}

TEST_CASE("masked softmax refuses masks that do not broadcast to its logits and unknown axes") {
  const auto x = Tensor<double>::ones({2, 3});
  CHECK(invalid([&] {
          softmax(x, Mask{true, false});
        }) == "[softmax] a mask of shape [2] for x of shape [2, 3]: it must broadcast to x.");
  CHECK(invalid([&] { softmax(x, Mask(true), 2); }) ==
        "[softmax] axis 2 of 2 axes: it must be at least -2 and below 2.");
}

// ---- mean squared error ----------------------------------------------------------------------

TEST_CASE("the mean squared error has the gradient of its formula for both") {
  const Tensor<double> p{{1, 2}, {3, 4}}, t{{1, 0}, {0, 0}};
  CHECK(mse(p, t).item() == (0 + 4 + 9 + 16) / 4.0);
  const auto g = grad([](const auto& a, const auto& b) { return mse(a, b); })(p, t);
  CHECK(g[0].values() == Doubles{0, 1, 1.5, 2});
  CHECK(g[1].values() == Doubles{0, -1, -1.5, -2});
  CHECK(mse(Tensor<double>(3), 1).item() == 4);  // a number for a target of shape []
}

TEST_CASE("mse refuses shapes that would broadcast, and nothing") {
  const auto text = [](const Shape& p, const Shape& t) {
    return invalid([&] { mse(Tensor<double>::ones(p), Tensor<double>::ones(t)); });
  };
  CHECK(text({3, 1}, {3}) ==
        "[mse] a prediction of shape [3, 1] for a target of shape [3]: the shapes must be equal.");
  CHECK(text({1}, {}) ==
        "[mse] a prediction of shape [1] for a target of shape []: the shapes must be equal.");
  CHECK(text({2, 0}, {2, 0}) == "[mse] shape [2, 0]: there is nothing to take the mean of.");
}

// ---- log_softmax -----------------------------------------------------------------------------

TEST_CASE("log_softmax keeps its digits where softmax is 0") {
  CHECK(softmax(Tensor<double>{0, -1000}).values() == Doubles{1, 0});
  CHECK(log_softmax(Tensor<double>{0, -1000}).values() == Doubles{0, -1000});
  CHECK(log_softmax(Tensor<float>{1e4, 0}).values() == std::vector<float>{0, -1e4});
}

TEST_CASE("log_softmax is exact for logits of any size") {
  const Doubles pair{-std::log1p(std::exp(-1.0)), -1 - std::log1p(std::exp(-1.0))};
  for (const double top : {0.0, 1e4, -1e4, 1e8, -1e8}) {
    CHECK(error(log_softmax(Tensor<double>{top, top - 1}).values(), pair) <= 1e-15);
    CHECK(error(log_softmax(Tensor<float>{top, top}).values(), {-std::log(2.0), -std::log(2.0)}) <=
          1e-7);
  }
  CHECK(error(log_softmax(Tensor<float>{1e4, 1e4 - 1}).values(), pair) <= 1e-7);
}

TEST_CASE("log_softmax is -inf where nothing is allowed with gradient 0") {
  const auto f = [](const auto& v) { return log_softmax(v); };
  const Tensor<double> g{1, 2};
  CHECK(f(Tensor<double>{-kInf, -kInf}).values() == Doubles{-kInf, -kInf});
  CHECK(vjp(f, Tensor<double>{-kInf, -kInf}, g).second.values() == Doubles{0, 0});
  CHECK(f(Tensor<double>{-kInf, 5}).values() == Doubles{-kInf, 0});
  CHECK(vjp(f, Tensor<double>{-kInf, 5}, g).second.values() == Doubles{0, 0});
}

// ---- cross_entropy ---------------------------------------------------------------------------

TEST_CASE("the cross entropy of equal logits is the logarithm of their number") {
  CHECK(cross_entropy(Tensor<double>::zeros({2, 3, 7}), Index({2, 3}, {0, 1, 2, 3, 4, 5})).item() ==
        doctest::Approx(std::log(7.0)).epsilon(1e-15));
  CHECK(cross_entropy(Tensor<double>::zeros({4}), Tensor<double>{0.1, 0.2, 0.3, 0.4}).item() ==
        doctest::Approx(std::log(4.0)).epsilon(1e-15));
}

TEST_CASE("the cross entropy of a target is its weight's negative logarithm for any logits") {
  const Tensor<double> x{1e4, 0};
  CHECK(cross_entropy(x, Index({}, {1})).item() == 1e4);
  CHECK(cross_entropy(x, Index({}, {0})).item() == 0);
  const auto f = [](const auto& v) { return cross_entropy(v, Index({}, {1})); };
  CHECK(grad(f)(x).values() == Doubles{1, -1});
}

TEST_CASE("cross entropy is exact for logits of any size") {
  for (const double top : {0.0, 1e4, -1e4, 1e8, -1e8}) {
    const Tensor<float> x{top, top};
    CHECK(cross_entropy(x, Index({}, {0})).item() == doctest::Approx(std::log(2.0)).epsilon(1e-7));
    CHECK(cross_entropy(x, Tensor<float>{0.5, 0.5}).item() ==
          doctest::Approx(std::log(2.0)).epsilon(1e-7));
    const auto f = [](const auto& v) { return cross_entropy(v, Index({}, {0})); };
    CHECK(grad(f)(x).values() == std::vector<float>{-0.5, 0.5});
  }
}

TEST_CASE("second derivatives of the losses are 0 where nothing is allowed") {
  const Tensor<double> none{-kInf, -kInf}, v{1, 2};
  CHECK(hvp([](const auto& x) { return sum(square(softmax(x))); }, none, v).values() ==
        Doubles{0, 0});
  const auto finite = [](const auto& x) {
    return sum(where(x > -kInf, square(log_softmax(x)), 0));
  };
  CHECK(hvp(finite, none, v).values() == Doubles{0, 0});
  CHECK(hvp(
            [](const auto& x) {
              return cross_entropy(x, Tensor<double>{0, 1});
            },
            Tensor<double>{-kInf, 0}, v)
            .values() == Doubles{0, 0});
}

// Source: optax#896
TEST_CASE("a class without probability adds nothing whatever its logit") {
  const Tensor<double> x{-kInf, 0}, p{0, 1};
  const auto f = [&](const auto& v) { return cross_entropy(v, p); };
  CHECK(f(x).item() == 0);
  CHECK(grad(f)(x).values() == Doubles{0, 0});
  CHECK(cross_entropy(x, Index({}, {1})).item() == 0);
  CHECK(cross_entropy(x, Tensor<double>{1, 0}).item() == kInf);
  CHECK(cross_entropy(x, Index({}, {0})).item() == kInf);
}

TEST_CASE("cross entropy with targets is that with their distribution in value and gradient") {
  const auto x = Random(8).normal<double>({3, 4});
  const Tensor<double> p{{0, 0, 1, 0}, {1, 0, 0, 0}, {0, 0, 1, 0}};
  const auto by_target = [](const auto& v) { return cross_entropy(v, Index{2, 0, 2}); };
  const auto by_distribution = [&](const auto& v) { return cross_entropy(v, p); };
  CHECK(error(by_target(x).values(), by_distribution(x).values()) <= 1e-15);
  CHECK(error(grad(by_target)(x).values(), grad(by_distribution)(x).values()) <= 1e-15);
}

TEST_CASE("NaN in a logit is NaN in the cross entropy") {
  const Tensor<double> x{kNan, 1};
  CHECK(std::isnan(cross_entropy(x, Index({}, {1})).item()));
  CHECK(std::isnan(cross_entropy(x, Tensor<double>{0.5, 0.5}).item()));
}

// ---- errors ----------------------------------------------------------------------------------

TEST_CASE("softmax and log_softmax refuse an axis that is not there") {
  const auto x = Tensor<double>::ones({2, 3});
  const std::string rest = " axis 2 of 2 axes: it must be at least -2 and below 2.";
  CHECK(invalid([&] { softmax(x, 2); }) == "[softmax]" + rest);
  CHECK(invalid([&] { log_softmax(x, 2); }) == "[log_softmax]" + rest);
}

TEST_CASE("cross_entropy refuses logits without positions or classes") {
  const std::string rest = ": [..., classes] with at least one position and one class is required.";
  const auto text = [](const Shape& logits, const Shape& targets) {
    return invalid([&] { cross_entropy(Tensor<double>::zeros(logits), Index(targets, {})); });
  };
  CHECK(text({0, 3}, {0}) == "[cross_entropy] logits of shape [0, 3]" + rest);
  CHECK(text({2, 0}, {0}) == "[cross_entropy] logits of shape [2, 0]" + rest);
  CHECK(text({}, {0}) == "[cross_entropy] logits of shape []" + rest);
  const auto none = Tensor<double>::zeros({0, 3});
  CHECK(invalid([&] { cross_entropy(none, none); }) ==
        "[cross_entropy] logits of shape [0, 3]" + rest);
}

TEST_CASE("cross_entropy refuses targets and probabilities of other shapes") {
  const auto x = Tensor<double>::ones({2, 3});
  CHECK(invalid([&] {
          cross_entropy(x, Index{0, 1, 2});
        }) ==
        "[cross_entropy] targets of shape [3] for logits of shape [2, 3]: they must have the "
        "logits' shape without its last axis.");
  CHECK(invalid([&] { cross_entropy(x, Tensor<double>::ones({3})); }) ==
        "[cross_entropy] probabilities of shape [3] for logits of shape [2, 3]: the shapes must be "
        "equal.");
}

TEST_CASE("cross_entropy refuses targets that are no class") {
  const auto x = Tensor<double>::ones({2, 3});
  const std::string rest = " of 3 classes: it must be at least 0 and below their number.";
  CHECK(invalid([&] { cross_entropy(x, Index{0, 3}); }) == "[cross_entropy] target 3" + rest);
  CHECK(invalid([&] { cross_entropy(x, Index{-1, 0}); }) == "[cross_entropy] target -1" + rest);
}
