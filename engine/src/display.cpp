// What notebooks are shown of each type, by MIME type. JupyterLab shows the first that it knows of
// HTML, Vega-Lite, Mermaid, SVG and text, so that no bundle has two that compete.
#include <cstdint>

#include <xtape/pictures.hpp>
#include <xtape/print.hpp>

namespace xtape {

namespace {

constexpr std::int64_t kGraph = 150;  // lines of a tape beyond which a graph is no help

constexpr const char* kText = "text/plain";
constexpr const char* kSvg = "image/svg+xml";

}  // namespace

template <class E>
MimeBundle mime_bundle(const Array<E>& x) {
  return {{kSvg, to_svg(x)}, {kText, to_string(x)}};
}

template <class T>
MimeBundle mime_bundle(const AttentionMap<T>& map) {
  return {{kSvg, to_svg(map)}, {kText, map.title + " " + to_string(map.weights)}};
}

template <class T>
MimeBundle mime_bundle(const Tape<T>& tape) {
  if (tape.size() > kGraph) return mime_bundle(tape_table(tape));
  const std::string svg = to_svg(tape);
  if (svg.empty()) return {{"text/vnd.mermaid", to_mermaid(tape)}, {kText, to_string(tape)}};
  return {{kSvg, svg}, {kText, to_string(tape)}};
}

MimeBundle mime_bundle(const TapeTable& table) {
  return {{"text/html", to_html(table)}, {kText, to_string(table)}};
}

MimeBundle mime_bundle(const Chart& chart) {
  MimeBundle result{{"application/vnd.vegalite.v5+json", to_vegalite(chart)}};
  if (const std::string svg = to_svg(chart); !svg.empty()) result.emplace_back(kSvg, svg);
  result.emplace_back(kText, chart.title + ": " + chart.y_title + " by " + chart.x_title);
  return result;
}

MimeBundle mime_bundle(const Formula& formula) {
  return {{"text/latex", "$$" + formula.latex + "$$"}, {kText, formula.latex}};
}

template MimeBundle mime_bundle(const Array<float>&);
template MimeBundle mime_bundle(const Array<double>&);
template MimeBundle mime_bundle(const Array<bool>&);
template MimeBundle mime_bundle(const Array<std::int64_t>&);
template MimeBundle mime_bundle(const AttentionMap<float>&);
template MimeBundle mime_bundle(const AttentionMap<double>&);
template MimeBundle mime_bundle(const Tape<float>&);
template MimeBundle mime_bundle(const Tape<double>&);

}  // namespace xtape
