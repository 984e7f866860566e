// The checks of the op table's rows.
#include "support/checks.hpp"

#include <cmath>
#include <limits>
#include <sstream>

#include <xtape/grad.hpp>
#include <xtape/gradient_check.hpp>
#include <xtape/memory.hpp>
#include <xtape/ops/elementwise.hpp>
#include <xtape/ops/shape.hpp>
#include <xtape/print.hpp>
#include <xtape/random.hpp>
#include <xtape/record.hpp>
#include <xtape/tape.hpp>

#include "support/close.hpp"

namespace checks {

namespace {

using closeness::same_bits;
using op_table::Tensors;
using xtape::Function;
using xtape::Tape;
using xtape::Tensor;
using xtape::to_string;

template <class T>
struct Problem {
  std::vector<plain::Array> plain;
  plain::Array plain_seed;
  Tensors<T> inputs;
  Tensor<T> seed;
  Function<T> f;
};

/// Random inputs, and a random cotangent of what the scalar loop gives.
template <class T>
Problem<T> problem(const Case& c) {
  Problem<T> p;
  p.plain = op_table::inputs(c.row, c.sample, c.seed);
  const plain::Shape shape = c.row.value(p.plain).shape;
  const auto g = xtape::Random(c.seed + 1).normal<float>(shape).values();
  p.plain_seed = {shape, plain::Values(g.begin(), g.end())};
  p.inputs = op_table::tensors<T>(p.plain);
  p.seed = op_table::tensor<T>(p.plain_seed);
  p.f = c.op.of<T>();
  return p;
}

template <class T>
struct Derived {
  Tensor<T> value;
  Tensors<T> gradients;
};

template <class T>
Derived<T> derive(const Function<T>& f, const Tensors<T>& inputs, const Tensor<T>& seed) {
  Tape<T> tape;
  const Tensors<T> x = tape.variable(inputs);
  const Tensor<T> y = f(x);
  return {xtape::stop_gradient(y), tape.vjp(y, seed, x)};
}

std::string of_input(std::size_t i) { return " of input " + std::to_string(i); }

/// What differs between two results, if anything does.
template <class T>
std::string difference(const Derived<T>& found, const Derived<T>& expected) {
  if (!same_bits(found.value, expected.value))
    return "the value is " + to_string(found.value) + ", not " + to_string(expected.value);
  for (std::size_t i = 0; i < found.gradients.size(); ++i)
    if (!same_bits(found.gradients[i], expected.gradients[i]))
      return "the gradient" + of_input(i) + " is " + to_string(found.gradients[i]) + ", not " +
             to_string(expected.gradients[i]);
  return {};
}

/// What is wrong with found, if anything is.
template <class T>
std::string deviation(const Tensor<T>& found, const plain::Shape& shape,
                      const plain::Values& expected) {
  std::ostringstream out;
  if (found.shape() != shape) {
    out << "has shape " << to_string(found.shape()) << ", not " << to_string(shape);
  } else if (const double e = closeness::error(found.values(), expected);
             !(e <= closeness::tolerance<T>())) {
    out << "is off by " << e << ": " << to_string(found) << ", not "
        << to_string(op_table::tensor<T>({shape, expected}));
  }
  return out.str();
}

// ---- layouts ---------------------------------------------------------------------------------

/// The same values, in memory in the reverse order of axes.
template <class T>
Tensor<T> transposed(const Tensor<T>& x) {
  std::vector<std::int64_t> order;
  for (int i = x.rank() - 1; i >= 0; --i) order.push_back(i);
  return transpose(contiguous(transpose(x, order)), order);
}

/// The same values with a NaN before and after each.
template <class T>
Tensor<T> with_gaps(const Tensor<T>& x) {
  std::vector<T> wide{std::numeric_limits<T>::quiet_NaN()};
  for (T v : x.values()) wide.insert(wide.end(), {v, wide[0]});
  const auto n = static_cast<std::int64_t>(wide.size());
  return reshape(slice(Tensor<T>({n}, wide), 0, 1, n, 2), x.shape());
}

/// The same values, in memory from the last to the first.
template <class T>
Tensor<T> reversed(const Tensor<T>& x) {
  return flip(contiguous(flip(x)));
}

/// The first slice along the first axis, again and again.
template <class T>
Tensor<T> repeated_rows(const Tensor<T>& x) {
  if (x.rank() == 0 || x.dim(0) == 0) return x;
  return broadcast_to(slice(x, 0, 0, 1), x.shape());
}

/// The first value everywhere.
template <class T>
Tensor<T> repeated_value(const Tensor<T>& x) {
  if (x.size() == 0) return x;
  return broadcast_to(Tensor<T>(x.values()[0]), x.shape());
}

}  // namespace

std::string describe(const Case& c) {
  std::string text = c.row.name + " at";
  for (const plain::Shape& shape : c.sample) text += " " + to_string(shape);
  return text + ", seed " + std::to_string(c.seed);
}

template <class T>
std::string value(const Case& c) {
  const Problem<T> p = problem<T>(c);
  const plain::Array expected = c.row.value(p.plain);
  const std::string text = deviation(p.f(p.inputs), expected.shape, expected.values);
  return text.empty() ? text : "the value " + text;
}

template <class T>
std::string vjp(const Case& c) {
  const Problem<T> p = problem<T>(c);
  const plain::Gradients expected = c.row.vjp(p.plain, p.plain_seed);
  const Tensors<T> found = derive(p.f, p.inputs, p.seed).gradients;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string text = deviation(found[i], p.plain[i].shape, expected[i]);
    if (!text.empty()) return "the gradient" + of_input(i) + " " + text;
  }
  return {};
}

