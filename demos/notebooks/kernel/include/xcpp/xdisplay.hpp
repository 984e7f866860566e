// xcpp::display as in xeus-cling and xeus-cpp: what the notebook shows of an object goes to
// standard output between two control characters, so that it keeps its place among what is printed.
//
// An object is shown by mime_bundle(x) or mime_bundle_repr(x), found by argument-dependent lookup,
// else as Cling prints it.
#pragma once

#include <cstdio>
#include <iostream>
#include <string>

namespace xcpp {

namespace detail {

/// Preferred in this order, where they compile.
struct Third {};
struct Second : Third {};
struct First : Second {};

template <class T>
auto bundle(const T& x, First) -> decltype(mime_bundle(x), std::string()) {
  std::string text;
  for (const auto& item : mime_bundle(x)) text += item.first + '\x1f' + item.second + '\x1e';
  return text;
}
template <class T>
auto bundle(const T& x, Second) -> decltype(mime_bundle_repr(x).dump()) {
  return mime_bundle_repr(x).dump();
}
template <class T>
std::string bundle(const T& x, Third) {
#ifdef __CLING__
  return "text/plain\x1f" + cling::printValue(&x) + '\x1e';
#else
  return "text/plain\x1f(no text)\x1e";
#endif
}

inline void send(const std::string& kind, const std::string& bundle) {
  std::cout << '\x02' << kind << '\x1d' << bundle << '\x03' << std::flush;
}

/// What the last expression of a cell is followed by, so that it may also be void.
struct Nothing {};
template <class T>
const T& operator,(const T& x, Nothing) {
  return x;
}
template <class T>
void show(const T& x) {
  send("result", bundle(x, First()));
}
inline void show(Nothing) {}

}  // namespace detail

template <class T>
void display(const T& x) {
  detail::send("display", detail::bundle(x, detail::First()));
}
/// With an id that later calls may replace: `display(x, id, true)`.
template <class T>
void display(const T& x, const std::string& id, bool update = false) {
  detail::send((update ? "update:" : "display:") + id, detail::bundle(x, detail::First()));
}

}  // namespace xcpp
