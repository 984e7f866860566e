// Text from a model, a symbol at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
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

/// The symbols that may come next, likeliest first, and their probabilities.
struct Choices {
  Ids ids;
  std::vector<double> p;
};

/// logits: one for each symbol. Throws: demo::UserError for one that is not finite.
inline Choices choices(const std::vector<double>& logits, const Sampling& s) {
  for (double x : logits)
    if (!std::isfinite(x))
      throw demo::UserError("the model answers with " + std::to_string(x) +
                            ": its weights are damaged");
  Choices c{Ids(logits.size()), {}};
  std::iota(c.ids.begin(), c.ids.end(), std::int64_t{0});
  const auto logit = [&](std::int64_t id) { return logits[static_cast<std::size_t>(id)]; };
  std::sort(c.ids.begin(), c.ids.end(), [&](std::int64_t a, std::int64_t b) {
    return logit(a) > logit(b) || (logit(a) == logit(b) && a < b);
  });
  if (s.temperature == 0) return {{c.ids[0]}, {1}};
  if (s.top_k > 0 && s.top_k < static_cast<std::int64_t>(c.ids.size()))
    c.ids.resize(static_cast<std::size_t>(s.top_k));
  for (std::int64_t id : c.ids)
    c.p.push_back(std::exp((logit(id) - logit(c.ids[0])) / s.temperature));
  const double wanted = s.top_p * std::accumulate(c.p.begin(), c.p.end(), 0.0);
  double sum = 0;
  std::size_t kept = 0;
  while (kept < c.p.size() && (kept == 0 || sum < wanted)) sum += c.p[kept++];
  c.ids.resize(kept);
  c.p.resize(kept);
  for (double& p : c.p) p /= sum;
  return c;
}

inline std::int64_t draw(const Choices& c, xtape::Random& random) {
  double left = random.uniform();
  std::size_t i = 0;
  while (i + 1 < c.p.size() && (left -= c.p[i]) >= 0) ++i;
  return c.ids[i];
}

/// Calls use(id) for each of `length` symbols that follow the prompt. Keys and values are cached;
/// when they fill the context, the last half of it is read anew.
template <class T, class Use>
void sample(const Model<T>& model, Ids seen, std::int64_t length, const Sampling& sampling,
            xtape::Random& random, const Use& use) {
  const std::int64_t context = model.config.context;
  Cache<T> cache;
  Ids fresh = last(seen, context);
  for (std::int64_t i = 0; i < length; ++i) {
    const auto count = static_cast<std::int64_t>(fresh.size());
    const auto logits =
        xtape::slice(forward(model, {{1, count}, fresh}, &cache), 1, count - 1, count).values();
    const std::int64_t id = draw(choices({logits.begin(), logits.end()}, sampling), random);
    use(id);
    seen.push_back(id);
    fresh = {id};
    if (cache.length == context) {
      cache = {};
      fresh = last(seen, std::max<std::int64_t>(1, context / 2));
    }
  }
}

}  // namespace tiny_lm
