// Layers of language models: value and VJP side by side. The norms are in norm.cpp.
#include <xtape/ops/layers.hpp>

#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include <xtape/ops/elementwise.hpp>
#include <xtape/ops/linalg.hpp>
#include <xtape/ops/shape.hpp>
#include <xtape/record.hpp>

#include "kernels.hpp"
#include "map.hpp"
#include "rows.hpp"

namespace xtape {

using namespace detail;

namespace {

/// x: [..., K] -> [N, K]
template <class T>
Tensor<T> flatten(const Tensor<T>& x) {
  Dims rows = x.raw()->shape;
  rows.resize(rows.rank() - 1);
  return reshape(x, {size_of(rows), x.dim(-1)});
}

}  // namespace

template <class T>
Tensor<T> linear(const Tensor<T>& x, const Tensor<T>& weight) {
  const Dims &shape = body(x, "linear").shape, &given = body(weight, "linear").shape;
  if (shape.rank() == 0 || given.rank() != 2 || shape[shape.rank() - 1] != given[1])
    fail("linear", "x of shape ", shape, " and a weight of shape ", given,
         ": x's last axis must equal the second of the weight's two.");
  // Without gaps all rows are one product; so they are in the gradients.
  Tensor<T> y = matmul(contiguous(stop_gradient(x)), transpose(stop_gradient(weight)));
  return record<T>("linear", std::move(y),
                   {{x, [weight](In<T> g) { return matmul(contiguous(g), weight); }},
                    {weight, [x](In<T> g) { return matmul(transpose(flatten(g)), flatten(x)); }}});
}

template <class T>
Tensor<T> linear(const Tensor<T>& x, const Tensor<T>& weight, const Tensor<T>& bias) {
  const Dims& given = body(bias, "linear").shape;
  const Dims& shape = body(weight, "linear").shape;
  if (given.rank() != 1 || (shape.rank() == 2 && given[0] != shape[0]))
    fail("linear", "a bias of shape ", given, " for a weight of shape ", shape,
         ": one value for each row of the weight is required.");
  return linear(x, weight) + bias;
}

template <class T>
Tensor<T> swiglu(const Tensor<T>& gate, const Tensor<T>& up) {
  const Dims& shape = body(gate, "swiglu").shape;
  if (body(up, "swiglu").shape != shape)
    fail("swiglu", "a gate of shape ", shape, " and up of shape ", up.shape(),
         ": the shapes must be equal.");
  const auto dense = [](In<T> x) { return contiguous(stop_gradient(x)); };
  const double nanoseconds = static_cast<double>(gate.size());
  auto [out, data] = fresh<T>(shape);
  parallel_blocks(gate.size(), nanoseconds,
                  [&, a = dense(gate), b = dense(up), y = data](auto i, auto end) {
                    kernels<T>().swiglu(end - i, a.data() + i, b.data() + i, y + i);
                  });
  auto fast = [=](In<T> cotangent, const std::vector<bool>&) {
    auto [dgate, first] = fresh<T>(gate.raw()->shape);
    auto [dup, second] = fresh<T>(gate.raw()->shape);
    parallel_blocks(gate.size(), 2 * nanoseconds,
                    [&, g = dense(cotangent), a = dense(gate), b = dense(up), da = first,
                     db = second](auto i, auto end) {
                      kernels<T>().swiglu_pullback(end - i, g.data() + i, a.data() + i,
                                                   b.data() + i, da + i, db + i);
                    });
    return Tensors<T>{dgate, dup};
  };
  return record_fused<T>(
      "swiglu", std::move(out), {gate, up},
      [](const Tensors<T>& in) { return silu(in[0]) * in[1]; }, std::move(fast));
}

namespace {

/// What rotary multiplies by: a cosine and a sine for each pair of `width` features at `length`
/// places from `start` on.
template <class T>
struct Turns {
  std::int64_t start = 0, length = 0, width = 0;
  double theta = 0;
  Tensor<T> values;  // [length, width]

