// Random numbers: the published sequence, the quantile function, moments, and states.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/errors.hpp"
#include "support/near.hpp"

namespace {

using namespace xtape;
using test::invalid;
using test::near;
using Values = std::vector<double>;

/// SplitMix64's first outputs for seed 1234567, as published with its C code (and in Rosetta Code).
constexpr std::uint64_t kSeed = 1234567;
constexpr std::array<std::uint64_t, 5> kPublished{6457827717110365317u, 3203168211198807973u,
                                                  9817491932198370423u, 4593380528125082431u,
                                                  16408922859458223821u};

/// Mean and variance of many draws.
struct Moments {
  double mean;
  double variance;
};
Moments moments_of(const Values& values) {
  double total = 0, squares = 0;
  for (double v : values) total += v;
  const double n = static_cast<double>(values.size());
  for (double v : values) squares += (v - total / n) * (v - total / n);
  return {total / n, squares / (n - 1)};
}

}  // namespace

TEST_CASE("uniform draws are the first 53 bits of the published sequence") {
  Random random(kSeed);
  for (const std::uint64_t published : kPublished)
    CHECK(random.uniform() == std::ldexp(static_cast<double>(published >> 11), -53));
}

TEST_CASE("normal draws are quantiles of the published sequence") {
  // With u the draw: the quantile of (u / 2^12 (whole part) + 1/2) / 2^52, by mpmath's erfinv with
  // 50 digits.
  constexpr std::array<double, 5> expected{-0.3851057284348680576664, -0.9398623079942610250195,
                                           0.08081963600853462407195, -0.6776158169519009520234,
                                           1.224029713274107644449};
  Random random(kSeed);
  for (const double quantile : expected) CHECK(near(random.normal(), quantile, 1e-15));
}

TEST_CASE("the normal quantile is right to 15 digits from one end to the other") {
  // Seeds whose first draw is a chosen number (SplitMix64 is invertible); quantiles as above.
  struct Point {
    std::uint64_t seed;
    double quantile;
  };
  constexpr std::array<Point, 14> points{{
      {7046029254386353131u, -8.209536151601386855630769},     // draw 0, the lower end
      {3558559446808474027u, 8.209536151601386855630769},      // draw 2^64 - 1, the upper end
      {3453682501520545093u, 2.782916424671766922233923e-16},  // just above the middle
      {959135552437182909u, -2.782916424671766922233923e-16},  // just below it
      {17053190367817716443u, -4.819782639768913473976354},
      {5792515581712373231u, -0.8871465590188756442071384},
      {11985817059941878645u, -5.294704084514203723340461},
      {3285567352801800165u, -3.487104104112606878988516},
      {13678892140122933987u, 7.207793869219245107386979},
      {1209374096185482543u, -1.445072579818073631989151},
      {14558188110271022338u, -1.439531470938455444760602},  // where the middle formula ends
      {3557960943230520683u, 1.439531470938455444760602},
      {10964275327657895953u, -2.660067468617469231078304},
      {13875366744009893848u, -5.356811741471805149291868},
  }};
  for (const Point& point : points) {
    CAPTURE(point.seed);
    CHECK(near(Random(point.seed).normal(), point.quantile, 1e-15));
  }
}

TEST_CASE("random tensors hold the draws in row-major order") {
  Random tensors(kSeed), draws(kSeed);
  const auto x = tensors.normal<double>({2, 2}, 10, 4);
  const auto y = tensors.uniform<double>({3}, -1, 1);
  const auto z = tensors.normal<float>({2}, 1, 0.5);
  CHECK(x.shape() == Shape{2, 2});
  for (const double v : x.values()) CHECK(v == 10 + 4 * draws.normal());
  for (const double v : y.values()) CHECK(v == -1 + 2 * draws.uniform());
  for (const float v : z.values()) CHECK(v == static_cast<float>(1 + 0.5 * draws.normal()));
  CHECK(tensors.state() == draws.state());
  CHECK(tensors.normal<float>({0, 3}).shape() == Shape{0, 3});
  CHECK(tensors.normal<float>({}).shape() == Shape{});
}

TEST_CASE("floats and doubles are drawn from the same sequence") {
  const auto wide = Random(5).normal<double>({100});
  const auto narrow = Random(5).normal<float>({100});
  CHECK(narrow.values() == cast<float>(wide).values());
}

TEST_CASE("a generator goes on from its state") {
  Random random(42);
  random.normal<double>({7});
  Random copy(random.state());
  const auto rest = random.normal<double>({5});
  CHECK(copy.normal<double>({5}).values() == rest.values());
  CHECK(copy.state() == random.state());
  // Each draw adds the golden ratio to the state: 1234567 + 5 * 0x9e3779b97f4a7c15 mod 2^64.
  Random counted(kSeed);
  for (int i = 0; i < 5; ++i) counted.uniform();
  CHECK(counted.state() == kSeed + 5 * 0x9e3779b97f4a7c15u);
}

