// A row for each op of ops.hpp, and what every op must fulfil: its value is a plain loop's, its
// gradients are those derived by hand and central differences, and so are their own gradients.
#include "ops.hpp"

#include <functional>
#include <iostream>
#include <limits>
#include <string>

namespace {

using Values = std::vector<double>;

struct Row {
  std::string name;
  std::vector<Shape> shapes;
  Function<float> op_float;
  Function<double> op_double;
  // Plain loops over values; n is the length of the last axis.
  std::function<Values(const Values& x, std::size_t n)> value;
  std::function<Values(const Values& x, const Values& g, std::size_t n)> vjp;
};

/// A row for an op of one tensor, for both types made from one generic function.
template <class Op, class Value, class Vjp>
Row row(const char* name, const std::vector<Shape>& shapes, Op op, Value value, Vjp vjp) {
  const auto first = [op](const auto& x) { return op(x[0]); };
  return {name, shapes, first, first, value, vjp};
}

double rms(const Values& x, std::size_t row, std::size_t n) {
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i) squares += x[row + i] * x[row + i];
  return std::sqrt(squares / double(n) + 1e-6);
}

std::vector<Row> rows() {
  return {
      row(
          "softsign", {{2, 3}, {}, {1}, {0}}, [](const auto& x) { return softsign(x); },
          [](Values x, std::size_t) {
            for (double& v : x) v = v / (1 + std::abs(v));
            return x;
          },
          [](Values x, const Values& g, std::size_t) {
            for (std::size_t i = 0; i < x.size(); ++i)
              x[i] = g[i] / std::pow(1 + std::abs(x[i]), 2);
            return x;
          }),
      row(
          "unit_rms", {{2, 3}, {4}, {1, 2, 3}, {0, 3}}, [](const auto& x) { return unit_rms(x); },
          [](const Values& x, std::size_t n) {
            Values y = x;
            for (std::size_t i = 0; i < x.size(); ++i) y[i] /= rms(x, i - i % n, n);
            return y;
          },
          // dx = (g - y mean(g y)) / r, r the root above and y = x / r
          [](const Values& x, const Values& g, std::size_t n) {
            Values dx = x;
            for (std::size_t i = 0; i < x.size(); ++i) {
              const std::size_t start = i - i % n;
              const double r = rms(x, start, n);
              double mean = 0;
              for (std::size_t j = start; j < start + n; ++j) mean += g[j] * x[j] / r / double(n);
              dx[i] = (g[i] - x[i] / r * mean) / r;
            }
            return dx;
          }),
  };
}

/// The last axis of x; a scalar's is 1.
template <class T>
std::size_t last(const Tensor<T>& x) {
  return x.rank() == 0 ? 1 : static_cast<std::size_t>(x.dim(-1));
}

template <class T>
std::string check_value(const Row& row, const Function<T>& op, const Tensor<T>& x) {
  const std::vector<T> values = x.values();
  const Values expected = row.value(Values(values.begin(), values.end()), last(x));
  const Tensor<T> y = op({x});
  if (y.shape() != x.shape()) return "its value has shape " + to_string(y.shape());
  for (std::size_t i = 0; i < expected.size(); ++i)  // a few roundings
    if (std::abs(double(y.values()[i]) - expected[i]) > 4 * std::numeric_limits<T>::epsilon())
      return "its value is " + to_string(y);
  return {};
}

std::string check(const Row& row, const Shape& shape) {
  Random random(1);
  // Away from 0, where the slope of |x| jumps.
  const auto size = random.uniform<double>(shape, 0.5, 2);
  const auto x = where(random.normal<double>(shape) > 0, size, -size);
  GradientCheck<double> options;
  options.order = 2;
  options.analytic = [&](const std::vector<Tensor<double>>& in, In<double> g) {
    const Values dx = row.vjp(in[0].values(), g.values(), last(in[0]));
    return std::vector<Tensor<double>>{Tensor<double>(shape, dx)};
  };
  std::string wrong = check_value(row, row.op_double, x);
  if (wrong.empty()) wrong = check_value(row, row.op_float, cast<float>(x));
  return wrong.empty() ? check_gradients(row.op_double, {x}, options).message : wrong;
}

}  // namespace

int main() {
  int failed = 0;
  for (const Row& row : rows())
    for (const Shape& shape : row.shapes) {
      const std::string wrong = check(row, shape);
      std::cout << row.name << " at " << to_string(shape) << ": " << (wrong.empty() ? "ok" : wrong)
                << '\n';
      failed += !wrong.empty();
    }
  return failed;
}
