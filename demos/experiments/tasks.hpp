// The two tasks of the experiments: pairs of a key and a value to be looked up, and pairs that
// occur again among noise.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>
#include <xtape/xtape.hpp>

namespace experiment {

using namespace xtape;

struct Batch {
  std::vector<Index> symbols;  // [B, T] each: their embeddings are summed
  Tensor<float> offset = 0;    // added to them: [B, T, C], or nothing
  Index asked, answers;        // [n]: rows of [B T, C] where an answer is due, and the answers
  Index sources;               // pairs only, [B, R, 1]: where in the context each answer stands
};

struct Vocabulary {
  std::int64_t symbols, length;  // the different ones, and those of a sequence
};

/// Draws a number of sequences.
using Task = std::function<Batch(Random&, std::int64_t sequences)>;

/// `count` different numbers below `limit`.
inline std::vector<std::int64_t> draw_distinct(Random& random, std::int64_t count,
                                               std::int64_t limit) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < limit; ++i) all.push_back(i);
  for (std::int64_t i = 0; i < count; ++i)
    std::swap(all[static_cast<std::size_t>(i)],
              all[static_cast<std::size_t>(i + random.below(limit - i))]);
  all.resize(static_cast<std::size_t>(count));
  return all;
}

inline Index vector_index(const std::vector<std::int64_t>& values) {
  return {{static_cast<std::int64_t>(values.size())}, values};
}

/// A context of places that each hold a key and a value, then queries: a key of the context and a
/// blank. The answer is the value that stands with the key. A vector drawn for each sequence is
/// added to every place of the context, and to no query.
struct Pairs {
  std::int64_t context, queries, keys, values;
  double sigma = 0;  // the vector's standard deviation
  std::int64_t width = 64;

  Vocabulary vocabulary() const { return {keys + values + 1, context + queries}; }

  Batch operator()(Random& random, std::int64_t sequences) const {
    const std::int64_t blank = keys + values, length = context + queries;
    std::vector<std::int64_t> first, second, asked, answers, sources;
    for (std::int64_t b = 0; b < sequences; ++b) {
      const auto key = draw_distinct(random, context, keys);
      std::vector<std::int64_t> value;
      for (std::int64_t i = 0; i < context; ++i) value.push_back(keys + random.below(values));
      first.insert(first.end(), key.begin(), key.end());
      second.insert(second.end(), value.begin(), value.end());
      for (std::int64_t i = 0; i < queries; ++i) {
        const std::int64_t source = random.below(context);
        asked.push_back(static_cast<std::int64_t>(first.size()));
        first.push_back(key[static_cast<std::size_t>(source)]);
        second.push_back(blank);
        answers.push_back(value[static_cast<std::size_t>(source)]);
        sources.push_back(source);
      }
    }
    Batch batch;
    const Shape shape{sequences, length};
    batch.symbols = {{shape, first}, {shape, second}};
    batch.asked = vector_index(asked);
    batch.answers = vector_index(answers);
    batch.sources = {{sequences, queries, 1}, sources};
    if (sigma > 0) {
      const auto place = concatenate<float>(
          {Tensor<float>::ones({context, 1}), Tensor<float>::zeros({queries, 1})}, 0);
      batch.offset = place * random.normal<float>({sequences, 1, width}, 0, sigma);
    }
    return batch;
  }
};

/// Adjacent pairs: half of them are two symbols of noise, the others one of a few keys that each
/// sequence has, and the value that the key has throughout that sequence. An answer is due where a
/// key is not there for the first time.
struct Induction {
  std::int64_t pairs = 32, noise = 24, keys = 12, values = 12, keys_in_use = 4;

  Vocabulary vocabulary() const { return {noise + keys + values, 2 * pairs}; }

  Batch operator()(Random& random, std::int64_t sequences) const {
    std::vector<std::int64_t> symbols, asked, answers;
    for (std::int64_t b = 0; b < sequences; ++b) {
      const auto key = draw_distinct(random, keys_in_use, keys);
      std::vector<std::int64_t> value;
      for (std::int64_t i = 0; i < keys_in_use; ++i) value.push_back(random.below(values));
      std::vector<bool> seen(key.size());
      for (std::int64_t i = 0; i < pairs; ++i) {
        if (random.below(2) == 0) {
          symbols.push_back(random.below(noise));
          symbols.push_back(random.below(noise));
          continue;
        }
        const auto which = static_cast<std::size_t>(random.below(keys_in_use));
        const std::int64_t answer = noise + keys + value[which];
        if (seen[which]) {
          asked.push_back(static_cast<std::int64_t>(symbols.size()));
          answers.push_back(answer);
        }
        seen[which] = true;
        symbols.push_back(noise + key[which]);
        symbols.push_back(answer);
      }
    }
    Batch batch;
    batch.symbols = {{{sequences, 2 * pairs}, symbols}};
    batch.asked = vector_index(asked);
    batch.answers = vector_index(answers);
    return batch;
  }
};

}  // namespace experiment
