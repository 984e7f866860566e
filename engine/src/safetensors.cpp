// Files of weights in the safetensors format.
#include <xtape/safetensors.hpp>

#include <array>
#include <filesystem>
#include <fstream>
#include <list>
#include <tuple>
#include <vector>

#include "files.hpp"
#include "safetensors_header.hpp"
#include "storage.hpp"

namespace xtape {

using namespace detail;

namespace {

constexpr std::size_t kLengthBytes = 8;         // the header's length, little endian
constexpr std::size_t kAlignment = 8;           // the data begin at a multiple of it
constexpr std::uintmax_t kLongest = 100000000;  // bytes of a header, as in the Python package

template <class T>
const char* type_code() {
  return sizeof(T) == sizeof(float) ? "F32" : "F64";
}

/// The length that a file begins with.
std::uint64_t length_of(const std::array<char, kLengthBytes>& bytes) {
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;)
    length = length * 256 + static_cast<unsigned char>(bytes[i]);
  return length;
}

/// What is wrong with the entries of a file whose data have a number of bytes, or an empty string;
/// puts them into the order of their data, empty tensors in that of the header.
template <class T>
std::string check_entries(std::list<Entry>& entries, std::uintmax_t bytes) {
  for (const Entry& e : entries) {
    if (e.dtype != type_code<T>())
      return text("has values of type ", shown(e.dtype), " in ", shown(e.name), ": \"",
                  type_code<T>(), "\" is required for Tensor<",
                  sizeof(T) == sizeof(float) ? "float" : "double", ">.");
    const std::optional<std::int64_t> size = count_of(e.shape);
    if (!size) return text("has ", shown(e.name), " of shape ", e.shape, ": too many values.");
    const std::uint64_t needed = static_cast<std::uint64_t>(*size) * sizeof(T);
    if (e.end < e.begin || e.end - e.begin != needed)
      return text("has ", shown(e.name), " from byte ", e.begin, " to ", e.end,
                  " of its data: shape ", e.shape, " needs ", needed, " bytes.");
  }
  entries.sort([](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  std::uint64_t end = 0;
  for (const Entry& e : entries) {
    if (e.begin != end)
      return text("has ", shown(e.name), " from byte ", e.begin, " of its data on, where ", end,
                  " is the first that is free: tensors must lie one after the other.");
    end = e.end;
  }
  if (end == bytes) return {};
  return text("has ", bytes, " bytes of data: its tensors need ", end, ".");
}

}  // namespace

template <class T>
SafeTensors<T> load_safetensors(const std::string& path) {
  const auto refuse = [&path](const std::string& fault) {
    if (!fault.empty()) file_error("load_safetensors", path, fault);
  };
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  std::ifstream in(path, std::ios::binary);
  if (error || !in) refuse("cannot be read: is it a file that is there and readable?");

  std::array<char, kLengthBytes> start{};
  if (bytes < kLengthBytes || !in.read(start.data(), kLengthBytes))
    refuse("is not a safetensors file: it has less than 8 bytes.");
  const std::uint64_t length = length_of(start);
  if (length > bytes - kLengthBytes)
    refuse(text("says that its header has ", length, " bytes, but the file has ", bytes, "."));
  if (length > kLongest)
    refuse(text("has a header of ", length, " bytes: at most ", kLongest, " can be read."));
  std::string json(static_cast<std::size_t>(length), ' ');
  if (!in.read(json.data(), static_cast<std::streamsize>(length)))
    refuse("ended while it was read.");
  Header header;
  refuse(parse_header(json, header));
  refuse(check_entries<T>(header.entries, bytes - kLengthBytes - length));

  SafeTensors<T> result;
  result.metadata = std::move(header.metadata);
  for (Entry& e : header.entries) {
    auto [tensor, data] = fresh<T>(to_dims(e.shape, "load_safetensors"));
    in.read(reinterpret_cast<char*>(data), static_cast<std::streamsize>(e.end - e.begin));
    if (!in) refuse("ended while it was read.");
    result.values.push_back({std::move(e.name), std::move(tensor)});
  }
  return result;
}

template <class T>
void save_safetensors(const std::string& path, const Parameters<T>& values,
                      const std::map<std::string, std::string>& metadata) {
  Header header{{}, metadata};
  std::uint64_t end = 0;
  for (const Parameter<T>& p : values) {
    const std::uint64_t begin = end;
    end += static_cast<std::uint64_t>(body(p.value, "save_safetensors").size) * sizeof(T);
    header.entries.push_back({p.name, type_code<T>(), p.value.shape(), begin, end});
  }
  std::string json = header_text("save_safetensors", header);
  json.append((kAlignment - json.size() % kAlignment) % kAlignment, ' ');
  if (json.size() > kLongest)
    fail("save_safetensors", "names and metadata of ", json.size(), " bytes: at most ", kLongest,
         " can be read again.");
  write_whole("save_safetensors", path, [&](std::ostream& out) {
    for (std::size_t i = 0; i < kLengthBytes; ++i)
      out.put(static_cast<char>(json.size() >> 8 * i & 255));
    out.write(json.data(), static_cast<std::streamsize>(json.size()));
    for (const Parameter<T>& p : values) {
      const std::vector<T> dense = p.value.values();
      out.write(reinterpret_cast<const char*>(dense.data()),
                static_cast<std::streamsize>(dense.size() * sizeof(T)));
    }
  });
}

#define XTAPE_INSTANTIATE(T)                                               \
  template SafeTensors<T> load_safetensors(const std::string&);            \
  template void save_safetensors(const std::string&, const Parameters<T>&, \
                                 const std::map<std::string, std::string>&);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
