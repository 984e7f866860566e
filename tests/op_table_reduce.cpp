// Rows of ops/reduce.hpp.
#include <xtape/ops/reduce.hpp>

#include <cmath>

#include "op_table.hpp"
#include "support/plain_ops.hpp"

namespace op_table {

namespace {

using plain::Array;
using plain::Values;

constexpr Domain kDistinct{Domain::kDistinct, -2, 2};
constexpr Domain kNotZero{Domain::kOutside, 0.5, 2};

/// f turns a group of values into one; d gives its derivatives with respect to each of them.
template <class F, class D>
Row reduction(const std::string& name, std::vector<Sample> samples, Op op,
              const std::vector<int>& axes, bool keepdims, F f, D d, Domain domain = {}) {
  return {name,
          std::move(samples),
          std::move(op),
          [=](const std::vector<Array>& x) {
            const plain::Shape& shape = x[0].shape;
            Array y{keepdims ? plain::reduced(shape, axes) : plain::dropped(shape, axes), {}};
            for (const auto& group : plain::groups(shape, axes))
              y.values.push_back(f(plain::pick(x[0], group)));
            return y;
          },
          [=](const std::vector<Array>& x, const Array& g) {
            plain::Gradients result = plain::zeros(x);
            const auto groups = plain::groups(x[0].shape, axes);
            for (std::size_t k = 0; k < groups.size(); ++k) {
              const Values slopes = d(plain::pick(x[0], groups[k]));
              for (std::size_t i = 0; i < groups[k].size(); ++i)
                result[0][groups[k][i]] = g.values[k] * slopes[i];
            }
            return result;
          },
          {domain}};
}

struct Over {
  const char* text;
  xtape::Axes axes;
  std::vector<int> plain;
  std::vector<Sample> samples;  // with something to reduce
  std::vector<Sample> nothing;  // where the reduced axes are empty
};

/// Which axes are reduced, at which shapes.
std::vector<Over> overs() {
  return {
      {"", xtape::all, {}, {{{2, 3}}, {{}}, {{1}}, {{4}}, {{2, 1, 3}}}, {{{0}}, {{2, 0}}}},
      {" over axis 0", 0, {0}, {{{2, 3}}, {{4}}, {{1, 3}}, {{2, 2, 3}}, {{2, 0}}}, {{{0, 3}}}},
      {" over axis -1", -1, {-1}, {{{2, 3}}, {{4}}, {{3, 1}}, {{2, 2, 3}}, {{0, 2}}}, {{{2, 0}}}},
      {" over the middle", 1, {1}, {{{2, 3, 2}}, {{2, 1, 3}}, {{1, 4, 1}}}, {{{2, 0, 3}}}},
      {" over the outer two",
       {0, -1},
       {0, -1},
       {{{2, 3, 2}}, {{1, 3, 1}}, {{4, 0, 3}}},
       {{{0, 2, 3}}, {{2, 2, 0}}}},
      {" over the last two",
       {2, 1},
       {1, 2},
       {{{2, 3, 2}}, {{2, 1, 1}}, {{0, 2, 3}}},
       {{{2, 0, 3}}}},
  };
}

std::vector<Sample> with(std::vector<Sample> samples, const std::vector<Sample>& more) {
  samples.insert(samples.end(), more.begin(), more.end());
  return samples;
}

double total(const Values& x) {
  double result = 0;
  for (double v : x) result += v;
  return result;
}

double largest(const Values& x) {
  double result = x[0];
  for (double v : x) result = v > result ? v : result;
  return result;
}

/// 1 at the largest value, shared where several are.
Values largest_slopes(const Values& x) {
  double ties = 0;
  Values result;
  for (double v : x) ties += v == largest(x) ? 1 : 0;
  for (double v : x) result.push_back(v == largest(x) ? 1 / ties : 0);
  return result;
}

Values negative(Values x) {
  for (double& v : x) v = -v;
  return x;
}

double product(const Values& x) {
  double result = 1;
  for (double v : x) result *= v;
  return result;
}

/// The product of all others.
Values product_slopes(const Values& x) {
  Values result(x.size(), 1);
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < x.size(); ++j) result[i] *= i == j ? 1 : x[j];
  return result;
}

/// sum_i (x_i - m)^2 / (n - correction)
double variance(const Values& x, double correction) {
  const double n = static_cast<double>(x.size());
  double squares = 0;
  for (double v : x) squares += (v - total(x) / n) * (v - total(x) / n);
  return squares / (n - correction);
}

/// 2 (x_i - m) / (n - correction): what reaches the others through m sums to 0.
Values variance_slopes(const Values& x, double correction) {
  const double n = static_cast<double>(x.size());
  Values result;
  for (double v : x) result.push_back(2 * (v - total(x) / n) / (n - correction));
  return result;
}

double euclidean(const Values& x) {
  double squares = 0;
  for (double v : x) squares += v * v;
  return std::sqrt(squares);
}

Values euclidean_slopes(const Values& x) {
  Values result;
  for (double v : x) result.push_back(v / euclidean(x));
  return result;
}

double log_sum(const Values& x) {
  double result = 0;
  for (double v : x) result += std::exp(v);
  return std::log(result);
}

void append(Rows& rows, const Over& over, bool keep) {
  const std::string variant = std::string(over.text) + (keep ? ", keepdims" : "");
  const auto count = [](const Values& x) { return static_cast<double>(x.size()); };
  const auto everywhere = with(over.samples, over.nothing);
  rows.push_back(reduction(
      std::string("sum") + variant, everywhere,
      [axes = over.axes, keep](const auto& x) { return sum(x[0], axes, keep); }, over.plain, keep,
      total, [](const Values& x) { return Values(x.size(), 1); }));
  rows.push_back(reduction(
      std::string("mean") + variant, over.samples,
      [axes = over.axes, keep](const auto& x) { return mean(x[0], axes, keep); }, over.plain, keep,
      [count](const Values& x) { return total(x) / count(x); },
      [count](const Values& x) { return Values(x.size(), 1 / count(x)); }));
  rows.push_back(reduction(
      std::string("max") + variant, over.samples,
      [axes = over.axes, keep](const auto& x) { return max(x[0], axes, keep); }, over.plain, keep,
      largest, largest_slopes, kDistinct));
  rows.push_back(reduction(
      std::string("logsumexp") + variant, everywhere,
      [axes = over.axes, keep](const auto& x) { return logsumexp(x[0], axes, keep); }, over.plain,
      keep, log_sum, plain::softmax));
  rows.push_back(reduction(
      std::string("min") + variant, over.samples,
      [axes = over.axes, keep](const auto& x) { return min(x[0], axes, keep); }, over.plain, keep,
      [](const Values& x) { return -largest(negative(x)); },
      [](const Values& x) { return largest_slopes(negative(x)); }, kDistinct));
  rows.push_back(reduction(
      std::string("prod") + variant, everywhere,
      [axes = over.axes, keep](const auto& x) { return prod(x[0], axes, keep); }, over.plain, keep,
      product, product_slopes, kNotZero));
  rows.push_back(reduction(
      std::string("var") + variant, over.samples,
      [axes = over.axes, keep](const auto& x) { return var(x[0], axes, keep); }, over.plain, keep,
      [](const Values& x) { return variance(x, 0); },
      [](const Values& x) { return variance_slopes(x, 0); }));
  rows.push_back(reduction(
      std::string("norm") + variant, everywhere,
      [axes = over.axes, keep](const auto& x) { return norm(x[0], axes, keep); }, over.plain, keep,
      euclidean, euclidean_slopes, kNotZero));
}

}  // namespace

Rows reduce_rows() {
  Rows rows;
  for (const Over& over : overs())
    for (const bool keep : {false, true}) append(rows, over, keep);
  rows.push_back(reduction(
      "var with a correction", {{{2, 3}}, {{4, 2}}, {{1, 3}}, {{0, 2}}, {{2, 1, 3}}},
      [](const auto& x) { return var(x[0], -1, false, 1); }, {-1}, false,
      [](const Values& x) { return variance(x, 1); },
      [](const Values& x) { return variance_slopes(x, 1); }));
  return rows;
}

}  // namespace op_table
