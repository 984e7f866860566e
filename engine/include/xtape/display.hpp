// Rich display in C++ notebooks (xeus-cling, xeus-cpp): `xcpp::display(x)` for tensors, masks,
// indices, attention maps, charts, tapes and their tables. The only header with nlohmann/json.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <xtape/pictures.hpp>

namespace xtape {

namespace detail {

/// Representations by MIME type, as strings: no type of another library crosses into this one.
using Bundle = std::vector<std::pair<std::string, std::string>>;

template <class E>
XTAPE_API Bundle bundle(const Array<E>& x);
template <class T>
XTAPE_API Bundle bundle(const AttentionMap<T>& map);
template <class T>
XTAPE_API Bundle bundle(const Tape<T>& tape);
XTAPE_API Bundle bundle(const TapeTable& table);
XTAPE_API Bundle bundle(const Chart& chart);

inline nlohmann::json to_json(const Bundle& bundle) {
  nlohmann::json json;
  for (const auto& [type, text] : bundle)
    json[type] =
        type.find("json") == std::string::npos ? nlohmann::json(text) : nlohmann::json::parse(text);
  return json;
}

}  // namespace detail

// Found by argument-dependent lookup. One for each type: a kernel's own template would win over a
// base class's.
template <class E>
nlohmann::json mime_bundle_repr(const Array<E>& x) {
  return detail::to_json(detail::bundle(x));
}
template <class T>
nlohmann::json mime_bundle_repr(const Tensor<T>& x) {
  return detail::to_json(detail::bundle<T>(x));
}
template <class T>
nlohmann::json mime_bundle_repr(const AttentionMap<T>& map) {
  return detail::to_json(detail::bundle(map));
}
template <class T>
nlohmann::json mime_bundle_repr(const Tape<T>& tape) {
  return detail::to_json(detail::bundle(tape));
}
inline nlohmann::json mime_bundle_repr(const TapeTable& table) {
  return detail::to_json(detail::bundle(table));
}
inline nlohmann::json mime_bundle_repr(const Chart& chart) {
  return detail::to_json(detail::bundle(chart));
}

}  // namespace xtape
