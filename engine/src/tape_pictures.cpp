// Tapes as tables and graphs.
#include <algorithm>
#include <cstdio>
#include <sstream>

#include <xtape/pictures.hpp>
#include <xtape/print.hpp>

#include "pipe.hpp"
#include "print.hpp"
#include "state.hpp"
#include "storage.hpp"
#include "svg.hpp"

namespace xtape {

using namespace detail;

namespace {

constexpr std::size_t kRows = 60;
constexpr std::int64_t kShort = 12;  // tensors of more values are summarised in a table

template <class T>
std::string cell(const Tensor<T>& x) {
  if (!x.has_value()) return {};
  if (x.size() <= kShort) return to_string(x);
  const std::vector<T> values = x.values();
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return short_number(static_cast<double>(*low)) + " to " +
         short_number(static_cast<double>(*high));
}

/// Something that stands on a line, whatever its value: what a sweep takes for a variable.
template <class T>
Tensor<T> on_line(TapeState<T>& tape, std::int64_t line) {
  Tensor<T> x(0);
  x.raw()->place = {&tape, tape.epoch.load(std::memory_order_relaxed), line};
  return x;
}

/// Calls show(row) for the rows that are shown, and cut(number) where some are left out.
template <class Show, class Cut>
void each_row(const TapeTable& table, const Show& show, const Cut& cut) {
  const std::size_t n = table.rows.size();
  for (std::size_t i = 0; i < n; ++i) {
    if (n > kRows && i == kRows / 2) {
      cut(n - kRows);
      i = n - kRows / 2;
    }
    show(table.rows[i]);
  }
}

std::vector<std::string> cells(const TapeTable& table, const TapeTable::Row& row) {
  std::vector<std::string> result{row.line, row.type, row.op, row.value};
  if (!table.target.empty()) result.push_back(row.adjoint);
  return result;
}

TapeTable::Row heading(const TapeTable& table) {
  return {"line", "type", "op", "value", "d" + table.target + " / dline"};
}

}  // namespace

template <class T>
TapeTable tape_table(const Tape<T>& tape) {
  TapeTable table;
  for (std::int64_t line = 0; line < tape.size(); ++line) {
    const Node<T> node = tape.node(line);
    table.rows.push_back({text("%", line, node.label.empty() ? "" : ":" + node.label),
                          type_text(node), call_text(tape, line), cell(node.value), ""});
  }
  return table;
}

template <class T>
TapeTable tape_table(Tape<T>& tape, In<T> target) {
  TapeTable table = tape_table(tape);
  const std::int64_t last = tape.line(target);
  Tensors<T> variables;
  for (std::int64_t line = 0; line <= last; ++line)
    if (tape.node(line).op == "variable") variables.push_back(on_line(*find(target).state, line));
  tape.gradient(target, variables,
                Sweep<T>(Record::no, [&table](std::int64_t line, In<T> g, const auto&) {
                  table.rows[static_cast<std::size_t>(line)].adjoint = cell(g);
                }));
  table.target = text("%", last);
  return table;
}

std::string to_html(const TapeTable& table) {
  const auto row = [&table](const TapeTable::Row& texts, const std::string& tag) {
    std::string html = "<tr>";
    for (const std::string& cell : cells(table, texts))
      html += "<" + tag + " style=\"text-align:left\">" + markup(cell) + "</" + tag + ">";
    return html + "</tr>";
  };
  std::string html = "<table><thead>" + row(heading(table), "th") +
                     "</thead><tbody style=\"font-family:monospace\">";
  each_row(
      table, [&](const TapeTable::Row& texts) { html += row(texts, "td"); },
      [&](std::size_t n) {
        html += text("<tr><td colspan=\"5\">", n, " lines left out</td></tr>");
      });
  return html + "</tbody></table>";
}

std::string to_string(const TapeTable& table) {
  std::vector<std::size_t> widths(5);
  const auto widen = [&](const TapeTable::Row& texts) {
    const auto row = cells(table, texts);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  };
  widen(heading(table));
  each_row(table, widen, [](std::size_t) {});
  std::string result;
  const auto write = [&](const TapeTable::Row& texts) {
    std::string line;
    const auto row = cells(table, texts);
    for (std::size_t i = 0; i < row.size(); ++i)
      line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    result += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  };
  write(heading(table));
  each_row(table, write, [&](std::size_t n) { result += text(n, " lines left out\n"); });
  return result;
}

template <class T>
std::string to_svg(const Tape<T>& tape) {
  return svg_element(output_of("dot -Tsvg", to_dot(tape)));
}

template <class T>
std::string to_mermaid(const Tape<T>& tape) {
  std::string result = "flowchart TD\n";
  for (std::int64_t line = 0; line < tape.size(); ++line) {
    const Node<T> node = tape.node(line);
    const bool variable = node.op == "variable";
    const std::string name = node.label.empty() ? node.op : node.label;
    result += text("  n", line, variable ? "([\"" : "[\"", "%", line, " ", markup(name), "<br>",
                   type_text(node), variable ? "\"])\n" : "\"]\n");
    if (node.outputs < 0) result += text("  n", line + node.outputs, " --> n", line, "\n");
    for (const Operand<T>& input : node.inputs)
      if (input.line >= 0) result += text("  n", input.line, " --> n", line, "\n");
  }
  return result;
}

#define XTAPE_INSTANTIATE(T)                      \
  template TapeTable tape_table(const Tape<T>&);  \
  template TapeTable tape_table(Tape<T>&, In<T>); \
  template std::string to_svg(const Tape<T>&);    \
  template std::string to_mermaid(const Tape<T>&);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
