// What a fuzzer, or the driver in corpus.cpp, does with one input: as a file of weights it is
// either refused by its name, or read, and then written and read again with the same bits.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>

#include <xtape/safetensors.hpp>

namespace {

using namespace xtape;

/// A file for this process, removed at its end.
struct File {
  ~File() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("xtape-fuzz-" + std::to_string(std::random_device()())))
                               .string();
};

void require(bool fact) {
  if (!fact) std::abort();
}

template <class T>
bool same_bits(const Tensor<T>& a, const Tensor<T>& b) {
  const std::vector<T> x = a.values(), y = b.values();
  return a.shape() == b.shape() &&
         (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0);
}

template <class T>
void exchange(const std::string& path) {
  SafeTensors<T> read;
  try {
    read = load_safetensors<T>(path);
  } catch (const std::runtime_error& error) {
    require(std::string(error.what()).find("[load_safetensors] " + path + ": ") == 0);
    return;
  }
  save_safetensors(path, read.values, read.metadata);
  const SafeTensors<T> again = load_safetensors<T>(path);
  require(again.metadata == read.metadata && again.values.size() == read.values.size());
  for (std::size_t i = 0; i < read.values.size(); ++i)
    require(again.values[i].name == read.values[i].name &&
            same_bits(again.values[i].value, read.values[i].value));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const File file;
  std::ofstream(file.path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  exchange<float>(file.path);
  exchange<double>(file.path);
  return 0;
}