TEST_CASE("equal seeds give equal numbers and others do not") {
  CHECK(Random(1).normal<double>({10}).values() == Random(1).normal<double>({10}).values());
  CHECK(Random(1).normal<double>({10}).values() != Random(2).normal<double>({10}).values());
}

TEST_CASE("uniform draws have the mean and the variance of their interval") {
  Random random(2024);
  const Values values = random.uniform<double>({100000}, 2, 5).values();
  const Moments m = moments_of(values);
  // Mean 3.5 and variance 9/12. Five standard errors: 5 sqrt(0.75 / n), and, with the fourth moment
  // 81/80, 5 sqrt((81/80 - 9/16) / n).
  CHECK(std::abs(m.mean - 3.5) < 0.0137);
  CHECK(std::abs(m.variance - 0.75) < 0.0107);
  for (const double v : values) REQUIRE((v >= 2 && v < 5));
}

TEST_CASE("normal draws have the mean and the deviation that were asked for") {
  Random random(2024);
  const Moments m = moments_of(random.normal<double>({100000}, -1, 2).values());
  // Five standard errors: 5 * 2 / sqrt(n) and 5 * 4 sqrt(2 / n).
  CHECK(std::abs(m.mean + 1) < 0.0317);
  CHECK(std::abs(m.variance - 4) < 0.0895);
}

TEST_CASE("draws without a spread are all the mean") {
  CHECK(Random(1).normal<double>({3}, 5, 0).values() == std::vector<double>{5, 5, 5});
  CHECK(Random(1).uniform<double>({3}, 5, 5).values() == std::vector<double>{5, 5, 5});
}

TEST_CASE("normal draws fall into equal parts of the distribution equally often") {
  Random random(7);
  const std::array<double, 3> quartiles{-0.6744897501960817, 0, 0.6744897501960817};
  std::array<int, 4> counts{};
  for (int i = 0; i < 40000; ++i) {
    const double v = random.normal();
    std::size_t part = 0;
    while (part < 3 && v >= quartiles[part]) ++part;
    ++counts[part];
  }
  for (const int n : counts) CHECK(std::abs(n - 10000) < 433);  // 5 sqrt(n p (1 - p))
}

TEST_CASE("whole draws are the remainder of the sequence") {
  Random random(kSeed);
  for (const std::uint64_t published : kPublished)
    CHECK(random.below(10) == static_cast<std::int64_t>(published % 10));
  // The first draw of this seed is 0, in the surplus 2^64 mod 10 = 6 that is drawn again. The
  // second is 16294208416658607535.
  CHECK(Random(7046029254386353131u).below(10) == 5);
  CHECK(Random(kSeed).below(1) == 0);
}

TEST_CASE("whole draws are equally likely also for huge ranges") {
  // 2^64 holds 3 * 2^61 two times and two thirds: without drawing again the upper third would come
  // twice where each of the others comes three times.
  Random random(3);
  const std::int64_t count = std::int64_t{3} << 61;
  std::array<int, 3> thirds{};
  for (int i = 0; i < 30000; ++i) {
    const std::int64_t draw = random.below(count);
    REQUIRE((draw >= 0 && draw < count));
    ++thirds[static_cast<std::size_t>(draw >> 61)];
  }
  for (const int n : thirds) CHECK(std::abs(n - 10000) < 409);  // 5 sqrt(n p (1 - p))
}

TEST_CASE("random tensors refuse impossible parameters") {
  Random random(1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(invalid([&] { random.below(0); }) == "[below] count 0: at least 1 is required.");
  CHECK(invalid([&] { random.below(-5); }) == "[below] count -5: at least 1 is required.");
  CHECK(invalid([&] { random.normal<double>({1}, 0, -1); }) ==
        "[normal] deviation -1.000000: it must not be negative.");
  CHECK(invalid([&] { random.normal<float>({1}, 0, nan); }) ==
        "[normal] deviation nan: it must not be negative.");
  CHECK(invalid([&] { random.uniform<double>({1}, 2, 1); }) ==
        "[uniform] from 2.000000 to 1.000000: low must not be above high.");
  CHECK(invalid([&] { random.normal<double>({-1}); }) ==
        "[normal] shape [-1]: no length may be negative.");
  CHECK(invalid([&] { random.uniform<double>({-1}); }) ==
        "[uniform] shape [-1]: no length may be negative.");
  CHECK(random.state() == 1);  // nothing was drawn
}
