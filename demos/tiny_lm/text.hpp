// A text as numbers: the bytes that occur in it, so any file is a text.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>
#include <xtape/tensor.hpp>

#include "../support/error.hpp"

namespace tiny_lm {

using Ids = std::vector<std::int64_t>;

/// The last `count` of them, or all where there are fewer.
inline Ids last(const Ids& ids, std::int64_t count) {
  const std::size_t n = std::min(ids.size(), static_cast<std::size_t>(count));
  return {ids.end() - static_cast<std::ptrdiff_t>(n), ids.end()};
}

/// The distinct bytes of a text in their order; an id is a position among them.
struct Vocabulary {
  std::vector<int> bytes;

  Vocabulary() = default;
  explicit Vocabulary(const std::string& text) {
    std::array<bool, 256> seen{};
    for (char c : text) seen[static_cast<unsigned char>(c)] = true;
    for (int b = 0; b < 256; ++b)
      if (seen[static_cast<std::size_t>(b)]) bytes.push_back(b);
  }

  std::int64_t size() const { return static_cast<std::int64_t>(bytes.size()); }

  /// Throws: UserError that tells the first byte that the vocabulary has not.
  Ids encode(const std::string& text, const std::string& name) const {
    std::array<std::int64_t, 256> ids;
    ids.fill(-1);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      ids[static_cast<std::size_t>(bytes[i])] = static_cast<std::int64_t>(i);
    Ids result;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (ids[byte] < 0)
        throw demo::UserError(name + " has byte " + std::to_string(byte) + " at place " +
                              std::to_string(i) + ", which the model's text has not");
      result.push_back(ids[byte]);
    }
    return result;
  }

  std::string decode(const Ids& ids) const {
    std::string text;
    for (std::int64_t id : ids) text += static_cast<char>(bytes[static_cast<std::size_t>(id)]);
    return text;
  }
};

/// Pieces of a text, and the same moved on by one.
struct Windows {
  xtape::Index ids, next;  // [B, T]

  Windows(const Ids& text, const Ids& starts, std::int64_t context) {
    const xtape::Shape shape{static_cast<std::int64_t>(starts.size()), context};
    const auto cut = [&](std::int64_t from) {
      Ids values;
      for (std::int64_t start : starts) {
        const std::int64_t* first = text.data() + start + from;
        values.insert(values.end(), first, first + context);
      }
      return xtape::Index(shape, values);
    };
    ids = cut(0);
    next = cut(1);
  }
};

/// The first nine tenths are trained on; the last is for validation.
struct Split {
  Ids training, validation;

  Split(const Ids& ids, std::int64_t context, const std::string& name) {
    const auto at = ids.begin() + static_cast<std::ptrdiff_t>(ids.size() / 10 * 9);
    training.assign(ids.begin(), at);
    validation.assign(at, ids.end());
    if (std::min(training.size(), validation.size()) <= static_cast<std::size_t>(context))
      throw demo::UserError(name + " is too short: it has " + std::to_string(ids.size()) +
                            " bytes, and a context of " + std::to_string(context) + " needs " +
                            std::to_string(10 * (context + 1)));
  }
};

/// Bits a byte, if each were drawn by its frequency alone: H = -sum p log2 p.
inline double entropy(const Ids& ids) {
  std::array<double, 256> count{};
  for (std::int64_t id : ids) ++count[static_cast<std::size_t>(id)];
  double bits = 0;
  for (double n : count)
    if (n > 0)
      bits -= n / static_cast<double>(ids.size()) * std::log2(n / static_cast<double>(ids.size()));
  return bits;
}

}  // namespace tiny_lm
