// Values under their names.
#include <xtape/parameters.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

#include "storage.hpp"

namespace xtape {

namespace {

/// How many letters must be put in, left out or changed to make b of a.
/// Source: Wagner and Fischer, "The string-to-string correction problem", 1974.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);  // for the letters of a so far, each start of b
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t before = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j)
      before = std::exchange(
          row[j + 1], std::min({row[j + 1] + 1, row[j] + 1, before + (a[i] == b[j] ? 0 : 1)}));
  }
  return row.back();
}

}  // namespace

template <class T>
const Tensor<T>& at(const Parameters<T>& model, std::string_view name) {
  for (const Parameter<T>& p : model)
    if (p.name == name) return p.value;
  const std::string missing = "no parameter is named \"" + std::string(name) + "\": ";
  if (model.empty()) detail::fail("at", missing, "the list is empty.");
  const auto nearest = std::min_element(model.begin(), model.end(), [&](auto& a, auto& b) {
    return edits(a.name, name) < edits(b.name, name);
  });
  detail::fail("at", missing, "of the names in the list \"", nearest->name, "\" is most like it.");
}

template <class T>
Tensor<T>& at(Parameters<T>& model, std::string_view name) {
  return const_cast<Tensor<T>&>(at(std::as_const(model), name));
}

template <class T>
std::int64_t count(const Parameters<T>& model) {
  std::int64_t n = 0;
  for (const Parameter<T>& p : model) n += p.value.size();
  return n;
}

#define XTAPE_INSTANTIATE(T)                                            \
  template const Tensor<T>& at(const Parameters<T>&, std::string_view); \
  template Tensor<T>& at(Parameters<T>&, std::string_view);             \
  template std::int64_t count(const Parameters<T>&);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
