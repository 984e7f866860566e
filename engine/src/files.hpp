// Files that are read with suspicion and written whole.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>

namespace xtape::detail {

/// Throws std::runtime_error with `[op] path: text`.
[[noreturn]] void file_error(const char* op, const std::string& path, const std::string& text);

/// Calls write(stream) on a temporary file beside `path`, and gives it that name when all has been
/// written; on any error the temporary file is removed, and what was at `path` stays.
void write_whole(const char* op, const std::string& path,
                 const std::function<void(std::ostream&)>& write);

}  // namespace xtape::detail
