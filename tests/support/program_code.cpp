// Programs written as C++ code for xtape.
#include <algorithm>
#include <cstdio>

#include "support/program_evaluator.hpp"
#include "support/program_rules.hpp"
#include "support/program_xtape.hpp"

namespace programs {

namespace {

std::string text(double x) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.17g", x);
  for (int precision = 1; precision < 17; ++precision) {  // the shortest that is the same number
    char fewer[32];
    std::snprintf(fewer, sizeof fewer, "%.*g", precision, x);
    if (std::stod(fewer) == x) return fewer;
  }
  return digits;
}

/// {a, b, ...}
template <class Item, class Write>
std::string list(const std::vector<Item>& items, const Write& write) {
  std::string result;
  for (const Item& item : items) result += (result.empty() ? "" : ", ") + write(item);
  return "{" + result + "}";
}
std::string list(const Ints& items) {
  return list(items, [](Int i) { return std::to_string(i); });
}

std::string name(Int value) { return "v" + std::to_string(value); }

Ints rest(const Ints& numbers, Int first) { return Ints(numbers.begin() + first, numbers.end()); }

std::string axes(const Ints& numbers, Int first) {
  return at(numbers, first) ? "all" : "std::vector<std::int64_t>" + list(rest(numbers, first + 1));
}

std::string index(const Ints& shape, const Ints& items) {
  return "Index(Shape" + list(shape) + ", " + list(items) + ")";
}

std::string allowed(const Ints& numbers, Int first) {
  const Table table(numbers, first);
  return "Mask(Shape" + list(table.shape) + ", " +
         list(table.items, [](Int i) -> std::string { return i ? "true" : "false"; }) + ")";
}

std::string tensor(const Plain& x) {
  return "Tensor<double>(Shape" + list(x.shape) + ", " + list(x.values, text) + ")";
}

std::string where(const Step& s, const std::string& a, const std::string& b) {
  const std::string conditions[] = {a + " < " + b,
                                    a + " <= " + b,
                                    a + " > " + b,
                                    "!(" + a + " < " + b + ")",
                                    "(" + a + " > " + b + ") | equal(" + a + ", " + b + ")",
                                    "(" + a + " <= " + b + ") & !equal(" + a + ", " + b + ")"};
  const std::string taken = s.numbers[1] == 2 ? text(s.reals[0]) : name(s.from[2]);
  const std::string other = s.numbers[1] == 1 ? text(s.reals[0]) : name(s.from.back());
  return "where(" + conditions[s.numbers[0]] + ", " + taken + ", " + other + ")";
}

/// What follows the operands in the call of an op, as ", a, b".
std::string arguments(const Step& s, const Ints& shape) {
  const Ints& n = s.numbers;
  const auto is = [&](std::initializer_list<const char*> ops) {
    return std::any_of(ops.begin(), ops.end(), [&](const char* op) { return s.op == op; });
  };
  std::string result;
  const auto put = [&](const std::string& argument) { result += ", " + argument; };
  if (is({"sum", "mean", "max", "min", "prod", "var", "norm", "logsumexp"})) {
    put(axes(n, 1));
    put(n[0] ? "true" : "false");
    if (s.op == "var") put(text(s.reals[0]));
  } else if (is({"squeeze", "flip"})) {
    put(axes(n, 0));
  } else if (s.op == "mask") {
    put(allowed(n, 0) + ", " + text(s.reals[0]));
  } else if (s.op == "softmax" && n.size() > 1) {
    put(allowed(n, 1) + ", " + std::to_string(n[0]));
  } else if (s.op == "transpose") {
    if (!n.empty()) put("std::vector<std::int64_t>" + list(n));
  } else if (is({"reshape", "broadcast_to"})) {
    put("Shape" + list(n));
  } else if (s.op == "split") {
    put(list(rest(n, 1)) + ", " + std::to_string(n[0]));
  } else if (s.op == "gather") {
    put(index(Table(n, 1).shape, Table(n, 1).items) + ", " + std::to_string(n[0]));
  } else if (s.op == "scatter_add") {
    put(index(Table(n, 2).shape, Table(n, 2).items) + ", " + std::to_string(n[1]) + ", " +
        std::to_string(n[0]));
  } else if (s.op == "take_along_axis") {
    Ints wanted = shape;
    at(wanted, axis_of(n[0], count(shape))) = n[1];
    put(index(wanted, rest(n, 2)) + ", " + std::to_string(n[0]));
  } else if (s.op == "cross_entropy") {
    if (s.from.size() == 1) put(index(Ints(shape.begin(), shape.end() - 1), n));
  } else if (s.op == "pad") {
    std::string widths;
    for (Int i = 0; i < count(n); i += 2)
      widths +=
          (i ? ", {" : "{") + std::to_string(at(n, i)) + ", " + std::to_string(at(n, i + 1)) + "}";
    put("std::vector<std::array<std::int64_t, 2>>{" + widths + "}, " + text(s.reals[0]));
  } else if (is({"attention", "differential_attention"})) {
    put(n[0] ? "true" : "false");
  } else {
    for (Int number : n) put(std::to_string(number));
    for (double real : s.reals) put(text(real));
  }
  return result;
}

std::string call(const Step& step, const std::vector<Plain>& values) {
  if (is_input(step))
    return step.op == "variable" ? "tape.variable(" + tensor(step.input) + ")" : tensor(step.input);
  if (step.op == "where") return where(step, name(step.from[0]), name(step.from[1]));
  const Ints& shape = at(values, step.from[0]).shape;
  std::string operands = list(step.from, name);
  if (step.op == "concatenate" || step.op == "stack")
    operands = "std::vector<Tensor<double>>" + operands;
  else
    operands = operands.substr(1, operands.size() - 2);
  return step.op + "(" + operands + arguments(step, shape) + ")";
}

}  // namespace

