// A UTF-8 text as numbers: its symbols are code points, numbered in the order of their values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cwchar>
#include <locale>
#include <map>
#include <string>
#include <vector>

#include "program.hpp"

namespace demo {

using Utf8 = std::codecvt<char32_t, char, std::mbstate_t>;

inline const Utf8& utf8() { return std::use_facet<Utf8>(std::locale::classic()); }

/// Throws: UserError that names the first byte that is not UTF-8.
inline std::u32string decode(const std::string& bytes, const std::string& name) {
  std::u32string text(bytes.size(), U'\0');
  std::mbstate_t state{};
  const char* read = bytes.data();
  char32_t* written = text.data();
  const auto result = utf8().in(state, bytes.data(), bytes.data() + bytes.size(), read, text.data(),
                                text.data() + text.size(), written);
  if (result != Utf8::ok)
    throw UserError(name + " is not UTF-8 text: byte " + std::to_string(read - bytes.data()) +
                    " starts no symbol");
  text.resize(static_cast<std::size_t>(written - text.data()));
  for (char32_t c : text)
    if (c >= 0xD800 && c < 0xE000) throw UserError(name + " is not UTF-8 text: it has a surrogate");
  return text;
}

inline std::string encode(const std::u32string& text) {
  std::string bytes(4 * text.size(), '\0');
  std::mbstate_t state{};
  const char32_t* read = text.data();
  char* written = bytes.data();
  utf8().out(state, text.data(), text.data() + text.size(), read, bytes.data(),
             bytes.data() + bytes.size(), written);
  bytes.resize(static_cast<std::size_t>(written - bytes.data()));
  return bytes;
}

struct Text {
  std::u32string alphabet;        // the distinct symbols
  std::vector<std::int64_t> ids;  // the text: positions in the alphabet
  double entropy = 0;             // bits per symbol, if each were drawn by its frequency alone

  explicit Text(const std::u32string& symbols) {
    std::map<char32_t, std::int64_t> count, id;
    for (char32_t c : symbols) ++count[c];
    for (const auto& [c, n] : count) {
      id[c] = static_cast<std::int64_t>(alphabet.size());
      alphabet += c;
      const double p = static_cast<double>(n) / static_cast<double>(symbols.size());
      entropy -= p * std::log2(p);  // H = -sum p log2 p
    }
    for (char32_t c : symbols) ids.push_back(id[c]);
  }

  std::string spell(const std::vector<std::int64_t>& some_ids) const {
    std::u32string symbols;
    for (std::int64_t id : some_ids) symbols += alphabet[static_cast<std::size_t>(id)];
    return encode(symbols);
  }
};

}  // namespace demo
