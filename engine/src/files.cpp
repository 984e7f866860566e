// Files that are written whole.
#include "files.hpp"

#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>

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

}  // namespace

void file_error(const char* op, const std::string& path, const std::string& text) {
  throw std::runtime_error("[" + std::string(op) + "] " + path + ": " + text);
}

void write_whole(const char* op, const std::string& path,
                 const std::function<void(std::ostream&)>& write) {
  std::random_device device;
  const Temporary temporary(path + "." + std::to_string(device()) + ".tmp");
  std::ofstream out(temporary.path(), std::ios::binary);
  if (!out) file_error(op, path, "cannot be created: is its folder there and writable?");
  write(out);
  out.close();
  if (!out) file_error(op, path, "could not be written whole: is the disk full?");
  std::error_code error;
  std::filesystem::rename(temporary.path(), path, error);
  if (error) file_error(op, path, "cannot be replaced: " + error.message() + ".");
}

}  // namespace xtape::detail
