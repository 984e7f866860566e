// What products of matrices and vectors compute, and attention, which is made of them.
#include <algorithm>

#include "support/program_rules.hpp"

namespace programs {

using std::exp;

namespace {

template <class S>
Array<S> matmul(Array<S> a, Array<S> b) {
  require(!a.shape.empty() && !b.shape.empty(), "vectors or matrices");
  const bool row = a.shape.size() == 1, column = b.shape.size() == 1;
  if (row) a.shape.insert(a.shape.begin(), 1);
  if (column) b.shape.push_back(1);
  const Int ra = count(a.shape), rb = count(b.shape);
  const Int inner = at(a.shape, ra - 1);
  require(at(b.shape, rb - 2) == inner, "inner lengths that agree");
  Ints shape =
      broadcast(Ints(a.shape.begin(), a.shape.end() - 2), Ints(b.shape.begin(), b.shape.end() - 2));
  shape.push_back(at(a.shape, ra - 2));
  shape.push_back(at(b.shape, rb - 1));
  Array<S> result = fill<S>(shape, [&](const Ints& p) {
    Ints left = p, right = p;
    S sum(0);
    for (Int k = 0; k < inner; ++k) {
      left.back() = k;
      right[right.size() - 2] = k;
      sum = sum + value_at(a, left) * value_at(b, right);
    }
    return sum;
  });
  if (column) result.shape.pop_back();
  if (row) result.shape.erase(result.shape.end() - (column ? 1 : 2));
  return result;
}

/// The weights of the keys for each query: [B, H, Tq, Tk].
template <class S>
Array<S> attention_map(const Array<S>& q, const Array<S>& k, bool causal) {
  require(q.shape.size() == 4 && k.shape.size() == 4 && q.shape[3] > 0, "[B, H, T, D]");
  require(q.shape[0] == k.shape[0] && q.shape[1] == k.shape[1] && q.shape[3] == k.shape[3],
          "q and k that agree");
  const Int queries = q.shape[2], keys = k.shape[2], width = q.shape[3];
  const S scale(1 / std::sqrt(static_cast<double>(width)));
  const auto visible = [&](const Ints& p) { return !causal || p[3] <= p[2] + keys - queries; };
  const Array<S> powers = fill<S>({q.shape[0], q.shape[1], queries, keys}, [&](const Ints& p) {
    S score(0);
    for (Int d = 0; d < width; ++d)
      score = score + value_at(q, {p[0], p[1], p[2], d}) * value_at(k, {p[0], p[1], p[3], d});
    return visible(p) ? exp(score * scale) : S(0);
  });
  return fill<S>(powers.shape, [&](const Ints& p) {
    S sum(0);
    for (Int j = 0; j < keys; ++j) sum = sum + value_at(powers, {p[0], p[1], p[2], j});
    return visible(p) ? value_at(powers, p) / sum : S(0);
  });
}

/// Throws unless value is [B, H, Tk, any width].
template <class S>
void check_values(const Array<S>& map, const Array<S>& value) {
  require(value.shape.size() == 4, "[B, H, T, D]");
  require(value.shape[0] == map.shape[0] && value.shape[1] == map.shape[1] &&
              value.shape[2] == map.shape[3],
          "a value for each key");
}

}  // namespace

template <class S>
std::vector<Array<S>> apply_products(const Step& step, const std::vector<const Array<S>*>& from) {
  const Array<S>& x = *from.at(0);
  if (step.op == "matmul") return {matmul(x, *from.at(1))};
  if (step.op == "dot") {
    require(x.shape.size() == 1 && x.shape == from.at(1)->shape, "two vectors");
    return {matmul(x, *from[1])};
  }
  if (step.op == "outer") {
    const Array<S>& y = *from.at(1);
    require(x.shape.size() == 1 && y.shape.size() == 1, "two vectors");
    return {fill<S>({x.shape[0], y.shape[0]},
                    [&](const Ints& p) { return at(x.values, p[0]) * at(y.values, p[1]); })};
  }
  if (step.op == "attention") {  // numbers: causal
    const Array<S> map = attention_map(x, *from.at(1), step.numbers[0] != 0);
    check_values(map, *from.at(2));
    return {matmul(map, *from[2])};
  }
  if (step.op == "differential_attention") {
    const bool causal = step.numbers[0] != 0;
    const Array<S> first = attention_map(x, *from.at(1), causal);
    const Array<S> second = attention_map(*from.at(2), *from.at(3), causal);
    const Array<S>& coefficient = *from.at(5);
    check_values(first, *from[4]);
    const Ints a_head{x.shape[1], 1, 1}, a_query{x.shape[0], x.shape[1], x.shape[2], 1};
    require(first.shape == second.shape && x.shape[3] == from[2]->shape[3] &&
                from[4]->shape[3] == 2 * x.shape[3],
            "two maps, and values twice as wide");
    require(
        coefficient.shape.empty() || coefficient.shape == a_head || coefficient.shape == a_query,
        "a coefficient for all, a head or a query");
    return {matmul(fill<S>(first.shape,
                           [&](const Ints& p) {
                             return value_at(first, p) -
                                    value_at(coefficient, p) * value_at(second, p);
                           }),
                   *from[4])};
  }
  return {};
}

template std::vector<Array<double>> apply_products(const Step&,
                                                   const std::vector<const Array<double>*>&);
template std::vector<Array<Dual>> apply_products(const Step&,
                                                 const std::vector<const Array<Dual>*>&);

}  // namespace programs
