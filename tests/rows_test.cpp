// Softmax, its logarithm and the cross entropy by rows, against plain loops: lengths that fill
// vectors and that do not, masks of every layout, NaN, strides, threads.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/close.hpp"

namespace {

using namespace xtape;
using closeness::error;
using closeness::same_bits;
using closeness::tolerance;
using Doubles = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// softmax of the values that `allowed` lets through; 0 for the others.
Doubles weights(const Doubles& x, const std::vector<bool>& allowed) {
  double most = -kInf, total = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (allowed[i]) most = std::fmax(most, x[i]);
  Doubles y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    if (allowed[i] && most > -kInf) total += y[i] = std::exp(x[i] - most);
  for (double& v : y) v = total > 0 ? v / total : 0;
  return y;
}

/// y (g - sum g y)
Doubles slopes(const Doubles& y, const Doubles& g) {
  double total = 0;
  for (std::size_t i = 0; i < y.size(); ++i) total += g[i] * y[i];
  Doubles dx(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) dx[i] = y[i] * (g[i] - total);
  return dx;
}

template <class T>
Doubles numbers(const Tensor<T>& x) {
  return cast<double>(x).values();
}

/// The largest difference: where a weight is nearly 1, slopes are differences of far larger terms.
template <class T>
double distance(const Tensor<T>& found, const Doubles& expected) {
  double largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    largest = std::fmax(largest, std::abs(numbers(found)[i] - expected[i]));
  return largest;
}

}  // namespace

TEST_CASE_TEMPLATE("rows of every length up to 100 are those of a plain loop", T, float, double) {
  const double close = tolerance<T>() / 10;
  for (std::int64_t n = 1; n <= 100; ++n) {
    CAPTURE(n);
    const auto size = static_cast<std::size_t>(n);
    Random random(static_cast<std::uint64_t>(n));
    const auto x = 3 * random.normal<T>({n}), g = random.normal<T>({n});
    std::vector<bool> all(size, true), some(size);
    for (std::size_t i = 0; i < size; ++i) some[i] = i % 3 != 1;
    for (const auto& allowed : {all, some}) {
      const Mask mask({n}, allowed);
      const auto [y, dx] = vjp([&](const auto& v) { return softmax(v, mask); }, x, g);
      const Doubles expected = weights(numbers(x), allowed);
      CHECK(error(y.values(), expected) <= close);
      CHECK(distance(dx, slopes(expected, numbers(g))) <= close);
    }
    const Doubles y = weights(numbers(x), all);
    Doubles logs, dlogs, loss(1), dloss;
    const double total = sum(cast<double>(g)).item();
    const std::size_t target = size / 2;
    for (std::size_t i = 0; i < size; ++i) {
      logs.push_back(std::log(y[i]));
      dlogs.push_back(numbers(g)[i] - total * y[i]);
      dloss.push_back(y[i] - (i == target ? 1 : 0));
    }
    loss[0] = -logs[target];
    const auto [found, dfound] = vjp([](const auto& v) { return log_softmax(v); }, x, g);
    CHECK(error(found.values(), logs) <= close);
    CHECK(error(dfound.values(), dlogs) <= close);
    const Index targets({}, {n / 2});
    const auto [mean, dmean] =
        value_and_grad([&](const auto& v) { return cross_entropy(v, targets); })(x);
    if (n > 1) {
      CHECK(error(mean.values(), loss) <= close);
      CHECK(error(dmean.values(), dloss) <= close);
    }
  }
}

TEST_CASE_TEMPLATE("softmax with a mask has the bits of softmax of the masked", T, float, double) {
  const auto x = Random(3).normal<T>({4, 3, 19}), g = Random(4).normal<T>({4, 3, 19});
  const Mask full = Random(5).normal<T>({4, 3, 19}) > 0;
  const Mask masks[] = {full,
                        Random(6).normal<T>({19}) > 0,
                        Random(7).normal<T>({3, 1}) > 0,
                        Random(8).normal<T>({4, 1, 19}) > 0,
                        Mask(true),
                        Mask(false),
                        !causal_mask(3, 19)};
  for (const Mask& mask_ : masks)
    for (const std::int64_t axis : {0, 1, 2}) {
      const auto one = [&](const auto& v) { return softmax(v, mask_, axis); };
      const auto two = [&](const auto& v) { return softmax(mask(v, mask_), axis); };
      const auto [y, dx] = vjp(one, x, g);
      const auto [z, dz] = vjp(two, x, g);
      CHECK(same_bits(y, z));
      CHECK(error(dx.values(), numbers(dz)) <= 1e-7);
      // Recorded, the gradient is composed: it must say the same.
      Tape<T> tape;
      const auto v = tape.variable(x);
      const auto recorded = tape.vjp(one(v), g, v, Record::yes);
      CHECK(error(recorded.values(), numbers(dx)) <= tolerance<T>());
    }
}