std::string differences(const Case& c, int order) {
  const Problem<double> p = problem<double>(c);
  xtape::GradientCheck<double> options;
  options.order = order;
  options.seed = c.seed;
  return check_gradients(p.f, p.inputs, options).message;
}

template <class T>
std::string layouts(const Case& c, int& strided) {
  const Problem<T> p = problem<T>(c);
  using Layout = Tensor<T> (*)(const Tensor<T>&);
  for (const Layout layout : {Layout(transposed), Layout(with_gaps), Layout(reversed),
                              Layout(repeated_rows), Layout(repeated_value)})
    // Each input alone, then the cotangent, then all.
    for (std::size_t which = 0; which <= p.inputs.size() + 1; ++which) {
      Tensors<T> views = p.inputs;
      views.push_back(p.seed);
      for (std::size_t i = 0; i < views.size(); ++i)
        if (i == which || which == views.size()) views[i] = layout(views[i]);
      Tensors<T> copies;
      for (const Tensor<T>& x : views) {
        copies.emplace_back(x.shape(), x.values());
        strided += x.is_contiguous() ? 0 : 1;
      }
      const auto at = [&](const Tensors<T>& all) {
        return derive(p.f, Tensors<T>(all.begin(), all.end() - 1), all.back());
      };
      const std::string text = difference(at(views), at(copies));
      if (!text.empty()) return text;
    }
  return {};
}

template <class T>
std::string inputs_unchanged(const Case& c) {
  const Problem<T> p = problem<T>(c);
  derive(p.f, p.inputs, p.seed);
  for (std::size_t i = 0; i < p.inputs.size(); ++i)
    if (!same_bits(p.inputs[i], op_table::tensor<T>(p.plain[i])))
      return "the value changed" + of_input(i);
  return same_bits(p.seed, op_table::tensor<T>(p.plain_seed)) ? "" : "the cotangent changed";
}

template <class T>
std::string constants(const Case& c) {
  const Problem<T> p = problem<T>(c);
  const Derived<T> all = derive(p.f, p.inputs, p.seed);
  for (std::size_t i = 0; i < p.inputs.size(); ++i) {
    Tape<T> tape;
    Tensors<T> x = p.inputs;
    x[i] = tape.variable(x[i]);
    const Tensor<T> y = p.f(x);
    for (std::int64_t line = 1; line < tape.size(); ++line) {
      const xtape::Node<T> node = tape.node(line);
      bool depends = node.outputs < 1;  // the first line of its op has the inputs
      for (const auto& input : node.inputs) depends = depends || input.line >= 0;
      if (!depends)
        return "a constant has line " + std::to_string(line) + " when only the variable" +
               of_input(i) + " is on the tape: " + to_string(tape);
    }
    if (!same_bits(tape.vjp(y, p.seed, x[i]), all.gradients[i]))
      return "the gradient" + of_input(i) + " changes when the others are constants";
  }
  Tape<T> tape;
  tape.variable(Tensor<T>(1));
  const Tensor<T> y = p.f(p.inputs);
  if (tape.size() != 1 || is_recorded(y)) return "constants alone are written on a tape";
  return same_bits(y, all.value) ? "" : "the value of constants has other bits";
}

