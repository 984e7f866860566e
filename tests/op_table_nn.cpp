// Rows of ops/nn.hpp.
#include <xtape/ops/nn.hpp>

#include <algorithm>
#include <cmath>

#include "op_table.hpp"
#include "support/plain_ops.hpp"

namespace op_table {

namespace {

using plain::Array;
using plain::Values;
using Arrays = std::vector<Array>;

/// f turns each group of values along an axis into as many; jacobian(x)[j][i] is df_j/dx_i.
template <class F, class J>
Row along(const char* name, std::vector<Sample> samples, Op op, int axis, F f, J jacobian) {
  return {name, std::move(samples), std::move(op),
          [=](const Arrays& x) {
            Array y = x[0];
            for (const auto& group : plain::groups(y.shape, {axis})) {
              const Values values = f(plain::pick(x[0], group));
              for (std::size_t i = 0; i < group.size(); ++i) y.values[group[i]] = values[i];
            }
            return y;
          },
          [=](const Arrays& x, const Array& g) {
            plain::Gradients result = plain::zeros(x);
            for (const auto& group : plain::groups(x[0].shape, {axis})) {
              const std::vector<Values> slopes = jacobian(plain::pick(x[0], group));
              for (std::size_t i = 0; i < group.size(); ++i)
                for (std::size_t j = 0; j < group.size(); ++j)
                  result[0][group[i]] += g.values[group[j]] * slopes[j][i];
            }
            return result;
          }};
}

/// dy_j/dx_i = y_j (1 if i = j, less y_i)
std::vector<Values> softmax_slopes(const Values& x) {
  const Values y = plain::softmax(x);
  std::vector<Values> result(x.size(), Values(x.size()));
  for (std::size_t j = 0; j < x.size(); ++j)
    for (std::size_t i = 0; i < x.size(); ++i) result[j][i] = y[j] * ((i == j ? 1 : 0) - y[i]);
  return result;
}

Values log_softmax(const Values& x) {
  Values result;
  for (double y : plain::softmax(x)) result.push_back(std::log(y));
  return result;
}

/// d ln y_j/dx_i = 1 if i = j, less y_i
std::vector<Values> log_softmax_slopes(const Values& x) {
  const Values y = plain::softmax(x);
  std::vector<Values> result(x.size(), Values(x.size()));
  for (std::size_t j = 0; j < x.size(); ++j)
    for (std::size_t i = 0; i < x.size(); ++i) result[j][i] = (i == j ? 1 : 0) - y[i];
  return result;
}

/// Whether a row of masked softmax sees its value at a flat index: of every twelve the last six,
/// less one. So some rows of 2, 3 or 4 see nothing, some a part, and some all.
bool is_visible(std::size_t flat) { return flat % 12 >= 6 && flat % 12 != 10; }

xtape::Mask visible(const xtape::Shape& shape) {
  std::vector<bool> values;
  for (std::size_t i = 0; i < plain::size(shape); ++i) values.push_back(is_visible(i));
  return xtape::Mask(shape, values);
}

/// Softmax among the visible values of each group along an axis; 0 for the others.
Row masked_softmax(const char* name, std::vector<Sample> samples, int axis) {
  const auto seen = [axis](const plain::Shape& shape) {
    auto groups = plain::groups(shape, {axis});
    for (auto& group : groups)
      group.erase(
          std::remove_if(group.begin(), group.end(), [](std::size_t i) { return !is_visible(i); }),
          group.end());
    return groups;
  };
  return {name, std::move(samples),
          [axis](const auto& x) { return softmax(x[0], visible(x[0].shape()), axis); },
          [seen](const Arrays& x) {
            Array y{x[0].shape, Values(x[0].values.size())};
            for (const auto& group : seen(y.shape)) {
              const Values weights = plain::softmax(plain::pick(x[0], group));
              for (std::size_t i = 0; i < group.size(); ++i) y.values[group[i]] = weights[i];
            }
            return y;
          },
          [seen](const Arrays& x, const Array& g) {
            plain::Gradients result = plain::zeros(x);
            for (const auto& group : seen(x[0].shape)) {
              const std::vector<Values> slopes = softmax_slopes(plain::pick(x[0], group));
              for (std::size_t i = 0; i < group.size(); ++i)
                for (std::size_t j = 0; j < group.size(); ++j)
                  result[0][group[i]] += g.values[group[j]] * slopes[j][i];
            }
            return result;
          }};
}

/// A class for each position: 0, 2, 4, ... around the number of classes.
xtape::Index targets(xtape::Shape logits) {
  const std::int64_t classes = logits.back();
  logits.pop_back();
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < plain::size(logits); ++i)
    values.push_back(static_cast<std::int64_t>(2 * i) % classes);
  return xtape::Index(logits, values);
}

/// The probabilities that targets(logits) stand for: 1 at the target.
Array one_hot(const plain::Shape& logits) {
  return plain::make(logits, [&](const plain::Position& at) {
    const std::size_t row = plain::flat(at, logits) / static_cast<std::size_t>(logits.back());
    return static_cast<std::int64_t>(2 * row) % logits.back() == at.back() ? 1.0 : 0.0;
  });
}

/// -sum p ln softmax(x) / (number of positions)
Array entropy(const Array& x, const Array& p) {
  const auto rows = plain::groups(x.shape, {-1});
  double total = 0;
  for (const auto& row : rows) {
    const Values logs = log_softmax(plain::pick(x, row));
    for (std::size_t i = 0; i < row.size(); ++i) total -= p.values[row[i]] * logs[i];
  }
  return {{}, {total / static_cast<double>(rows.size())}};
}

/// dx_i = g sum_j p_j (y_i - (1 if i = j)) / n, dp_i = -g ln y_i / n
plain::Gradients entropy_vjp(const Array& x, const Array& p, double g) {
  plain::Gradients result{Values(x.values.size()), Values(x.values.size())};
  const auto rows = plain::groups(x.shape, {-1});
  const double share = g / static_cast<double>(rows.size());
  for (const auto& row : rows) {
    const Values logits = plain::pick(x, row), logs = log_softmax(logits);
    const Values y = plain::softmax(logits);
    for (std::size_t i = 0; i < row.size(); ++i) {
      for (std::size_t j = 0; j < row.size(); ++j)
        result[0][row[i]] += share * p.values[row[j]] * (y[i] - (i == j ? 1 : 0));
      result[1][row[i]] = -share * logs[i];
    }
  }
  return result;
}

}  // namespace

