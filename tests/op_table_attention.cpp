// Rows of ops/attention.hpp and ops/fused.hpp. The expected numbers are the reference's.
#include <xtape/ops/attention.hpp>
#include <xtape/ops/fused.hpp>

#include "op_table.hpp"
#include "support/reference.hpp"

namespace op_table {

namespace {

using plain::Array;
using plain::Gradients;
using xtape::Visible;
using Arrays = std::vector<Array>;

enum class Seen { causal, all, masked };

struct Composed {
  template <class... X>
  static auto ordinary(const X&... x) {
    return xtape::attention(x...);
  }
  template <class... X>
  static auto differential(const X&... x) {
    return xtape::differential_attention(x...);
  }
};
struct Fused {
  template <class... X>
  static auto ordinary(const X&... x) {
    return xtape::fused::attention(x...);
  }
  template <class... X>
  static auto differential(const X&... x) {
    return xtape::fused::differential_attention(x...);
  }
};

std::size_t dim(const plain::Shape& shape, std::size_t axis) {
  return static_cast<std::size_t>(shape[axis]);
}

/// q: [B, H, Tq, D]  k: [B, H, Tk, D]  value: [B, H, Tk, Dv]
reference::Sizes sizes(const Array& q, const Array& k, const Array& value) {
  return {dim(q.shape, 0), dim(q.shape, 1), dim(q.shape, 2),
          dim(k.shape, 2), dim(q.shape, 3), dim(value.shape, 3)};
}

/// A mask in which query i sees key j unless i + j is 1, 4, ...: [Tq, Tk], as both evaluators take
/// it.
bool allowed(std::size_t i, std::size_t j) { return (i + j) % 3 != 1; }

Visible visible(Seen seen, const xtape::Shape& q, const xtape::Shape& k) {
  if (seen != Seen::masked) return seen == Seen::causal;
  std::vector<bool> values;
  for (std::size_t i = 0; i < dim(q, 2); ++i)
    for (std::size_t j = 0; j < dim(k, 2); ++j) values.push_back(allowed(i, j));
  return xtape::Mask({q[2], k[2]}, values);
}

reference::Visibility visibility(Seen seen, const reference::Sizes& s) {
  if (seen == Seen::causal) return reference::causal(s);
  reference::Visibility result = reference::everything(s);
  for (std::size_t at = 0; seen == Seen::masked && at < result.size(); ++at)
    result[at] = allowed(at / s.keys % s.queries, at % s.keys);
  return result;
}

plain::Shape output(const Arrays& x, std::size_t value) {
  plain::Shape shape = x[0].shape;
  shape[3] = x[value].shape[3];
  return shape;
}

template <class Ops = Composed>
Row ordinary(const char* name, std::vector<Sample> samples, Seen seen) {
  const auto problem = [seen](const Arrays& x) {
    const reference::Sizes s = sizes(x[0], x[1], x[2]);
    return reference::AttentionInputs{s, x[0].values, x[1].values, x[2].values,
                                      visibility(seen, s)};
  };
  return {name, std::move(samples),
          [seen](const auto& x) {
            return Ops::ordinary(x[0], x[1], x[2], visible(seen, x[0].shape(), x[1].shape()));
          },
          [problem](const Arrays& x) {
            return Array{output(x, 2), reference::attention(problem(x))};
          },
          [problem](const Arrays& x, const Array& g) {
            const auto d = reference::attention_vjp(problem(x), g.values);
            return Gradients{d.dq, d.dk, d.dvalue};
          }};
}

constexpr double kNumber = 0.75;

/// Of q1, k1, q2, k2, value and a coefficient, which is kNumber where it is left out.
reference::DifferentialInputs problem(const Arrays& x, Seen seen) {
  const reference::Sizes s = sizes(x[0], x[1], x[4]);
  reference::Coefficient coefficient{{kNumber}};
  if (x.size() == 6) {
    const std::size_t rank = x[5].shape.size();
    coefficient = {x[5].values, rank == 0   ? reference::Spread::scalar
                                : rank == 3 ? reference::Spread::per_head
                                            : reference::Spread::per_token};
  }
  return {s,           x[0].values, x[1].values, x[2].values,
          x[3].values, x[4].values, coefficient, visibility(seen, s)};
}

template <class Ops = Composed>
Row differential(const char* name, std::vector<Sample> samples, Seen seen) {
  return {name, std::move(samples),
          [seen](const auto& x) {
            const Visible mask = visible(seen, x[0].shape(), x[1].shape());
            return x.size() == 6 ? Ops::differential(x[0], x[1], x[2], x[3], x[4], x[5], mask)
                                 : Ops::differential(x[0], x[1], x[2], x[3], x[4], kNumber, mask);
          },
          [seen](const Arrays& x) {
            return Array{output(x, 4), reference::differential_attention(problem(x, seen))};
          },
          [seen](const Arrays& x, const Array& g) {
            const auto d = reference::differential_attention_vjp(problem(x, seen), g.values);
            Gradients result{d.dq1, d.dk1, d.dq2, d.dk2, d.dvalue, d.dcoefficient};
            result.resize(x.size());
            return result;
          }};
}

/// q, k: [B, H, Tq or Tk, D]  value: [B, H, Tk, Dv]
Sample ordinary_shapes(std::int64_t b, std::int64_t h, std::int64_t tq, std::int64_t tk,
                       std::int64_t d, std::int64_t dv) {
  return {{b, h, tq, d}, {b, h, tk, d}, {b, h, tk, dv}};
}

Sample shapes(std::int64_t b, std::int64_t h, std::int64_t tq, std::int64_t tk, std::int64_t d) {
  return {{b, h, tq, d}, {b, h, tk, d}, {b, h, tq, d}, {b, h, tk, d}, {b, h, tk, 2 * d}};
}

Sample shapes(std::int64_t b, std::int64_t h, std::int64_t tq, std::int64_t tk, std::int64_t d,
              const plain::Shape& coefficient) {
  Sample result = shapes(b, h, tq, tk, d);
  result.push_back(coefficient);
  return result;
}

}  // namespace

Rows attention_rows() {
  const std::vector<Sample> ordinary_samples{
      ordinary_shapes(1, 2, 3, 3, 2, 3), ordinary_shapes(2, 1, 2, 4, 3, 1),
      ordinary_shapes(1, 1, 6, 4, 1, 2), ordinary_shapes(1, 1, 0, 2, 2, 2),
      ordinary_shapes(1, 1, 2, 0, 2, 2), ordinary_shapes(0, 2, 2, 2, 1, 1)};
  const std::vector<Sample> samples{
      shapes(1, 2, 2, 3, 2, {}),           shapes(1, 2, 3, 2, 1, {2, 1, 1}),
      shapes(2, 2, 2, 2, 2, {2, 2, 2, 1}), shapes(1, 1, 1, 1, 1, {}),
      shapes(1, 1, 0, 2, 2, {}),           shapes(1, 2, 2, 0, 1, {2, 1, 1}),
      shapes(0, 2, 2, 2, 1, {0, 2, 2, 1})};
  return {
      ordinary("attention", ordinary_samples, Seen::causal),
      ordinary("attention to all keys", ordinary_samples, Seen::all),
      ordinary("attention through a mask", ordinary_samples, Seen::masked),
      ordinary<Fused>("fused::attention", ordinary_samples, Seen::causal),
      ordinary<Fused>("fused::attention to all keys", ordinary_samples, Seen::all),
      ordinary<Fused>("fused::attention through a mask", ordinary_samples, Seen::masked),
      differential<Fused>("fused::differential_attention", samples, Seen::causal),
      differential<Fused>("fused::differential_attention to all keys", samples, Seen::all),
      differential<Fused>("fused::differential_attention through a mask", samples, Seen::masked),
      differential("differential_attention", samples, Seen::causal),
      differential("differential_attention to all keys", samples, Seen::all),
      differential("differential_attention through a mask", samples, Seen::masked),
      differential("differential_attention with a number",
                   {shapes(1, 2, 3, 3, 2), shapes(2, 1, 2, 4, 1), shapes(1, 1, 2, 0, 1)},
                   Seen::causal),
      {"differential_lambda",
       {{{3}, {3}, {3}, {3}}, {{1}, {1}, {1}, {1}}},
       [](const auto& x) { return differential_lambda(x[0], x[1], x[2], x[3], 0.3); },
       [](const Arrays& x) {
         return Array{{},
                      {reference::differential_lambda(x[0].values, x[1].values, x[2].values,
                                                      x[3].values, 0.3)}};
       },
       [](const Arrays& x, const Array& g) {
         const auto d = reference::differential_lambda_vjp(x[0].values, x[1].values, x[2].values,
                                                           x[3].values, g.values[0]);
         return Gradients{d.dq1, d.dk1, d.dq2, d.dk2};
       }},
  };
}

}  // namespace op_table
