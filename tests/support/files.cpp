// Files for tests.
#include "support/files.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>

#ifndef _WIN32
#include <sys/resource.h>
#endif

namespace xtape::test {

namespace fs = std::filesystem;

Folder::Folder()
    : Folder((fs::temp_directory_path() / ("xtape-" + std::to_string(std::random_device()())))
                 .string()) {}

Folder::Folder(const std::string& path) : path_(path) {
  if (!fs::create_directory(path)) throw std::runtime_error(path + " is there already");
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::string> Folder::names() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

void Folder::forbid_writing() const {
  fs::permissions(path_, fs::perms::owner_write, fs::perm_options::remove);
}

void Folder::allow_writing() const {
  fs::permissions(path_, fs::perms::owner_write, fs::perm_options::add);
}

#ifndef _WIN32
FileSizeLimit::FileSizeLimit(unsigned long bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  old_limit_ = limit.rlim_cur;
  limit.rlim_cur = bytes;
  setrlimit(RLIMIT_FSIZE, &limit);
}

FileSizeLimit::~FileSizeLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = old_limit_;
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, old_handler_);
}
#endif

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(path + " cannot be read");
  return std::string(std::istreambuf_iterator<char>(in), {});
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  if (!out.write(bytes.data(), static_cast<std::streamsize>(bytes.size())))
    throw std::runtime_error(path + " cannot be written");
}

std::string npy(std::string header, const std::string& data, int version) {
  const std::size_t before = version == 1 ? 10 : 12;
  header.append(63 - (before + header.size()) % 64, ' ');
  header += '\n';
  std::string start("\x93NUMPY");
  start += static_cast<char>(version);
  start += '\0';
  for (std::size_t i = 0, length = header.size(); i < before - 8; ++i, length /= 256)
    start += static_cast<char>(length % 256);
  return start + header + data;
}

std::string safetensors(const std::string& header, const std::string& data) {
  std::string length;
  for (std::size_t i = 0, rest = header.size(); i < 8; ++i, rest /= 256)
    length += static_cast<char>(rest % 256);
  return length + header + data;
}

}  // namespace xtape::test
