// Tensors and tapes as text.
#include <xtape/print.hpp>

#include <ostream>
#include <sstream>

#include "print.hpp"
#include "storage.hpp"

namespace xtape {

using namespace detail;

namespace {

constexpr std::int64_t kWhole = 1000;  // arrays with more values are summarised
constexpr std::int64_t kEdge = 3;      // positions shown at each end of a long axis

template <class E>
void write_array(std::ostream& out, const Body<E>& x, int axis, std::int64_t offset) {
  if (axis == x.shape.rank()) {
    out << x.data[offset];
    return;
  }
  const std::int64_t n = x.shape[axis];
  const bool cut = x.size > kWhole && n > 2 * kEdge;
  out << '[';
  for (std::int64_t i = 0; i < n; ++i) {
    if (i > 0) out << ", ";
    if (cut && i == kEdge) {
      out << "..., ";
      i = n - kEdge;
    }
    write_array(out, x, axis + 1, offset + i * x.strides[axis]);
  }
  out << ']';
}

/// `%2`, with the name of a variable, or a constant's value.
template <class T>
std::string operand_text(const Tape<T>& tape, const Operand<T>& operand) {
  if (operand.line >= 0) {
    const std::string label = tape.node(operand.line).label;
    return text("%", operand.line, label.empty() ? "" : ":" + label);
  }
  if (!operand.constant.has_value()) return "const";
  std::ostringstream out;
  out << operand.constant.item();
  return out.str();
}

std::string escaped(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

template <class T>
std::string detail::call_text(const Tape<T>& tape, std::int64_t line) {
  const Node<T> node = tape.node(line);
  if (node.outputs < 0) return text("output ", -node.outputs, " of %", line + node.outputs);
  std::string call = node.op + "(" + node.label;
  std::string comma;
  for (const Operand<T>& operand : node.inputs) {
    call += comma + operand_text(tape, operand);
    comma = ", ";
  }
  return call + (node.attributes.empty() ? "" : comma + node.attributes) + ")";
}

template <class T>
std::string detail::type_text(const Node<T>& node) {
  return text(dtype<T>(), node.shape);
}

template <class E>
std::string to_string(const Array<E>& x) {
  std::ostringstream out;
  out << std::boolalpha;
  write_array(out, body(x, "print"), 0, 0);
  return out.str();
}

template <class E>
std::ostream& operator<<(std::ostream& out, const Array<E>& x) {
  return out << to_string(x);
}

template <class T>
std::ostream& operator<<(std::ostream& out, const Tape<T>& tape) {
  for (std::int64_t line = 0; line < tape.size(); ++line) {
    out << '%' << line << ": " << type_text(tape.node(line)) << " = " << call_text(tape, line)
        << '\n';
  }
  return out;
}

template <class T>
std::string to_string(const Tape<T>& tape) {
  std::ostringstream out;
  out << tape;
  return out.str();
}

template <class T>
std::string to_dot(const Tape<T>& tape) {
  std::ostringstream out;
  out << "digraph tape {\n  node [shape=box, fontname=\"monospace\"];\n";
  for (std::int64_t line = 0; line < tape.size(); ++line) {
    const Node<T> node = tape.node(line);
    const std::string name = node.label.empty() ? node.op : node.label;
    const std::string detail = node.attributes.empty() ? "" : "\\n" + escaped(node.attributes);
    out << "  n" << line << " [label=\"%" << line << ' ' << escaped(name) << detail << "\\n"
        << type_text(node) << '"' << (node.op == "variable" ? ", style=rounded" : "") << "];\n";
    if (node.outputs < 0) out << "  n" << line + node.outputs << " -> n" << line << ";\n";
    for (const Operand<T>& input : node.inputs)
      if (input.line >= 0) out << "  n" << input.line << " -> n" << line << ";\n";
  }
  out << "}\n";
  return out.str();
}

#define XTAPE_INSTANTIATE(E)                                         \
  template std::ostream& operator<<(std::ostream&, const Array<E>&); \
  template std::string to_string(const Array<E>&);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
XTAPE_INSTANTIATE(bool)
XTAPE_INSTANTIATE(std::int64_t)
#undef XTAPE_INSTANTIATE

#define XTAPE_INSTANTIATE(T)                                            \
  template std::string detail::call_text(const Tape<T>&, std::int64_t); \
  template std::string detail::type_text(const Node<T>&);               \
  template std::ostream& operator<<(std::ostream&, const Tape<T>&);     \
  template std::string to_string(const Tape<T>&);                       \
  template std::string to_dot(const Tape<T>&);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
