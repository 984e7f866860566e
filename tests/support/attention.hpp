// What the tests of attention share: random operands, values and gradients by the tape, the same by
// the reference's loops, and how far apart the two are.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/reference.hpp"

namespace xtape::test {

using reference::Sizes;
using reference::Spread;
using Flat = reference::Values;

template <class T>
using Tensors = std::vector<Tensor<T>>;

/// The largest error: 16 digits less what sums of hundreds of terms lose; in float a correct
/// result was seen to be off by up to 6e-6.
template <class T>
constexpr double kBar = sizeof(T) == sizeof(double) ? 1e-12 : 2e-5;

/// A difference that counts as none: near the end of float's range (1e-38) digits are lost.
template <class T>
constexpr double kFloor = sizeof(T) == sizeof(double) ? 0 : 1e-36;

// ---- between tensors and flat vectors -------------------------------------------------------

template <class T>
Tensor<T> tensor(const Shape& shape, const Flat& values) {
  std::vector<T> rounded;
  for (double v : values) rounded.push_back(static_cast<T>(v));
  return Tensor<T>(shape, rounded);
}

template <class T>
Flat flat(const Tensor<T>& x) {
  const std::vector<T> values = x.values();
  return Flat(values.begin(), values.end());
}

inline std::int64_t length(std::size_t n) { return static_cast<std::int64_t>(n); }

inline Shape shape_of(const Sizes& s, std::size_t rows, std::size_t columns) {
  return {length(s.batches), length(s.heads), length(rows), length(columns)};
}

inline Shape coefficient_shape(const Sizes& s, Spread spread) {
  if (spread == Spread::scalar) return {};
  if (spread == Spread::per_head) return {length(s.heads), 1, 1};
  return shape_of(s, s.queries, 1);
}

/// What a causal flag or a mask lets through, [B, H, Tq, Tk], by NumPy's rules of broadcasting.
inline reference::Visibility visibility(const Visible& visible, const Sizes& s) {
  if (!visible.allowed().has_value())
    return visible.causal() ? reference::causal(s) : reference::everything(s);
  const Shape given = visible.allowed().shape();
  const std::vector<bool> allowed = visible.allowed().values();
  reference::Visibility result;
  for (std::size_t b = 0; b < s.batches; ++b)
    for (std::size_t h = 0; h < s.heads; ++h)
      for (std::size_t i = 0; i < s.queries; ++i)
        for (std::size_t j = 0; j < s.keys; ++j) {
          const std::size_t full[] = {b, h, i, j};
          std::size_t at = 0;
          for (std::size_t axis = 0; axis < given.size(); ++axis) {
            const std::size_t n = static_cast<std::size_t>(given[axis]);
            at = at * n + (n == 1 ? 0 : full[axis + 4 - given.size()]);
          }
          result.push_back(allowed[at]);
        }
  return result;
}

// ---- how far apart --------------------------------------------------------------------------

/// max |difference| / max |expected| of an array; NaN or infinite where either is not finite.
template <class T>
double error(const Flat& found, const Flat& expected) {
  if (found.size() != expected.size()) return std::numeric_limits<double>::infinity();
  double difference = 0, scale = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double d = std::abs(found[i] - expected[i]);
    if (std::isnan(d)) return d;
    difference = std::max(difference, d);
    scale = std::max(scale, std::abs(expected[i]));
  }
  return difference <= kFloor<T> ? 0 : difference / scale;
}

template <class T>
double error(const Tensor<T>& found, const Flat& expected) {
  return error<T>(flat(found), expected);
}

/// The largest |difference| / scale, each place by its own scale: for sums that may cancel.
template <class T>
double scaled_error(const Flat& found, const Flat& expected, const Flat& scale) {
  if (found.size() != expected.size() || found.size() != scale.size())
    return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double d = std::abs(found[i] - expected[i]);
    if (std::isnan(d)) return d;
    if (d > kFloor<T>) worst = std::max(worst, d / scale[i]);
  }
  return worst;
}

/// The largest |x - value|, NaN if there is one.
template <class T>
double distance(const Tensor<T>& x, double value) {
  double worst = 0;
  for (double v : flat(x)) {
    if (std::isnan(v)) return v;
    worst = std::max(worst, std::abs(v - value));
  }
  return worst;
}

template <class T>
bool same_bits(const Tensor<T>& a, const Tensor<T>& b) {
  const std::vector<T> x = a.values(), y = b.values();
  return a.shape() == b.shape() &&
         (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0);
}

template <class T>
bool same_bits(const Tensors<T>& a, const Tensors<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Tensor<T>& x, const Tensor<T>& y) { return same_bits(x, y); });
}

/// True when every value equals `value`; 0 and -0 are equal.
template <class T>
bool every(const Tensor<T>& x, double value) {
  const Flat values = flat(x);
  return std::all_of(values.begin(), values.end(), [value](double v) { return v == value; });
}

template <class T>
bool any_nan(const Tensor<T>& x) {
  const Flat values = flat(x);
  return std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); });
}

// ---- values and gradients by the tape -------------------------------------------------------

/// f at variables with these values, then the gradient of sum(f * cotangent) for each of them.
template <class T>
Tensors<T> differentiate(const Function<T>& f, const Tensors<T>& inputs,
                         const Tensor<T>& cotangent) {
  Tape<T> tape;
  const Tensors<T> x = tape.variable(inputs);
  const Tensor<T> y = f(x);
  Tensors<T> result = tape.vjp(y, cotangent, x);
  result.insert(result.begin(), y);
  return result;
}

/// q, k, value -> attention
template <class T>
Function<T> ordinary(const Visible& visible) {
  return [visible](const Tensors<T>& x) { return attention(x[0], x[1], x[2], visible); };
}