Rows nn_rows() {
  const std::vector<Sample> last{{{2, 3}}, {{4}}, {{1}}, {{2, 2, 3}}, {{3, 1}}, {{0, 3}}, {{2, 0}}};
  const std::vector<Sample> inner{{{2, 3, 2}}, {{3, 2}}, {{1, 2}}, {{0, 2}}, {{2, 0, 3}}};
  const std::vector<Sample> logits{{{2, 3}}, {{4}}, {{1, 1}}, {{2, 2, 3}}};
  return {
      along(
          "softmax", last, [](const auto& x) { return softmax(x[0]); }, -1, plain::softmax,
          softmax_slopes),
      along(
          "softmax along axis 0", inner, [](const auto& x) { return softmax(x[0], 0); }, 0,
          plain::softmax, softmax_slopes),
      along(
          "log_softmax", last, [](const auto& x) { return log_softmax(x[0]); }, -1, log_softmax,
          log_softmax_slopes),
      along(
          "log_softmax along axis 0", inner, [](const auto& x) { return log_softmax(x[0], 0); }, 0,
          log_softmax, log_softmax_slopes),
      masked_softmax("softmax with a mask",
                     {{{4, 3}}, {{6, 2}}, {{12}}, {{2, 2, 3}}, {{12, 1}}, {{0, 3}}, {{2, 0}}}, -1),
      masked_softmax("softmax with a mask along axis 0", {{{4, 3}}, {{2, 6}}, {{1, 12}}, {{0, 2}}},
                     0),
      {"mse",
       {{{2, 3}, {2, 3}}, {{4}, {4}}, {{1, 1}, {1, 1}}, {{}, {}}, {{2, 1, 3}, {2, 1, 3}}},
       [](const auto& x) { return mse(x[0], x[1]); },
       [](const Arrays& x) {
         double total = 0;
         for (std::size_t i = 0; i < x[0].values.size(); ++i)
           total += std::pow(x[0].values[i] - x[1].values[i], 2);
         return Array{{}, {total / static_cast<double>(x[0].values.size())}};
       },
       [](const Arrays& x, const Array& g) {  // dp = 2 g (p - t) / n, dt = -dp
         plain::Gradients result = plain::zeros(x);
         for (std::size_t i = 0; i < x[0].values.size(); ++i) {
           result[0][i] = 2 * g.values[0] * (x[0].values[i] - x[1].values[i]) /
                          static_cast<double>(x[0].values.size());
           result[1][i] = -result[0][i];
         }
         return result;
       }},
      {"cross_entropy", logits,
       [](const auto& x) { return cross_entropy(x[0], targets(x[0].shape())); },
       [](const Arrays& x) { return entropy(x[0], one_hot(x[0].shape)); },
       [](const Arrays& x, const Array& g) {
         return plain::Gradients{entropy_vjp(x[0], one_hot(x[0].shape), g.values[0])[0]};
       }},
      {"cross_entropy with a distribution",
       {{{2, 3}, {2, 3}}, {{4}, {4}}, {{1, 1}, {1, 1}}, {{2, 2, 3}, {2, 2, 3}}},
       [](const auto& x) { return cross_entropy(x[0], x[1]); },
       [](const Arrays& x) { return entropy(x[0], x[1]); },
       [](const Arrays& x, const Array& g) { return entropy_vjp(x[0], x[1], g.values[0]); },
       {Domain(), {Domain::kBetween, 0.1, 1}}},
  };
}

}  // namespace op_table
