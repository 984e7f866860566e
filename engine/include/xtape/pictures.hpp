// Tensors, attention maps, curves and tapes as pictures, tables and formulas: strings of SVG, HTML,
// Vega-Lite, Mermaid and LaTeX. Blue is positive, orange negative, white 0. Large ones are
// summarised, and say so.
//
//   std::ofstream("w.svg") << to_svg(w);
//
// <xtape/display.hpp> shows them in notebooks of xeus-cling and xeus-cpp.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <xtape/tape.hpp>

namespace xtape {

/// Bars for one axis, a heat map for two, a grid of heat maps for more: of at most 16 slices, 64
/// bars, 32 rows and columns. Small ones show their numbers.
template <class E>
XTAPE_API std::string to_svg(const Array<E>& x);
template <class T>
std::string to_svg(const Tensor<T>& x) {
  return to_svg(static_cast<const Array<T>&>(x));
}

/// A number, a row or a matrix in LaTeX's mathematics, in three significant digits, to stand in a
/// formula. Of more than 8 rows or columns the first and last three, with dots and the shape; more
/// axes, and empty tensors, are named by their type and range.
template <class E>
XTAPE_API std::string to_latex(const Array<E>& x);
template <class T>
std::string to_latex(const Tensor<T>& x) {
  return to_latex(static_cast<const Array<T>&>(x));
}

/// What notebooks typeset: `Formula{"A = " + to_latex(a)}`.
struct Formula {
  std::string latex;  ///< Without dollars.
};

/// What each query takes from each key, to be shown with tokens beside it.
template <class T>
struct AttentionMap {
  Tensor<T> weights;                 ///< [..., Tq, Tk], signed or not.
  std::string title;                 ///< Above the map.
  std::vector<std::string> queries;  ///< Tq labels; none: numbers.
  std::vector<std::string> keys;     ///< Tk labels; none: those of the queries, where Tq = Tk.
  Mask allowed;  ///< [Tq, Tk]: places that are false are hatched; may be absent.
};

/// A heat map with labels, a scale centred at 0 and hatched masked places.
/// Throws: std::invalid_argument for weights of less than two axes, labels or a mask that do not
/// fit.
template <class T>
XTAPE_API std::string to_svg(const AttentionMap<T>& map);

struct Curve {
  std::string name;
  std::vector<double> y;
  std::vector<double> x;  ///< As long as y; none: 0, 1, 2, ...
};

/// Losses by step, or other curves over one axis.
struct Chart {
  std::vector<Curve> curves;
  std::string title;
  std::string x_title = "step";
  std::string y_title = "loss";
};

/// A Vega-Lite 5 specification. Curves keep 200 points at most; those that are not finite are left
/// out.
/// Throws: std::invalid_argument when a curve's x is not as long as its y.
XTAPE_API std::string to_vegalite(const Chart& chart);

/// Drawn by gnuplot; empty where that is not found.
/// Throws: as to_vegalite.
XTAPE_API std::string to_svg(const Chart& chart);

/// The lines of a tape as texts.
struct TapeTable {
  struct Row {
    std::string line;     ///< `%2:x`
    std::string type;     ///< `f64[2, 3]`
    std::string op;       ///< `matmul(%0:w, %1)`
    std::string value;    ///< Empty when the tape did not keep it.
    std::string adjoint;  ///< The target's derivative with respect to this line.
  };
  std::vector<Row> rows;
  std::string target;  ///< The adjoints' target, `%7`; empty without one.
};

/// `Tape(Keep::values)` keeps every line's value.
template <class T>
XTAPE_API TapeTable tape_table(const Tape<T>& tape);
/// With the adjoint of every line between the variables and the target.
/// Throws: std::logic_error when the target does not stand on this tape; std::invalid_argument when
/// it has more than one element.
template <class T>
XTAPE_API TapeTable tape_table(Tape<T>& tape, In<T> target);

/// A table in HTML: of 60 rows at most, the first and the last.
XTAPE_API std::string to_html(const TapeTable& table);
/// The same as aligned text.
XTAPE_API std::string to_string(const TapeTable& table);

/// A tape as a graph, laid out by Graphviz; empty where its `dot` is not found.
template <class T>
XTAPE_API std::string to_svg(const Tape<T>& tape);

/// A tape as a graph in Mermaid's language.
template <class T>
XTAPE_API std::string to_mermaid(const Tape<T>& tape);

/// Representations by MIME type: what notebooks are given of an object.
using MimeBundle = std::vector<std::pair<std::string, std::string>>;

/// One picture or table, and text for those who cannot see it.
template <class E>
XTAPE_API MimeBundle mime_bundle(const Array<E>& x);
template <class T>
MimeBundle mime_bundle(const Tensor<T>& x) {
  return mime_bundle(static_cast<const Array<T>&>(x));
}
template <class T>
XTAPE_API MimeBundle mime_bundle(const AttentionMap<T>& map);
template <class T>
XTAPE_API MimeBundle mime_bundle(const Tape<T>& tape);
XTAPE_API MimeBundle mime_bundle(const TapeTable& table);
XTAPE_API MimeBundle mime_bundle(const Chart& chart);
XTAPE_API MimeBundle mime_bundle(const Formula& formula);

}  // namespace xtape
