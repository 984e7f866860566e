// What stands between gradients and a step: clipping, and the rate's schedule.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/errors.hpp"
#include "support/model.hpp"
#include "support/near.hpp"

namespace {

using namespace xtape;
using test::Gradients;
using test::invalid;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE_TEMPLATE("gradients are clipped by the norm of all of them together", T, float, double) {
  const Gradients<T> before{Tensor<T>{{3, 0}, {0, 4}}, Tensor<T>(12), Tensor<T>::zeros({0, 3})};
  Gradients<T> gradients = before;
  CHECK(clip_by_global_norm(gradients, 6.5) == 13);
  CHECK(gradients[0].values() == std::vector<T>{1.5, 0, 0, 2});
  CHECK(gradients[0].shape() == Shape{2, 2});
  CHECK(gradients[1].item() == 6);
  CHECK(gradients[2].shape() == Shape{0, 3});
  CHECK(before[0].values() == std::vector<T>{3, 0, 0, 4});
  // Below the bound, or at it, nothing is touched.
  for (const double bound : {13.0, 14.0, kInf}) {
    gradients = before;
    CHECK(clip_by_global_norm(gradients, bound) == 13);
    CHECK(gradients[0].data() == before[0].data());
  }
  gradients.clear();
  CHECK(clip_by_global_norm(gradients, 1) == 0);
}

TEST_CASE("clipping is right where squares overflow, and leaves what is not finite") {
  Gradients<float> large{Tensor<float>{3e38f}, Tensor<float>{-3e38f}};
  // The floats next to 3e38, times the root of 2, and two roundings.
  CHECK(test::near(clip_by_global_norm(large, 1), 3e38 * std::sqrt(2.0), 1e-7));
  CHECK(test::near(large[0].item(), std::sqrt(0.5), 2e-7));
  Gradients<double> huge{Tensor<double>{3e200}, Tensor<double>{4e200}};
  CHECK(test::near(clip_by_global_norm(huge, 10), 5e200, 1e-15));
  CHECK(test::near(huge[0].item(), 6, 1e-15));
  for (const double wrong : {kNan, kInf}) {
    Gradients<double> gradients{Tensor<double>{3.0}, Tensor<double>{wrong}};
    CHECK(!std::isfinite(clip_by_global_norm(gradients, 1)));
    CHECK(gradients[0].item() == 3);
  }
  const auto refusal = [](double bound) {
    Gradients<double> gradients{Tensor<double>{3.0}};
    return invalid([&] { clip_by_global_norm(gradients, bound); });
  };
  const std::string text = ": a number above 0 is required.";
  CHECK(refusal(0) == "[clip_by_global_norm] max_norm 0.000000" + text);
  CHECK(refusal(-1) == "[clip_by_global_norm] max_norm -1.000000" + text);
  CHECK(refusal(kNan) == "[clip_by_global_norm] max_norm nan" + text);
}

TEST_CASE("clipped gradients stand on no tape") {
  Tensor<double> x{3, 4};
  Tape<double> tape;
  tape.watch(x);
  auto gradients = tape.gradient(sum(square(x)), std::vector<Tensor<double>>{x}, Record::yes);
  const std::int64_t lines = tape.size();
  CHECK(clip_by_global_norm(gradients, 1) == 10);
  CHECK(tape.size() == lines);
}

TEST_CASE("the rate rises to its peak in the last step of the warm-up, and falls to its floor") {
  const auto rate = [](std::int64_t step) { return warmup_cosine(step, 2, 4, 12, 0.25); };
  CHECK(rate(0) == 0.5);
  CHECK(rate(1) == 1);
  CHECK(rate(3) == 2);
  // Half way down, where the cosine is 0: (peak + floor) / 2.
  CHECK(test::near(rate(7), 1.25, 4 * test::kRounding));
  // A quarter: floor + (peak - floor) (1 + cos(pi / 4)) / 2
  CHECK(test::near(rate(5), 0.5 + 1.5 * (1 + std::sqrt(0.5)) / 2, 4 * test::kRounding));
  CHECK(rate(11) == 0.5);
  CHECK(rate(12) == 0.5);
  CHECK(rate(1000) == 0.5);
  for (std::int64_t step = 4; step < 12; ++step) CHECK(rate(step) < rate(step - 1));
}

TEST_CASE("a schedule may lack a warm-up, a fall, a floor or a peak") {
  CHECK(test::near(warmup_cosine(0, 1, 0, 2, 0), 0.5, 4 * test::kRounding));
  CHECK(warmup_cosine(1, 1, 0, 2, 0) == 0);
  CHECK(warmup_cosine(4, 1, 5, 5, 0.5) == 1);
  CHECK(warmup_cosine(5, 1, 5, 5, 0.5) == 0.5);
  for (const std::int64_t step : {2, 5, 9, 10}) CHECK(warmup_cosine(step, 3, 2, 10, 1) == 3);
  CHECK(warmup_cosine(3, 0, 2, 10, 0.5) == 0);
  CHECK(warmup_cosine(0, 1, 0, 0, 0.5) == 0.5);
}

TEST_CASE("schedules that cannot be are refused") {
  const auto refusal = [](std::int64_t step, double peak, std::int64_t warmup, std::int64_t total,
                          double floor) {
    return invalid([&] { warmup_cosine(step, peak, warmup, total, floor); });
  };
  const std::string op = "[warmup_cosine] ";
  CHECK(refusal(-1, 1, 1, 2, 0) == op + "step -1: they are counted from 0.");
  CHECK(refusal(0, kNan, 1, 2, 0) == op + "peak nan: a finite number of at least 0 is required.");
  CHECK(refusal(0, -1, 1, 2, 0) ==
        op + "peak -1.000000: a finite number of at least 0 is required.");
  const std::string warmup = " steps: a number from 0 to that of all steps is required.";
  CHECK(refusal(0, 1, -1, 2, 0) == op + "warmup -1 of 2" + warmup);
  CHECK(refusal(0, 1, 3, 2, 0) == op + "warmup 3 of 2" + warmup);
  CHECK(refusal(0, 1, 1, 2, 1.5) ==
        op + "floor_fraction 1.500000: a number from 0 to 1 is required.");
  CHECK(refusal(0, 1, 1, 2, kNan) == op + "floor_fraction nan: a number from 0 to 1 is required.");
}
