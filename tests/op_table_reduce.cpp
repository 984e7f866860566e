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
}

}  // namespace

Rows reduce_rows() {
  Rows rows;
  for (const Over& over : overs())
    for (const bool keep : {false, true}) append(rows, over, keep);
  return rows;
}

}  // namespace op_table
