// Programs that draw, run through a pipe.
#include "pipe.hpp"

#include <array>
#include <cstdio>
#include <memory>

namespace xtape::detail {

#if defined(_WIN32) || defined(__EMSCRIPTEN__)

std::string output_of(const std::string&, const std::string&) { return {}; }

#else

std::string output_of(const std::string& command, const std::string& input) {
  // The input lies in a file without a name, which the command inherits.
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::tmpfile(), std::fclose);
  if (!file || std::fwrite(input.data(), 1, input.size(), file.get()) != input.size()) return {};
  std::rewind(file.get());
  const std::string from = " 2>/dev/null </dev/fd/" + std::to_string(fileno(file.get()));
  FILE* pipe = popen((command + from).c_str(), "r");
  if (!pipe) return {};
  std::string output;
  std::array<char, 4096> part;
  while (const std::size_t n = std::fread(part.data(), 1, part.size(), pipe))
    output.append(part.data(), n);
  return pclose(pipe) == 0 ? output : std::string();
}

#endif

std::string svg_element(const std::string& file) {
  const std::size_t start = file.find("<svg");
  return start == std::string::npos ? std::string() : file.substr(start);
}

}  // namespace xtape::detail