TEST_CASE_TEMPLATE("strided rows have the bits of their copies", T, float, double) {
  const auto all = Random(9).normal<T>({21, 37, 2});
  const auto x = squeeze(slice(all, 2, 1, 2), {2}), g = transpose(Random(10).normal<T>({37, 21}));
  const Mask allowed = x > T(-0.5);
  for (const std::int64_t axis : {0, 1})
    for (const auto& [a, b] :
         {std::pair(x, contiguous(x)),
          std::pair(slice(x, 1, 0, 37, 2), contiguous(slice(x, 1, 0, 37, 2)))}) {
      CHECK(same_bits(softmax(a, axis), softmax(b, axis)));
      CHECK(same_bits(log_softmax(a, axis), log_softmax(b, axis)));
      CHECK(same_bits(transpose(softmax(transpose(a), 1 - axis)), softmax(b, axis)));
    }
  const auto f = [&](const auto& v) { return softmax(v, allowed); };
  const auto h = [](const auto& v) { return log_softmax(v); };
  CHECK(same_bits(vjp(f, x, g).second, vjp(f, contiguous(x), contiguous(g)).second));
  CHECK(same_bits(vjp(h, x, g).second, vjp(h, contiguous(x), contiguous(g)).second));
  std::vector<std::int64_t> targets;
  for (std::int64_t i = 0; i < 21; ++i) targets.push_back(i);
  const auto loss = [&](const auto& v) { return cross_entropy(v, Index({21}, targets)); };
  const auto [y, dx] = value_and_grad(loss)(x);
  const auto [z, dz] = value_and_grad(loss)(contiguous(x));
  CHECK(same_bits(y, z));
  CHECK(same_bits(dx, dz));
}

TEST_CASE("NaN in a row is NaN in all of it at any place and in no other row") {
  for (const std::int64_t n : {1, 7, 16, 40})
    for (std::int64_t at = 0; at < n; ++at)
      for (const double rest : {1.0, -kInf}) {
        const auto bad = Tensor<float>::arange(0, double(3 * n));
        const auto place = equal(bad, static_cast<double>(n + at));
        const auto middle = (bad >= double(n)) & (bad < double(2 * n));
        const auto x = reshape(where(place, kNan, where(middle, rest, Tensor<float>(0))), {3, n});
        for (const auto& y : {softmax(x), exp(log_softmax(x))}) {
          const std::vector<float> values = y.values();
          for (std::size_t i = 0; i < values.size(); ++i) {
            const bool second = i / static_cast<std::size_t>(n) == 1;
            if (!second) CHECK(values[i] == doctest::Approx(1 / double(n)).epsilon(1e-6));
          }
          CHECK(std::isnan(y.at({1, at})));
        }
        CHECK(std::isnan(softmax(x).at({1, n - 1})));
      }
}

TEST_CASE("rows have the same bits for any number of threads") {
  const auto x = Random(11).normal<float>({501, 333});
  const Mask allowed = causal_mask(501, 333);
  std::vector<std::int64_t> targets;
  for (std::int64_t i = 0; i < 501; ++i) targets.push_back(i % 333);
  const auto run = [&](int threads) {
    set_num_threads(threads);
    Tape<float> tape;
    const auto v = tape.variable(x);
    const auto y =
        sum(softmax(v, allowed) * log_softmax(v, 0)) + cross_entropy(v, Index({501}, targets));
    return tape.gradient(y, v);
  };
  const int before = num_threads();
  const auto one = run(1);
  for (const int threads : {2, 3, 7}) CHECK(same_bits(run(threads), one));
  set_num_threads(before);
}

TEST_CASE("softmax with a mask is one line of the tape") {
  Tape<double> tape;
  const auto v = tape.variable(Tensor<double>{1, 2});
  softmax(v, Mask{true, false});
  CHECK(tape.size() == 2);
  CHECK(std::string(tape.node(1).op) == "softmax");
}
