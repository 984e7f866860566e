// Files that are read with suspicion and written whole.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

#include <xtape/shape.hpp>

namespace xtape::detail {

/// Throws std::runtime_error with `[op] path: text`.
[[noreturn]] void file_error(const char* op, const std::string& path, const std::string& text);

/// The number of values of a shape that a file gives, or nothing when the axes are too many, or the
/// lengths overflow when multiplied: those of 0 left out, since strides are made of the others.
std::optional<std::int64_t> count_of(const Shape& shape);

/// Calls write(stream) on a temporary file beside `path`, and gives it that name when all is on the
/// disk: a crash leaves the old file or the new one. On any error the temporary file is removed,
/// and what was at `path` stays.
void write_whole(const char* op, const std::string& path,
                 const std::function<void(std::ostream&)>& write);

}  // namespace xtape::detail
