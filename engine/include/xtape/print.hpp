// Tensors, masks and tapes as text, and a tape as a graph in Graphviz's language.
#pragma once

#include <iosfwd>
#include <string>

#include <xtape/tape.hpp>

namespace xtape {

/// Nested lists, `[[1, 2], [3, 4]]`: 6 significant digits, the middle of long axes left out.
template <class E>
XTAPE_API std::string to_string(const Array<E>& x);
template <class T>
std::string to_string(const Tensor<T>& x) {
  return to_string(static_cast<const Array<T>&>(x));
}

/// A tape as its Wengert list, a line each: `%2: f64[3] = mul(%0:x, %1)`.
template <class T>
XTAPE_API std::string to_string(const Tape<T>& tape);

/// A tape as a graph in DOT: a node each line, an edge each use.
template <class T>
XTAPE_API std::string to_dot(const Tape<T>& tape);

template <class E>
XTAPE_API std::ostream& operator<<(std::ostream& out, const Array<E>& x);
template <class T>
XTAPE_API std::ostream& operator<<(std::ostream& out, const Tape<T>& tape);

}  // namespace xtape
