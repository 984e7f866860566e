// How the engine of a page is called, and what its tensors look like in JSON.
#include "page.hpp"

#include <cmath>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <string>

namespace page {

using namespace xtape;

Json number(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

Json picture(const Matrix& x) {
  const std::int64_t rows = x.rank() > 1 ? x.dim(-2) : 1, columns = x.rank() > 0 ? x.dim(-1) : 1;
  Json values = Json::array();
  for (const double v : x.values()) values.push_back(number(v));
  return {{"shape", x.shape()},
          {"shown", {1, rows, columns}},
          {"values", values},
          {"low", number(min(x).item())},
          {"high", number(max(x).item())}};
}

namespace {

std::string answer_text(const std::string& question) {
  try {
    return answer(Json::parse(question)).dump();
  } catch (const std::exception& error) {
    return Json{{"error", error.what()}}.dump();
  }
}

}  // namespace

}  // namespace page

#ifdef __EMSCRIPTEN__
/// The text lives until the next call.
extern "C" const char* xtape_answer(const char* question) {
  static std::string text;
  text = page::answer_text(question);
  return text.c_str();
}
#else
int main() {
  std::cout << page::answer_text({std::istreambuf_iterator<char>(std::cin), {}}) << '\n';
}
#endif
