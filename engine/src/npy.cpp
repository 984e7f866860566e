// NumPy's .npy files.
#include <xtape/npy.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

#include "files.hpp"
#include "storage.hpp"

namespace xtape {

namespace {

static_assert(std::numeric_limits<double>::is_iec559, "files hold IEEE numbers");

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::size_t kAlignment = 64;      // the data begin at a multiple of it
constexpr std::uintmax_t kLongest = 65536;  // bytes of a header's text, which is kept in memory

template <class T>
std::string_view type_code() {
  return sizeof(T) == sizeof(float) ? "<f4" : "<f8";
}

struct Header {
  std::string type;
  bool fortran = false;
  Shape shape;
};

/// Reads the header's text, which is a Python dictionary of three known keys.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  std::optional<Header> parse() {
    Header header;
    bool type = false, order = false, shape = false;
    if (!take("{")) return {};
    while (!take("}")) {
      const auto key = string();
      if (!key || !take(":")) return {};
      bool& seen = *key == "descr" ? type : *key == "fortran_order" ? order : shape;
      if (seen) return {};
      seen = true;
      if (*key == "descr") {
        const auto value = string();
        if (!value) return {};
        header.type = *value;
      } else if (*key == "fortran_order") {
        header.fortran = take("True");
        if (!header.fortran && !take("False")) return {};
      } else if (*key != "shape" || !tuple(header.shape)) {
        return {};
      }
      if (!take(",") && !starts("}")) return {};
    }
    skip_space();
    if (!rest_.empty() || !type || !order || !shape) return {};
    return header;
  }

 private:
  void skip_space() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }
  bool starts(std::string_view token) {
    skip_space();
    return rest_.substr(0, token.size()) == token;
  }
  bool take(std::string_view token) {
    if (!starts(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  std::optional<std::string> string() {
    const bool single = take("'");
    if (!single && !take("\"")) return {};
    const std::size_t end = rest_.find(single ? '\'' : '"');
    if (end == std::string_view::npos) return {};
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }
  bool tuple(Shape& shape) {
    if (!take("(")) return false;
    while (!take(")")) {
      std::int64_t n = 0;
      std::size_t digits = 0;
      for (skip_space(); digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9';
           ++digits) {
        if (n > std::numeric_limits<std::int64_t>::max() / 10 - 1) return false;
        n = 10 * n + (rest_[digits] - '0');
      }
      if (digits == 0) return false;
      rest_.remove_prefix(digits);
      shape.push_back(n);
      if (!take(",") && !starts(")")) return false;
    }
    return true;
  }

  std::string_view rest_;
};

/// A shape as Python writes a tuple.
std::string tuple(const Shape& shape) {
  std::string text;
  for (std::int64_t n : shape) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace

template <class T>
Tensor<T> load_npy(const std::string& path) {
  const auto refuse = [&path](const std::string& text) {
    detail::file_error("load_npy", path, text);
  };
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  std::ifstream in(path, std::ios::binary);
  if (error || !in) refuse("cannot be read: is it a file that is there and readable?");

  // magic, version, length of the header (2 bytes in version 1, 4 in 2 and 3), header, data
  unsigned char start[12] = {};
  in.read(reinterpret_cast<char*>(start), 12);
  if (in.gcount() < 10 || std::memcmp(start, kMagic.data(), kMagic.size()) != 0)
    refuse("is not a .npy file: it does not begin as one.");
  const int version = start[6];
  if (version < 1 || version > 3)
    refuse("has version " + std::to_string(version) + " of the format: 1 to 3 can be read.");
  const std::uintmax_t before = version == 1 ? 10 : 12;
  std::uintmax_t length = start[8] + 256u * start[9];
  if (version > 1) length += 65536u * start[10] + 16777216u * std::uintmax_t{start[11]};
  if (before + length > bytes)
    refuse("says that its header has " + std::to_string(length) + " bytes, but the file has " +
           std::to_string(bytes) + ".");
  if (length > kLongest)
    refuse("has a header of " + std::to_string(length) + " bytes: at most " +
           std::to_string(kLongest) + " can be read.");
  std::string text(static_cast<std::size_t>(length), ' ');
  in.clear();
  in.seekg(static_cast<std::streamoff>(before));
  in.read(text.data(), static_cast<std::streamsize>(length));
  const std::optional<Header> header = HeaderParser(text).parse();
  if (!in || !header) refuse("has a header that cannot be read.");
  if (header->type != type_code<T>())
    refuse("holds values of type '" + header->type + "': '" + std::string(type_code<T>()) +
           "' is required for Tensor<" + (sizeof(T) == sizeof(float) ? "float" : "double") + ">.");
  const std::optional<std::int64_t> size = detail::count_of(header->shape);
  if (!size) refuse("has shape " + to_string(header->shape) + ": too many axes or values.");
  const std::uintmax_t expected = static_cast<std::uintmax_t>(*size) * sizeof(T);
  if (bytes - before - length != expected)
    refuse("has " + std::to_string(bytes - before - length) + " bytes of values: shape " +
           to_string(header->shape) + " needs " + std::to_string(expected) + ".");

  // Fortran order is C order of the reversed axes.
  Shape stored = header->shape;
  if (header->fortran) stored.assign(header->shape.rbegin(), header->shape.rend());
  auto [tensor, data] = detail::fresh<T>(detail::to_dims(stored, "load_npy"));
  in.read(reinterpret_cast<char*>(data), static_cast<std::streamsize>(expected));
  if (!in) refuse("ended while it was read.");
  if (!header->fortran) return tensor;
  const detail::Dims& strides = tensor.raw()->strides;
  detail::Dims reversed;
  for (int i = strides.rank() - 1; i >= 0; --i) reversed.push_back(strides[i]);
  return detail::view<T>(tensor, detail::to_dims(header->shape, "load_npy"), reversed);
}

template <class T>
void save_npy(const std::string& path, const Tensor<T>& x) {
  const std::vector<T> values = x.values();
  std::string header = "{'descr': '" + std::string(type_code<T>()) +
                       "', 'fortran_order': False, 'shape': " + tuple(x.shape()) + ", }";
  // Spaces and a newline, so that the values begin at a multiple of the alignment.
  const std::size_t before = kMagic.size() + 4;
  header.append(kAlignment - 1 - (before + header.size()) % kAlignment, ' ');
  header += '\n';
  const char version_and_length[4] = {1, 0, static_cast<char>(header.size() % 256),
                                      static_cast<char>(header.size() / 256)};
  detail::write_whole("save_npy", path, [&](std::ostream& out) {
    out.write(kMagic.data(), static_cast<std::streamsize>(kMagic.size()));
    out.write(version_and_length, 4);
    out.write(header.data(), static_cast<std::streamsize>(header.size()));
    out.write(reinterpret_cast<const char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(T)));
  });
}

#define XTAPE_INSTANTIATE(T)                       \
  template Tensor<T> load_npy(const std::string&); \
  template void save_npy(const std::string&, const Tensor<T>&);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
