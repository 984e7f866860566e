// Memory: large buffers are recycled, and nobody sees what they held before.
#include <doctest/doctest.h>

#include <xtape/xtape.hpp>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <new>
#include <thread>
#include <vector>

#include "support/allocations.hpp"
#include "support/close.hpp"
#include "support/sanitizers.hpp"

#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace {

using namespace xtape;

// Under a sanitizer all memory goes back to the system.
#ifdef SANITIZED
constexpr bool kRecycles = false;
#else
constexpr bool kRecycles = true;
#endif

constexpr std::size_t kMiB = std::size_t{1} << 20;

Tensor<float> tensor(std::size_t bytes) {
  return Tensor<float>::full({static_cast<std::int64_t>(bytes / sizeof(float))}, 1);
}

/// An empty cache, and afterwards the limit that was.
struct FreshCache {
  FreshCache() { empty_cache(); }
  ~FreshCache() {
    set_cache_limit(limit);
    empty_cache();
  }
  std::size_t limit = cache_limit();
};

std::uintptr_t address(const Tensor<float>& x) {
  return reinterpret_cast<std::uintptr_t>(x.data());
}

// It ends after main.
const Tensor<float> kStatic = tensor(kMiB);

}  // namespace

TEST_CASE("the buffer of a tensor that ended serves the next one of its size") {
  const FreshCache cache;
  CHECK(cache_limit() == 1024 * kMiB);
  const auto first = address(tensor(kMiB));
  CHECK(cached_bytes() == (kRecycles ? kMiB : 0));
  const auto next = tensor(kMiB);
  if (kRecycles) CHECK(address(next) == first);
  CHECK(cached_bytes() == 0);
  CHECK(next.values() == std::vector<float>(kMiB / sizeof(float), 1));
}

TEST_CASE("a view keeps its tensor's buffer in use") {
  const FreshCache cache;
  auto view = slice(tensor(kMiB), 0, 0, 4);
  const auto other = tensor(kMiB) * 2;
  CHECK(view.values() == std::vector<float>(4, 1));
  view = {};
  CHECK(cached_bytes() >= (kRecycles ? kMiB : 0));
}

TEST_CASE("a buffer is at most a quarter larger than its values") {
  const FreshCache cache;
  std::size_t classes = 0, before = 0;
  for (std::size_t bytes = 4096; bytes < 20 * kMiB; bytes += bytes / 32 / 4 * 4) {
    tensor(bytes);
    const std::size_t kept = cached_bytes();
    CAPTURE(bytes);
    if (!kRecycles) continue;
    CHECK(kept >= bytes);
    CHECK(4 * kept <= 5 * bytes);
    classes += kept == before ? 0 : 1;
    before = kept;
    empty_cache();
  }
  CHECK(classes == (kRecycles ? 50 : 0));  // 12 doublings in four steps, and two more
}

TEST_CASE("values begin at a cache line, of large tensors at a page") {
  std::vector<std::size_t> sizes{4092, 4096, 4100};
  for (std::size_t bytes = 36; bytes < 3 * kMiB; bytes += bytes / 8 / 4 * 4) sizes.push_back(bytes);
  for (const std::size_t bytes : sizes) {
    const auto x = tensor(bytes), y = x + 1, z = x * y;
    for (const auto& each : {x, y, z}) {
      CAPTURE(bytes);
      CHECK(address(each) % (bytes < 4096 ? 64 : 4096) == 0);
    }
  }
}

TEST_CASE("no more is kept than the limit, and what was unused for longest goes first") {
  const FreshCache cache;
  set_cache_limit(3 * kMiB);
  CHECK(cache_limit() == 3 * kMiB);
  auto a = tensor(kMiB), b = tensor(2 * kMiB), c = tensor(kMiB), d = tensor(4 * kMiB);
  const auto of_b = address(b), of_c = address(c);
  a = {}, b = {};
  CHECK(cached_bytes() == (kRecycles ? 3 * kMiB : 0));
  c = {};  // in place of a
  CHECK(cached_bytes() == (kRecycles ? 3 * kMiB : 0));
  b = tensor(2 * kMiB), c = tensor(kMiB);
  if (kRecycles) CHECK(address(b) == of_b);
  if (kRecycles) CHECK(address(c) == of_c);
  c = {}, b = {}, d = {};  // d alone is over the limit
  CHECK(cached_bytes() == 0);

  a = tensor(kMiB), b = tensor(kMiB);
  a = {}, b = {};
  set_cache_limit(2 * kMiB - 1);
  CHECK(cached_bytes() == (kRecycles ? kMiB : 0));
  set_cache_limit(0);
  CHECK(cached_bytes() == 0);
  tensor(kMiB);
  CHECK(cached_bytes() == 0);
}