  bool operator==(const Turns& other) const {
    return start == other.start && length == other.length && width == other.width &&
           theta == other.theta;
  }
  void compute() {
    auto [array, to] = fresh<T>(to_dims({length, width}, "rotary"));
    for (std::int64_t i = 0; i < width; i += 2) {
      const double step = std::pow(theta, -static_cast<double>(i) / static_cast<double>(width));
      for (std::int64_t t = 0; t < length; ++t) {
        const double angle = (static_cast<double>(start) + static_cast<double>(t)) * step;
        to[t * width + i] = static_cast<T>(std::cos(angle));
        to[t * width + i + 1] = static_cast<T>(std::sin(angle));
      }
    }
    values = array;
  }
};

/// The same ones are asked for by every layer, forward and backward: the last are kept.
template <class T>
Tensor<T> turns(std::int64_t start, std::int64_t length, std::int64_t width, double theta) {
  thread_local Turns<T> last;
  Turns<T> wanted{start, length, width, theta, {}};
  if (!(wanted == last)) {
    wanted.compute();
    last = std::move(wanted);
  }
  return last.values;
}

/// rotary, by the negative angles when `back`: each is the other's pullback.
template <class T>
Tensor<T> rotate(const Tensor<T>& x, std::int64_t start, double theta, bool back) {
  const Tensor<T> from = dense_rows(x);
  const Dims& shape = from.raw()->shape;
  const int rank = shape.rank();
  const Tensor<T> table = turns<T>(start, shape[rank - 2], shape[rank - 1], theta);
  auto [out, data] = fresh<T>(shape);
  const Dims repeated = strides_in(shape, *table.raw());
  const Rows<3> rows(shape, {from.raw()->strides, repeated, out.raw()->strides});
  const T sign = back ? T(-1) : T(1);
  for_each_offset_at_once<3>(rows.outer, rows.strides, 0.3 * static_cast<double>(rows.length),
                             [&, to = data](const auto& at) {
                               const T* v = from.data() + at[0];
                               const T* turn = table.data() + at[1];
                               T* y = to + at[2];
                               for (std::int64_t i = 0; i < rows.length; i += 2) {
                                 const T c = turn[i], s = sign * turn[i + 1];
                                 const T first = v[i], second = v[i + 1];
                                 y[i] = first * c - second * s;
                                 y[i + 1] = first * s + second * c;
                               }
                             });
  char attributes[80];
  std::snprintf(attributes, sizeof attributes, "start=%lld, theta=%g%s",
                static_cast<long long>(start), theta, back ? ", back" : "");
  return record<T>("rotary", std::move(out),
                   {{x, [=](In<T> g) { return rotate(g, start, theta, !back); }}}, attributes);
}

}  // namespace

template <class T>
Tensor<T> rotary(const Tensor<T>& x, std::int64_t start, double theta) {
  const Dims& shape = body(x, "rotary").shape;
  if (shape.rank() < 2 || shape[shape.rank() - 1] % 2 != 0)
    fail("rotary", "x of shape ", shape, ": [..., T, D] with an even D is required.");
  if (start < 0) fail("rotary", "start ", start, ": it must not be negative.");
  if (!(theta > 0) || std::isinf(theta))
    fail("rotary", "theta ", theta, ": it must be positive and finite.");
  return rotate(x, start, theta, false);
}

template <class T>
Tensor<T> dropout(const Tensor<T>& x, double probability, Random& random, bool training) {
  const Dims& shape = body(x, "dropout").shape;
  if (!(probability >= 0 && probability < 1))
    fail("dropout", "probability ", probability, ": it must be at least 0 and below 1.");
  if (!training || probability == 0) return x;
  // Looked up: a branch that nobody can predict costs more than the draw.
  const double factors[] = {0, 1 / (1 - probability)};
  const Tensor<T> factor = generate<T>(
      shape, [&](std::int64_t) { return factors[random.uniform() < probability ? 0 : 1]; });
  // chain: a selection, so that what is dropped counts for nothing, whatever it is.
  return record<T>("dropout", chain(factor, stop_gradient(x)),
                   {{x, [factor](In<T> g) { return chain(factor, g); }}});
}

template <class T>
Tensor<T> embedding(const Tensor<T>& weight, const Index& ids) {
  const Dims& shape = body(weight, "embedding").shape;
  body(ids, "embedding");
  const std::vector<std::int64_t> wanted = ids.values();
  if (shape.rank() != 2)
    fail("embedding", "a weight of shape ", shape, ": a row for each id, [N, D], is required.");
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i] < 0 || wanted[i] >= shape[0])
      fail("embedding", "id ", wanted[i], " (number ", i, " of the ids) for a weight of ", shape[0],
           " rows: it must be at least 0 and below their number.");
  return gather(weight, ids);
}

#define XTAPE_INSTANTIATE(T)                                                       \
  template Tensor<T> linear(const Tensor<T>&, const Tensor<T>&);                   \
  template Tensor<T> linear(const Tensor<T>&, const Tensor<T>&, const Tensor<T>&); \
  template Tensor<T> swiglu(const Tensor<T>&, const Tensor<T>&);                   \
  template Tensor<T> rotary(const Tensor<T>&, std::int64_t, double);               \
  template Tensor<T> dropout(const Tensor<T>&, double, Random&, bool);             \
  template Tensor<T> embedding(const Tensor<T>&, const Index&);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
