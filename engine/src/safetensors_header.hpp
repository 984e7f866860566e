// The header of a safetensors file, which is JSON.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <string>

#include <xtape/shape.hpp>

namespace xtape::detail {

/// Where a tensor lies: from byte `begin` up to `end` of what follows the header.
struct Entry {
  std::string name;
  std::string dtype;
  Shape shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct Header {
  std::list<Entry> entries;  // whose sort keeps the order of tensors without values
  std::map<std::string, std::string> metadata;
};

/// Reads a header's text, in its order; returns what is wrong with it, or an empty string.
std::string parse_header(const std::string& text, Header& header);

/// The text of a header. Throws: std::invalid_argument in the name of `op` for what is not UTF-8.
std::string header_text(const char* op, const Header& header);

/// A name for an error's text: in quotes, and the start only of a long one.
std::string shown(const std::string& name);

}  // namespace xtape::detail