template <class T>
std::string repeated(const Case& c) {
  const Problem<T> p = problem<T>(c);
  Tape<T> tape;
  const Tensors<T> x = tape.variable(p.inputs);
  const Tensor<T> y = p.f(x);
  const Derived<T> first{y, tape.vjp(y, p.seed, x)};
  const std::string text = difference({y, tape.vjp(y, p.seed, x)}, first);
  return text.empty() ? difference(derive(p.f, p.inputs, p.seed), first) : text;
}

template <class T>
std::string unwritten(const Case& c) {
  const Problem<T> p = problem<T>(c);
  const Derived<T> clean = derive(p.f, p.inputs, p.seed);
  struct Poison {
    Poison() { xtape::detail::poison_memory(true); }
    ~Poison() { xtape::detail::poison_memory(false); }
  } poison;
  return difference(derive(p.f, p.inputs, p.seed), clean);
}

template <class T>
std::string dtypes(const Case& c) {
  const Problem<T> p = problem<T>(c);
  Tape<T> tape;
  p.f(tape.variable(p.inputs));
  std::istringstream lines(to_string(tape));
  std::string line;
  std::int64_t count = 0;
  for (; std::getline(lines, line); ++count)
    if (line.find(std::string(": ") + xtape::dtype<T>() + "[") == std::string::npos) return line;
  return count == tape.size() ? "" : "a line is missing in " + to_string(tape);
}

namespace {

/// What is wrong with an op: factors for its value and for one input's pullback, or that this
/// pullback leaves the tape.
struct Mutation {
  double value = 1;
  std::size_t input = 0;
  double pullback = 1;
  bool constant = false;
};

/// f with a mutation.
template <class T>
Function<T> mutant(const Function<T>& f, const Mutation& how) {
  return [=](const Tensors<T>& x) {
    Tensors<T> fixed;
    for (const Tensor<T>& v : x) fixed.push_back(stop_gradient(v));
    const auto rule = [=](const Tensors<T>& g, const std::vector<bool>& needed) {
      Tensors<T> result(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (!needed[i]) continue;
        const auto of_one = [&](const Tensor<T>& v) {
          Tensors<T> at = x;
          at[i] = v;
          return f(at);
        };
        result[i] = xtape::vjp(of_one, x[i], g[0]).second;
        if (i != how.input) continue;
        if (how.pullback != 1) result[i] = result[i] * how.pullback;
        if (how.constant) result[i] = stop_gradient(result[i]);
      }
      return result;
    };
    const Tensor<T> y = how.value == 1 ? f(fixed) : f(fixed) * how.value;
    return xtape::record_joint<T>("mutant", {y}, x, rule)[0];
  };
}

Op mutant(const Op& op, const Mutation& how) {
  return Op([op, how](const auto& x) {
    using Element = std::decay_t<decltype(x[0].item())>;
    return mutant<Element>(op.of<Element>(), how)(x);
  });
}

}  // namespace

Op with_pullback_times(const Op& op, std::size_t input, double factor) {
  Mutation how;
  how.input = input;
  how.pullback = factor;
  return mutant(op, how);
}

Op with_value_times(const Op& op, double factor) {
  Mutation how;
  how.value = factor;
  return mutant(op, how);
}

Op with_constant_pullback(const Op& op, std::size_t input) {
  Mutation how;
  how.input = input;
  how.constant = true;
  return mutant(op, how);
}

double largest_gradient(const Case& c, std::size_t input) {
  const Problem<double> p = problem<double>(c);
  double largest = 0;
  const plain::Gradients gradients = c.row.vjp(p.plain, p.plain_seed);
  for (double v : gradients[input]) largest = std::max(largest, std::abs(v));
  return largest;
}

#define INSTANTIATE(T)                                   \
  template std::string value<T>(const Case&);            \
  template std::string vjp<T>(const Case&);              \
  template std::string layouts<T>(const Case&, int&);    \
  template std::string inputs_unchanged<T>(const Case&); \
  template std::string constants<T>(const Case&);        \
  template std::string repeated<T>(const Case&);         \
  template std::string unwritten<T>(const Case&);        \
  template std::string dtypes<T>(const Case&);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace checks
