// The fused attention of every table that this processor can run, against the plain one.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "dispatch.hpp"
#include "kernel_tables.hpp"

namespace {

using namespace xtape::detail;

std::mt19937 random_bits(11);  // the same numbers everywhere

std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_bits()) % n; }

template <class T>
std::vector<T> draw(std::int64_t n) {
  std::vector<T> values(static_cast<std::size_t>(n));
  for (T& x : values) x = static_cast<T>(static_cast<double>(random_bits()) / 1e9 - 2);
  return values;
}

/// A head with random operands, and what the kernels make of it: out, dq, dk, dvalue, dcoefficient.
template <class T>
struct Case {
  std::int64_t queries = 1 + below(90), keys = below(150), depth = 1 + below(40), width = below(50);
  int maps = 1 + static_cast<int>(below(2));
  bool causal = below(2) == 0;
  std::vector<T> q = draw<T>(2 * queries * depth), k = draw<T>(2 * keys * depth);
  std::vector<T> value = draw<T>(keys * width), g = draw<T>(queries * width);
  std::vector<T> coefficient = draw<T>(queries);
  std::unique_ptr<bool[]> allowed{new bool[static_cast<std::size_t>(queries * keys + 1)]};

  Case() {
    std::generate_n(allowed.get(), queries * keys, [] { return below(3) != 0; });
  }

  std::array<std::vector<T>, 5> run(const Kernels<T>& kernels) const {
    const auto zeros = [](std::int64_t n) { return std::vector<T>(static_cast<std::size_t>(n)); };
    std::array<std::vector<T>, 5> result{zeros(queries * width), zeros(2 * queries * depth),
                                         zeros(2 * keys * depth), zeros(keys * width)};
    std::vector<T> stats = zeros(4 * queries);
    std::vector<double> by_query(static_cast<std::size_t>(queries));
    Head<T> head{};
    head.queries = queries;
    head.keys = keys;
    head.depth = depth;
    head.width = width;
    head.maps = maps;
    for (int i = 0; i < maps; ++i) {
      head.q[i] = {q.data() + i * queries * depth, depth, 1};
      head.k[i] = {k.data() + i, 2 * depth, 2};  // every other column of twice as many
      head.dq[i] = result[1].data() + i * queries * depth;
      head.dk[i] = result[2].data() + i * keys * depth;
    }
    head.value = {value.data(), 1, keys};
    head.g = {g.data(), width, 1};
    head.coefficient = coefficient.data();
    head.coefficient_step = 1;
    head.causal = causal;
    head.allowed = causal ? nullptr : allowed.get();
    head.allowed_row = keys;
    head.allowed_column = 1;
    head.out = result[0].data();
    head.stats = stats.data();
    head.dvalue = result[3].data();
    head.dcoefficient = by_query.data();
    std::vector<T> scratch = zeros(attention_scratch(head, true));
    const std::int64_t half = queries / 2 / kAttentionRows * kAttentionRows;
    kernels.attention(head, 0, queries, scratch.data());
    kernels.attention_gradient(head, 0, half, scratch.data());
    kernels.attention_gradient(head, half, queries, scratch.data());
    for (double v : by_query) result[4].push_back(static_cast<T>(v));
    return result;
  }
};

}  // namespace

TEST_CASE_TEMPLATE("fused attention of a head is the plain one's but for rounding", T, float,
                   double) {
  for (const Tables& tables : vector_tables()) {
    CAPTURE(std::string(of<T>(tables).isa));
    for (int round = 0; round < 60; ++round) {
      const Case<T> c;
      const auto found = c.run(of<T>(tables)), expected = c.run(of<T>(scalar_tables()));
      for (std::size_t i = 0; i < found.size(); ++i) {
        double worst = 0, most = 1;
        for (std::size_t j = 0; j < found[i].size(); ++j) {
          worst = std::max(worst, std::abs(static_cast<double>(found[i][j] - expected[i][j])));
          most = std::max(most, std::abs(static_cast<double>(expected[i][j])));
        }
        CAPTURE(round);
        CAPTURE(i);
        CHECK(worst <= 100 * static_cast<double>(std::numeric_limits<T>::epsilon()) * most);
      }
    }
  }
}
