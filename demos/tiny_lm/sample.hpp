// Text from a model, a symbol at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>
#include <xtape/random.hpp>

#include "model.hpp"
#include "text.hpp"

namespace tiny_lm {

struct Sampling {
  double temperature = 0.8;  // 0: always the likeliest symbol
  std::int64_t top_k = 0;    // only the k likeliest; 0: all
  double top_p = 1;          // only the likeliest that have this probability together
};

/// Draws the next symbol. logits: one for each symbol
inline std::int64_t choose(const std::vector<double>& logits, const Sampling& s,
                           xtape::Random& random) {
  Ids order(logits.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto logit = [&](std::int64_t id) { return logits[static_cast<std::size_t>(id)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return logit(a) > logit(b); });
  if (s.temperature == 0) return order[0];
  if (s.top_k > 0 && s.top_k < static_cast<std::int64_t>(order.size()))
    order.resize(static_cast<std::size_t>(s.top_k));
  std::vector<double> p;  // not yet divided by their sum
  for (std::int64_t id : order)
    p.push_back(std::exp((logit(id) - logit(order[0])) / s.temperature));
  const double wanted = s.top_p * std::accumulate(p.begin(), p.end(), 0.0);
  double sum = 0;
  std::size_t kept = 0;
  while (kept < p.size() && (kept == 0 || sum < wanted)) sum += p[kept++];
  double left = random.uniform() * sum;
  std::size_t i = 0;
  while (i + 1 < kept && (left -= p[i]) >= 0) ++i;
  return order[i];
}

/// Calls use(id) for each of `length` symbols that follow the prompt. Keys and values are cached;
/// when they fill the context, the last half of it is read anew.
template <class T, class Use>
void sample(const Model<T>& model, Ids seen, std::int64_t length, const Sampling& sampling,
            xtape::Random& random, const Use& use) {
  const std::int64_t context = model.config.context;
  Cache<T> cache;
  Ids fresh(seen.end() - std::min(context, static_cast<std::int64_t>(seen.size())), seen.end());
  for (std::int64_t i = 0; i < length; ++i) {
    const auto count = static_cast<std::int64_t>(fresh.size());
    const auto last =
        xtape::slice(forward(model, {{1, count}, fresh}, &cache), 1, count - 1, count).values();
    const std::int64_t id = choose({last.begin(), last.end()}, sampling, random);
    use(id);
    seen.push_back(id);
    fresh = {id};
    if (cache.length == context) {
      cache = {};
      fresh.assign(seen.end() - std::max<std::int64_t>(1, context / 2), seen.end());
    }
  }
}

}  // namespace tiny_lm