TEST_CASE("a buffer may be used again on another thread than the one it ended on") {
  const FreshCache cache;
  for (int round = 0; round < 20; ++round) {
    auto x = tensor(kMiB);
    std::thread([&] { x = {}; }).join();
    CHECK(cached_bytes() == (kRecycles ? kMiB : 0));
    std::thread([&] { x = tensor(kMiB); }).join();
    CHECK(cached_bytes() == 0);
  }
}

TEST_CASE("threads that share the cache never share a buffer") {
  const FreshCache cache;
  set_cache_limit(kMiB);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      std::vector<Tensor<double>> kept(4);
      for (int round = 0; round < 300; ++round) {
        const auto n = static_cast<std::int64_t>(500 + 37 * ((round * 7 + t) % 64));
        auto& place = kept[static_cast<std::size_t>(round % 4)];
        if (place.has_value() && sum(place).item() != static_cast<double>(place.size() * t))
          ++wrong;
        place = Tensor<double>::full({n}, t);
        if (round % 100 == 50) empty_cache();
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(cached_bytes() <= kMiB);
}

TEST_CASE("when the system has no memory left, the cache is emptied and asked again") {
  const FreshCache cache;
  const auto x = tensor(kMiB);
  tensor(8 * kMiB);
  CHECK(cached_bytes() == (kRecycles ? 8 * kMiB : 0));
  test::Allocations allocations;
  if (!allocations.fail(kMiB, 1)) return;
  CHECK((x + 1).at({0}) == 2);
  CHECK(cached_bytes() <= kMiB);  // the sum's own buffer

  empty_cache();
  allocations.fail(kMiB, 2);
  CHECK_THROWS_AS(x + 1, std::bad_alloc);
  CHECK((x + 1).at({0}) == 2);
}

TEST_CASE("no op reads memory that it did not write, in large tensors") {
  const FreshCache cache;
  Random random(3);
  const auto draw = [&](const Shape& shape) { return random.normal<float>(shape); };
  const std::vector<Tensor<float>> inputs{draw({2, 2, 40, 24}), draw({2, 2, 40, 24}),
                                          draw({2, 2, 40, 24}), draw({2, 2, 40, 24}),
                                          draw({2, 2, 40, 48}), draw({2, 1, 1})};
  const auto run = [&] {
    Tape<float> tape;
    const auto x = tape.variable(inputs);
    const auto y = differential_attention(x[0], x[1], x[2], x[3], x[4], x[5]);
    const auto z = concatenate<float>(
        {y, tril(y), exp(-square(y)), pad(slice(y, 2, 3, 40), {{0, 0}, {0, 0}, {1, 2}, {0, 0}})},
        2);
    auto results = tape.gradient(sum(square(z)), x);
    results.push_back(stop_gradient(z));
    return results;
  };
  const auto clean = run();
  detail::poison_memory(true);
  const auto poisoned = run();
  detail::poison_memory(false);
  for (std::size_t i = 0; i < clean.size(); ++i) CHECK(closeness::same_bits(poisoned[i], clean[i]));
}

TEST_CASE("memory that is handed out is overwritten when tests ask for it") {
  detail::poison_memory(true);
  auto x = tensor(kMiB);
  const float* const data = x.data();
  CHECK(x.values() == std::vector<float>(kMiB / sizeof(float), 1));
  x = {};
  if (kRecycles) CHECK(std::isnan(data[kMiB / sizeof(float) - 1]));
  detail::poison_memory(false);
}

TEST_CASE("a fused gradient has a few more copies of its operands at most, for many heads too") {
  const FreshCache cache;
  const int before = num_threads();
  set_num_threads(1);
  constexpr std::size_t operand = 16 * 512 * 16 * sizeof(float);
  {
    const auto x = Random(1).normal<float>({1, 16, 512, 16});
    grad([](const auto& v) { return sum(fused::attention(v, v, v)); })(x);
  }
  set_num_threads(before);
  // x, the value, its cotangent, three gradients and their sum, and the scratch of one thread,
  // which is as large as two more. An accumulator for each block of 64 queries would be 14 more.
  CHECK(cached_bytes() <= 14 * operand);
}

// A sanitizer's own allocator may hang in a process forked while others allocate.
#if !defined(_WIN32) && !defined(SANITIZED)
TEST_CASE("a process that forks while others allocate has a cache that works") {
  const FreshCache cache;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!stop) tensor(8192);
    });
  int good = 0;
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      const auto x = tensor(8192), y = tensor(8192);
      empty_cache();
      _exit(address(x) == address(y) || cached_bytes() > 0 ? 1 : 0);
    }
    int status = 1;
    good += waitpid(child, &status, 0) == child && status == 0 ? 1 : 0;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(good == 20);
}
#endif
