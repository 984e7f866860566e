// Rich display in C++ notebooks: `xcpp::display(x)` for tensors, masks, indices, attention maps,
// charts, tapes and their tables, and formulas. The only header with nlohmann/json.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include <xtape/pictures.hpp>

namespace xtape {

namespace detail {

/// No type of nlohmann's crosses into the library: its version may be another one.
inline nlohmann::json to_json(const MimeBundle& bundle) {
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
  return detail::to_json(mime_bundle(x));
}
template <class T>
nlohmann::json mime_bundle_repr(const Tensor<T>& x) {
  return detail::to_json(mime_bundle(x));
}
template <class T>
nlohmann::json mime_bundle_repr(const AttentionMap<T>& map) {
  return detail::to_json(mime_bundle(map));
}
template <class T>
nlohmann::json mime_bundle_repr(const Tape<T>& tape) {
  return detail::to_json(mime_bundle(tape));
}
inline nlohmann::json mime_bundle_repr(const TapeTable& table) {
  return detail::to_json(mime_bundle(table));
}
inline nlohmann::json mime_bundle_repr(const Chart& chart) {
  return detail::to_json(mime_bundle(chart));
}
inline nlohmann::json mime_bundle_repr(const Formula& formula) {
  return detail::to_json(mime_bundle(formula));
}

}  // namespace xtape
