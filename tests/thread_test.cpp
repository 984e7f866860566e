// Threads: a tape each, shared constants, tapes that end elsewhere. To be run under TSan too.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include <xtape/xtape.hpp>

namespace {

using namespace xtape;
using Values = std::vector<double>;

constexpr std::size_t kThreads = 8;

/// Runs work(0) ... work(7), all at once.
template <class Work>
void at_once(Work work) {
  std::vector<std::thread> threads;
  std::atomic<std::size_t> ready{0};
  for (std::size_t i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      work(i);
    });
  for (std::thread& thread : threads) thread.join();
}

/// A small network's gradients, with the scale of its input as the only difference.
Values gradients(const Tensor<double>& x, const Tensor<double>& w, const Mask& allowed,
                 std::size_t scale) {
  Tape<double> tape;
  const auto v = tape.variable(w);
  const auto hidden = tanh(matmul(x * static_cast<double>(scale + 1), v));
  const auto weights = softmax(mask(matmul(hidden, transpose(hidden)), allowed));
  const auto loss = sum(square(matmul(weights, hidden))) + sum(split(v, {1, 3}, 0)[1]);
  const auto slope = tape.gradient(loss, v, Record::yes);
  const auto g = tape.gradient(loss + sum(slope * slope), v);
  return g.values();
}

}  // namespace

// Source: burn#5573
TEST_CASE("eight threads with a tape each and shared constants give the serial results") {
  Random random(11);
  const auto x = random.normal<double>({6, 4}), w = random.normal<double>({4, 3});
  const auto view = transpose(transpose(x));
  const auto allowed = causal_mask(6, 6);
  std::vector<Values> serial, parallel(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) serial.push_back(gradients(view, w, allowed, i));
  for (int round = 0; round < 20; ++round) {
    at_once([&](std::size_t i) { parallel[i] = gradients(view, w, allowed, i); });
    CHECK(parallel == serial);
  }
}

TEST_CASE("threads may share a constant whose tape has ended") {
  Tensor<double> old;
  {
    Tape<double> tape;
    old = exp(tape.variable(0));
  }
  // Every new tape may use the memory that the old one's place still names.
  std::vector<double> found(kThreads);
  at_once([&](std::size_t i) {
    for (int round = 0; round < 200; ++round) {
      Tape<double> tape;
      const auto v = tape.variable(static_cast<double>(i));
      found[i] += tape.gradient(v * old, v).item();
    }
  });
  CHECK(found == Values(kThreads, 200));
}

TEST_CASE("the last copy of a shared tensor may end on any thread") {
  std::vector<double> found(kThreads);
  for (int round = 0; round < 100; ++round) {
    auto shared = Tensor<double>::full({50}, round);
    std::vector<Tensor<double>> copies(kThreads, slice(shared, 0, 10, 20));
    shared = {};
    at_once([&](std::size_t i) {
      const Tensor<double> mine = std::exchange(copies[i], {});
      found[i] += sum(mine).item();
    });
  }
  CHECK(found == Values(kThreads, 10 * 4950));  // 10 (0 + 1 + ... + 99)
}

TEST_CASE("a tape may be destroyed on another thread than its own") {
  for (int round = 0; round < 50; ++round) {
    std::vector<Tape<double>> tapes(kThreads);
    std::vector<Tensor<double>> xs(kThreads), ys(kThreads);
    at_once([&](std::size_t i) {
      xs[i] = tapes[i].variable(static_cast<double>(i));
      ys[i] = grad([&](auto z) { return z * z * xs[i]; })(Tensor<double>(3));
    });
    Values found;
    for (std::size_t i = 0; i < kThreads; ++i)
      found.push_back(tapes[i].gradient(ys[i], xs[i]).item());
    CHECK(found == Values(kThreads, 6));
    at_once([&](std::size_t i) {
      const Tape<double> end = std::move(tapes[(i + 1) % kThreads]);
      xs[(i + 1) % kThreads] = {};
    });
  }
}

TEST_CASE("tapes handed from thread to thread go on where they stood") {
  Tape<double> tape;
  auto x = tape.variable(1);
  auto y = x;
  for (int i = 0; i < 8; ++i) std::thread([&] { y = y + y; }).join();
  double found = 0;
  std::thread([&] { found = std::move(tape).gradient(y, x).item(); }).join();
  CHECK(found == 256);
}

TEST_CASE("closures on eight threads do not disturb each other") {
  std::vector<double> found(kThreads);
  at_once([&](std::size_t i) {
    const auto cube = [](auto x) { return x * x * x; };
    for (int round = 0; round < 100; ++round)
      found[i] += grad(grad(cube))(Tensor<double>(static_cast<double>(i))).item();
  });
  Values expected;
  for (std::size_t i = 0; i < kThreads; ++i) expected.push_back(600 * static_cast<double>(i));
  CHECK(found == expected);
}