/// q1, k1, q2, k2, value, coefficient -> differential attention
template <class T>
Function<T> differential(const Visible& visible) {
  return [visible](const Tensors<T>& x) {
    return differential_attention(x[0], x[1], x[2], x[3], x[4], x[5], visible);
  };
}

template <class T>
Function<T> fused_ordinary(const Visible& visible) {
  return [visible](const Tensors<T>& x) { return fused::attention(x[0], x[1], x[2], visible); };
}

template <class T>
Function<T> fused_differential(const Visible& visible) {
  return [visible](const Tensors<T>& x) {
    return fused::differential_attention(x[0], x[1], x[2], x[3], x[4], x[5], visible);
  };
}

// ---- random operands, and the reference for them --------------------------------------------

/// D features of a query and 2 D of a value.
inline Sizes sizes_of(std::size_t batches, std::size_t heads, std::size_t queries, std::size_t keys,
                      std::size_t features) {
  return {batches, heads, queries, keys, features, 2 * features};
}

/// Operands of one of the functions, in its order, and the cotangent of its result.
template <class T>
struct Problem {
  Sizes sizes;
  Tensors<T> inputs;
  Tensor<T> cotangent;
  Spread spread = Spread::scalar;
};

template <class T>
Problem<T> ordinary_problem(const Sizes& s, std::uint64_t seed) {
  Random random(seed);
  Problem<T> p{s, {}, {}, {}};
  p.inputs = {random.normal<T>(shape_of(s, s.queries, s.features)),
              random.normal<T>(shape_of(s, s.keys, s.features)),
              random.normal<T>(shape_of(s, s.keys, s.value_features))};
  p.cotangent = random.normal<T>(shape_of(s, s.queries, s.value_features));
  return p;
}

template <class T>
Problem<T> differential_problem(const Sizes& s, std::uint64_t seed,
                                Spread spread = Spread::scalar) {
  Random random(seed);
  Problem<T> p{s, {}, {}, spread};
  for (int map = 0; map < 2; ++map) {
    p.inputs.push_back(random.normal<T>(shape_of(s, s.queries, s.features)));
    p.inputs.push_back(random.normal<T>(shape_of(s, s.keys, s.features)));
  }
  p.inputs.push_back(random.normal<T>(shape_of(s, s.keys, s.value_features)));
  p.inputs.push_back(random.normal<T>(coefficient_shape(s, spread)));
  p.cotangent = random.normal<T>(shape_of(s, s.queries, s.value_features));
  return p;
}

/// The problem's function by the tape.
template <class T>
Tensors<T> solve(const Problem<T>& p, const Visible& visible) {
  return differentiate<T>(p.inputs.size() == 3 ? ordinary<T>(visible) : differential<T>(visible),
                          p.inputs, p.cotangent);
}

/// What `solve` should give: the value, then the gradients.
struct Expected {
  std::vector<Flat> arrays;
  Flat coefficient_scale;  // of the last array; empty for ordinary attention
};

template <class T>
Expected expected_of(const Problem<T>& p, const Visible& visible) {
  std::vector<Flat> x;
  for (const Tensor<T>& input : p.inputs) x.push_back(flat(input));
  const Flat cotangent = flat(p.cotangent);
  const reference::Visibility seen = visibility(visible, p.sizes);
  if (x.size() == 3) {
    const reference::AttentionInputs in{p.sizes, x[0], x[1], x[2], seen};
    const auto g = reference::attention_vjp(in, cotangent);
    return {{reference::attention(in), g.dq, g.dk, g.dvalue}, {}};
  }
  const reference::DifferentialInputs in{p.sizes,          x[0], x[1], x[2], x[3], x[4],
                                         {x[5], p.spread}, seen};
  const auto g = reference::differential_attention_vjp(in, cotangent);
  return {
      {reference::differential_attention(in), g.dq1, g.dk1, g.dq2, g.dk2, g.dvalue, g.dcoefficient},
      g.dcoefficient_scale};
}

/// The largest of the arrays' errors, NaN if there is one.
template <class T>
double worst_error(const Expected& expected, const Tensors<T>& found) {
  if (found.size() != expected.arrays.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double e =
        i == 6 ? scaled_error<T>(flat(found[i]), expected.arrays[i], expected.coefficient_scale)
               : error(found[i], expected.arrays[i]);
    if (std::isnan(e)) return e;
    worst = std::max(worst, e);
  }
  return worst;
}

template <class T>
double worst_error(const Problem<T>& p, const Visible& visible) {
  return worst_error(expected_of(p, visible), solve(p, visible));
}

/// Masks of every shape that broadcasts to [B, H, Tq, Tk], each place allowed with probability 2/3,
/// but with a whole row of false wherever there are rows.
inline std::vector<Mask> masks_of_every_shape(const Sizes& s, std::uint64_t seed) {
  Random random(seed);
  const Shape full = shape_of(s, s.queries, s.keys);
  std::vector<Mask> masks;
  for (int rank = 0; rank <= 4; ++rank)
    for (int axes = 0; axes < 1 << rank; ++axes) {
      Shape shape;
      std::size_t size = 1;
      for (int axis = 0; axis < rank; ++axis) {
        const std::int64_t n = full[static_cast<std::size_t>(axis + 4 - rank)];
        shape.push_back((axes >> axis & 1) != 0 ? n : 1);
        size *= static_cast<std::size_t>(shape.back());
      }
      const std::size_t row = rank == 0 ? 1 : static_cast<std::size_t>(shape.back());
      std::vector<bool> allowed;
      for (std::size_t i = 0; i < size; ++i)
        allowed.push_back((size == row || i >= row) && random.below(3) != 0);
      masks.emplace_back(shape, allowed);
    }
  return masks;
}

}  // namespace xtape::test
