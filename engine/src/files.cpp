// Files that are written whole.
#include "files.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <stdexcept>

#include <fcntl.h>
#ifdef _WIN32
#include <io.h>
#else
#include <unistd.h>
#endif

namespace xtape::detail {

namespace {

/// Removes a file that did not become what it should.
class Temporary {
 public:
  explicit Temporary(std::filesystem::path path) : path_(std::move(path)) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);  // does nothing once it has been renamed
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Waits until a file, or the names in a folder, are on the disk. False when they may not be.
bool reaches_disk(const std::filesystem::path& path) {
#ifdef _WIN32
  if (std::filesystem::is_directory(path)) return true;  // Windows looks after names itself
  const int file = _wopen(path.c_str(), _O_RDWR | _O_BINARY);
  const bool done = file >= 0 && _commit(file) == 0;
  if (file >= 0) _close(file);
#else
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  int status = fsync(file);
  while (status != 0 && errno == EINTR) status = fsync(file);
  const bool done = status == 0;
  close(file);
#endif
  return done;
}

}  // namespace

void file_error(const char* op, const std::string& path, const std::string& text) {
  throw std::runtime_error("[" + std::string(op) + "] " + path + ": " + text);
}

std::optional<std::int64_t> count_of(const Shape& shape) {
  if (shape.size() > static_cast<std::size_t>(kMaxRank)) return {};
  std::int64_t n = 1;
  bool empty = false;
  for (std::int64_t length : shape) {
    empty = empty || length == 0;
    if (length == 0) continue;
    if (n > std::numeric_limits<std::int64_t>::max() / 16 / length) return {};
    n *= length;
  }
  return empty ? 0 : n;
}

void write_whole(const char* op, const std::string& path,
                 const std::function<void(std::ostream&)>& write) {
  std::random_device device;
  const Temporary temporary(path + "." + std::to_string(device()) + ".tmp");
  std::ofstream out(temporary.path(), std::ios::binary);
  if (!out) file_error(op, path, "cannot be created: is its folder there and writable?");
  write(out);
  out.close();
  if (!out || !reaches_disk(temporary.path()))
    file_error(op, path, "could not be written whole: is the disk full?");
  std::error_code error;
  std::filesystem::rename(temporary.path(), path, error);
  if (error) file_error(op, path, "cannot be replaced: " + error.message() + ".");
  // Some file systems cannot: then a crash soon after this may bring the old file back, whole.
  const std::filesystem::path folder = temporary.path().parent_path();
  reaches_disk(folder.empty() ? "." : folder);
}

}  // namespace xtape::detail