std::string code(const Program& program, const std::string& function) {
  const std::vector<Plain> values = evaluate(program);
  std::string result = "void " + function + "() {\n  Tape<double> tape;\n";
  Int first = 0;
  for (const Step& step : program.steps) {
    const bool several = step.op == "split" || step.op == "unstack";
    const std::string left = several ? "parts" + std::to_string(first) : name(first);
    result += "  const auto " + left + " = " + call(step, values) + ";\n";
    for (Int k = 0; several && k < step.outputs; ++k)
      result += "  const auto " + name(first + k) + " = " + left + "[" + std::to_string(k) + "];\n";
    for (Int k = first; k < first + step.outputs && !is_input(step); ++k)
      result += "  expect(\"" + name(k) + "\", " + name(k) + ", " + tensor(at(values, k)) + ");\n";
    first += step.outputs;
  }
  result += "  Tensor<double> y = 0;\n";
  for (Int i : results(program)) result += "  y = y + weigh(" + name(i) + ");\n";
  const std::vector<Plain> slopes = gradients(program);
  const Ints names = variables(program);
  for (Int k = 0; k < count(names); ++k) {
    const std::string variable = name(at(names, k));
    result += "  expect(\"the gradient of " + variable + "\", tape.gradient(y, " + variable +
              "), " + tensor(at(slopes, k)) + ");\n";
  }
  return result + "}\n";
}

std::string source_file(const std::vector<Program>& programs) {
  std::string result =
      "#include <iostream>\n"
      "#include <string>\n\n"
      "#include <xtape/xtape.hpp>\n\n"
      "using namespace xtape;\n\n"
      "// The sum of all values, each weighed by the cosine of its number.\n"
      "Tensor<double> weigh(const Tensor<double>& x) {\n"
      "  const auto n = static_cast<double>(x.size());\n"
      "  return sum(x * reshape(cos(Tensor<double>::arange(0, n)), x.shape()));\n"
      "}\n\n"
      "int failures = 0;\n\n"
      "// Prints what is not as it should be.\n"
      "void expect(const std::string& name, const Tensor<double>& found,\n"
      "            const Tensor<double>& expected) {\n"
      "  if (found.shape() == expected.shape() &&\n"
      "      norm(found - expected).item() <= 1e-9 * (1 + norm(expected).item()))\n"
      "    return;\n"
      "  std::cout << name << \": \" << found << \", expected \" << expected << '\\n';\n"
      "  ++failures;\n"
      "}\n\n";
  std::string calls;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const std::string function = "program_" + std::to_string(i + 1);
    result += code(programs[i], function) + "\n";
    calls += "  " + function + "();\n";
  }
  return result + "int main() {\n" + calls + "  return failures == 0 ? 0 : 1;\n}\n";
}

}  // namespace programs
