// Files for tests: a folder that goes away, and the bytes of files.
#pragma once

#include <cstring>
#include <string>
#include <vector>

namespace xtape::test {

/// A new folder, removed with all it holds at the end.
class Folder {
 public:
  Folder();
  explicit Folder(const std::string& path);
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder();

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// What it holds, sorted.
  std::vector<std::string> names() const;
  void forbid_writing() const;
  void allow_writing() const;

 private:
  std::string path_;
};

#ifndef _WIN32
/// While it lives no file of this process may grow beyond a number of bytes: a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(unsigned long bytes);
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit();

 private:
  unsigned long old_limit_;
  void (*old_handler_)(int);
};
#endif

/// All bytes of a file; throws std::runtime_error when it cannot be read.
std::string read(const std::string& path);
void write(const std::string& path, const std::string& bytes);

/// A .npy file of a header's text, which spaces fill up to a multiple of 64 bytes, and data.
std::string npy(std::string header, const std::string& data, int version = 1);

/// A safetensors file of a header's text and data.
std::string safetensors(const std::string& header, const std::string& data);

/// The bytes of numbers.
template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace xtape::test
