// Rows of ops/layers.hpp.
#include <xtape/ops/layers.hpp>

#include <cmath>

#include "op_table.hpp"
#include "support/plain_ops.hpp"

namespace op_table {

namespace {

using plain::Array;
using plain::length;
using plain::Position;
using plain::Shape;
using plain::Values;
using Arrays = std::vector<Array>;

constexpr double kEpsilon = 0.1;  // of the norms: with less they are steep near 0

/// A row less its mean when centred, over the root of (the mean square of that + epsilon).
struct Normal {
  Values unit;
  double root;

  Normal(const Values& x, bool centred) : unit(x) {
    const double n = static_cast<double>(x.size());
    double mean = 0, square = kEpsilon;
    for (double v : x) mean += centred ? v / n : 0;
    for (double v : x) square += (v - mean) * (v - mean) / n;
    root = std::sqrt(square);
    for (double& u : unit) u = (u - mean) / root;
  }
};

/// A norm of rows: inputs x, then perhaps a gain and a bias.
Row norm(const char* name, std::vector<Sample> samples, Op op, bool centred) {
  return {name, std::move(samples), std::move(op),
          [centred](const Arrays& x) {
            Array y = x[0];
            for (const auto& row : plain::groups(y.shape, {-1})) {
              const Normal normal(plain::pick(x[0], row), centred);
              for (std::size_t i = 0; i < row.size(); ++i)
                y.values[row[i]] = normal.unit[i] * (x.size() > 1 ? x[1].values[i] : 1) +
                                   (x.size() > 2 ? x[2].values[i] : 0);
            }
            return y;
          },
          // du_j/dx_i = ((1 if i = j) - (1/n when centred) - u_i u_j / n) / root
          [centred](const Arrays& x, const Array& g) {
            plain::Gradients result = plain::zeros(x);
            for (const auto& row : plain::groups(x[0].shape, {-1})) {
              const Normal normal(plain::pick(x[0], row), centred);
              const double n = static_cast<double>(row.size());
              for (std::size_t j = 0; j < row.size(); ++j) {
                const double slope = g.values[row[j]], gain = x.size() > 1 ? x[1].values[j] : 1;
                if (x.size() > 1) result[1][j] += slope * normal.unit[j];
                if (x.size() > 2) result[2][j] += slope;
                for (std::size_t i = 0; i < row.size(); ++i)
                  result[0][row[i]] += slope * gain / normal.root *
                                       ((i == j ? 1 : 0) - (centred ? 1 / n : 0) -
                                        normal.unit[i] * normal.unit[j] / n);
              }
            }
            return result;
          }};
}

/// use(y, x, weight) with the flat indices of y_n, x_k and weight_nk, for all rows, n and k.
template <class Use>
void each_product(const Arrays& x, const Use& use) {
  const auto rows = plain::groups(x[0].shape, {-1});
  const auto outputs = static_cast<std::size_t>(x[1].shape[0]);
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::size_t n = 0; n < outputs; ++n)
      for (std::size_t k = 0; k < rows[row].size(); ++k)
        use(row * outputs + n, rows[row][k], n * rows[row].size() + k);
}

/// y_n = sum_k x_k weight_nk, plus bias_n when there is one
Array linear_value(const Arrays& x) {
  Array y{x[0].shape, {}};
  y.shape.back() = x[1].shape[0];
  y.values.resize(plain::size(y.shape));
  for (std::size_t i = 0; x.size() > 2 && i < y.values.size(); ++i)
    y.values[i] = x[2].values[i % x[2].values.size()];
  each_product(x, [&](std::size_t to, std::size_t from, std::size_t weight) {
    y.values[to] += x[0].values[from] * x[1].values[weight];
  });
  return y;
}

/// dx_k = sum_n g_n weight_nk, dweight_nk = sum g_n x_k, dbias_n = sum g_n
plain::Gradients linear_vjp(const Arrays& x, const Array& g) {
  plain::Gradients result = plain::zeros(x);
  each_product(x, [&](std::size_t to, std::size_t from, std::size_t weight) {
    result[0][from] += g.values[to] * x[1].values[weight];
    result[1][weight] += g.values[to] * x[0].values[from];
  });
  for (std::size_t i = 0; x.size() > 2 && i < g.values.size(); ++i)
    result[2][i % x[2].values.size()] += g.values[i];
  return result;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// The pair of each place turned by (start + t) theta^(-2i/D), or back.
Array turned(const Array& x, double start, double theta, double sign) {
  return plain::make(x.shape, [&](const Position& at) {
    const std::int64_t feature = at.back(), first = feature - feature % 2;
    const double exponent = static_cast<double>(first) / static_cast<double>(x.shape.back());
    const double angle =
        sign * (start + static_cast<double>(length(at, -2))) * std::pow(theta, -exponent);
    Position left = at, right = at;
    left.back() = first;
    right.back() = first + 1;
    const double a = x.values[plain::flat(left, x.shape)];
    const double b = x.values[plain::flat(right, x.shape)];
    return feature == first ? a * std::cos(angle) - b * std::sin(angle)
                            : a * std::sin(angle) + b * std::cos(angle);
  });
}

Row rotary(const char* name, Op op, double start, double theta) {
  return {name,
          {{{3, 4}}, {{2, 3, 2}}, {{1, 2}}, {{2, 1, 6}}, {{0, 4}}, {{3, 0}}},
          std::move(op),
          [=](const Arrays& x) { return turned(x[0], start, theta, 1); },
          [=](const Arrays&, const Array& g) {
            return plain::Gradients{turned(g, start, theta, -1).values};
          }};
}

/// What dropout at 0.4 multiplies by: draws of the same random numbers.
Values kept(std::size_t count) {
  xtape::Random random(8);
  Values result;
  for (std::size_t i = 0; i < count; ++i) result.push_back(random.uniform() < 0.4 ? 0 : 1 / 0.6);
  return result;
}

Array dropped(const Array& x) {
  Array y = x;
  const Values factors = kept(x.values.size());
  for (std::size_t i = 0; i < factors.size(); ++i) y.values[i] *= factors[i];
  return y;
}

/// Ids of shape [2, 2], one of them twice, below `count`.
xtape::Index ids(std::int64_t count) {
  return xtape::Index({2, 2}, {3 % count, 0, 3 % count, 1 % count});
}

plain::Move looked_up() {
  return {[](const Arrays& x) {
            return Shape{2, 2, x[0].shape[1]};
          },
          [](const Arrays& x, const Position& at) {
            const std::int64_t id = ids(x[0].shape[0]).at({at[0], at[1]});
            return plain::Source{0, {id, at[2]}};
          }};
}

}  // namespace

Rows layer_rows() {
  const std::vector<Sample> alone{{{2, 3}}, {{4}},    {{1}},   {{2, 2, 3}},
                                  {{3, 1}}, {{0, 3}}, {{2, 0}}};
  const std::vector<Sample> products{{{2, 3}, {4, 3}}, {{3}, {2, 3}},    {{2, 2, 3}, {4, 3}},
                                     {{1, 1}, {1, 1}}, {{0, 3}, {2, 3}}, {{2, 0}, {3, 0}},
                                     {{2, 3}, {0, 3}}};
  const std::vector<Sample> pairs{
      {{2, 3}, {2, 3}}, {{4}, {4}}, {{1, 1}, {1, 1}}, {{}, {}}, {{2, 0}, {2, 0}}};
  std::vector<Sample> scaled, shifted, biased;
  for (Sample sample : alone) {
    sample.push_back({sample[0].back()});
    scaled.push_back(sample);
    sample.push_back({sample[0].back()});
    shifted.push_back(sample);
  }
  for (Sample sample : products) {
    sample.push_back({sample[1][0]});
    biased.push_back(sample);
  }
  return {
      norm(
          "rms_norm", alone, [](const auto& x) { return rms_norm(x[0], kEpsilon); }, false),
      norm(
          "rms_norm with a gain", scaled,
          [](const auto& x) { return rms_norm(x[0], x[1], kEpsilon); }, false),
      norm(
          "layer_norm", shifted,
          [](const auto& x) { return layer_norm(x[0], x[1], x[2], kEpsilon); }, true),
      {"linear", products, [](const auto& x) { return linear(x[0], x[1]); }, linear_value,
       linear_vjp},
      {"linear with a bias", biased, [](const auto& x) { return linear(x[0], x[1], x[2]); },
       linear_value, linear_vjp},
      {"swiglu", pairs, [](const auto& x) { return swiglu(x[0], x[1]); },
       plain::elementwise([](const Values& x) { return x[0] * sigmoid(x[0]) * x[1]; }),
       plain::elementwise_vjp([](const Values& x) {  // dgate = up s (1 + x (1 - s)), dup = x s
         const double s = sigmoid(x[0]);
         return Values{x[1] * s * (1 + x[0] * (1 - s)), x[0] * s};
       })},
      rotary(
          "rotary", [](const auto& x) { return xtape::rotary(x[0]); }, 0, 1e4),
      rotary(
          "rotary from a place on", [](const auto& x) { return xtape::rotary(x[0], 5, 3); }, 5, 3),
      {"dropout",
       {{{2, 3}}, {{4}}, {{1}}, {{}}, {{2, 2, 3}}, {{2, 0}}},
       [](const auto& x) {
         xtape::Random random(8);
         return dropout(x[0], 0.4, random);
       },
       [](const Arrays& x) { return dropped(x[0]); },
       [](const Arrays&, const Array& g) { return plain::Gradients{dropped(g).values}; }},
      {"embedding",
       {{{4, 3}}, {{1, 2}}, {{3, 1}}, {{2, 0}}},
       [](const auto& x) { return embedding(x[0], ids(x[0].dim(0))); },
       plain::moved(looked_up()),
       plain::moved_vjp(looked_up())},
  };
}

}  // namespace op_table
