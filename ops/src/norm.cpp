// The norms of rows: kernels, with plain definitions for derivatives of derivatives.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <xtape/ops/elementwise.hpp>
#include <xtape/ops/layers.hpp>
#include <xtape/ops/reduce.hpp>
#include <xtape/record.hpp>

#include "kernels.hpp"
#include "map.hpp"
#include "rows.hpp"

namespace xtape {

using namespace detail;

namespace {

/// One of the norms; gain and bias may have no value.
template <class T>
struct Norm {
  const char* op;
  bool centred;  // less the row's mean
  double epsilon;
  Tensor<T> x, gain, bias;

  Tensors<T> inputs() const {
    Tensors<T> result{x};
    for (const Tensor<T>& each : {gain, bias})
      if (each.has_value()) result.push_back(each);
    return result;
  }
};

template <class T>
void check(const Norm<T>& norm) {
  const Dims& shape = body(norm.x, norm.op).shape;
  if (shape.rank() == 0) fail(norm.op, "x of shape []: at least one axis is required.");
  const Tensors<T> inputs = norm.inputs();
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const Dims& given = inputs[i].raw()->shape;
    if (given.rank() != 1 || given[0] != shape[shape.rank() - 1])
      fail(norm.op, i == 1 ? "a gain" : "a bias", " of shape ", given, " for x of shape ", shape,
           ": one value for each of x's last axis is required.");
  }
  if (!(norm.epsilon >= 0) || std::isinf(norm.epsilon))
    fail(norm.op, "epsilon ", norm.epsilon, ": it must be finite and not negative.");
}

/// The values of a gain or bias; null for none. `held` keeps them.
template <class T>
const T* values_of(const Tensor<T>& x, Tensor<T>& held) {
  if (!x.has_value()) return nullptr;
  held = dense_rows(x);
  return held.raw()->data;
}

/// A position for each row of an array.
Dims rows_of(Dims shape) {
  std::int64_t& n = shape[shape.rank() - 1];
  n = n == 0 ? 0 : 1;
  return shape;
}

template <class T>
Tensor<T> forward(const Norm<T>& norm) {
  const Tensor<T> x = dense_rows(norm.x);
  const Dims& shape = x.raw()->shape;
  Tensor<T> gain, bias;
  const T *const gains = values_of(norm.gain, gain), *const biases = values_of(norm.bias, bias);
  auto [out, data] = fresh<T>(shape);
  const std::int64_t n = shape[shape.rank() - 1];
  for_each_offset_at_once<2>(rows_of(shape), {x.raw()->strides, out.raw()->strides},
                             0.5 * static_cast<double>(n), [&, to = data](const auto& at) {
                               kernels<T>().norm(n, x.raw()->data + at[0], norm.centred, gains,
                                                 biases, norm.epsilon, to + at[1]);
                             });
  return out;
}

/// The gradients of the inputs, in one pass over the rows.
template <class T>
Tensors<T> backward(const Norm<T>& norm, In<T> cotangent) {
  const Tensor<T> g = dense_rows(cotangent), x = dense_rows(norm.x);
  const Dims& shape = x.raw()->shape;
  Tensor<T> gain;
  const T* const gains = values_of(norm.gain, gain);
  const Fresh<T> dx = fresh<T>(shape);
  const std::int64_t n = shape[shape.rank() - 1];
  const Dims rows = rows_of(shape);
  const std::int64_t count = size_of(rows);
  // Each part sums for itself. Their number must not depend on that of threads: sums would.
  const std::int64_t parts = std::clamp<std::int64_t>(count * n / 16384, 1, 16);
  std::vector<double> sums(static_cast<std::size_t>(gains ? 2 * n * parts : 0));
  parallel(parts, static_cast<double>(count * n), [&](std::int64_t part) {
    double* const dgain = gains ? sums.data() + 2 * n * part : nullptr;
    double* const dbias = norm.bias.has_value() ? dgain + n : nullptr;
    for_each_offset<3>(rows, {g.raw()->strides, x.raw()->strides, dx.array.raw()->strides},
                       count * part / parts, count * (part + 1) / parts, [&](const auto& at) {
                         kernels<T>().norm_pullback(n, g.raw()->data + at[0], x.raw()->data + at[1],
                                                    norm.centred, gains, norm.epsilon,
                                                    dx.data + at[2], dgain, dbias);
                       });
  });
  Tensors<T> result{dx.array};
  for (std::size_t i = 1; i < norm.inputs().size(); ++i)
    result.push_back(generate<T>(norm.gain.raw()->shape, [&](std::int64_t feature) {
      double total = 0;
      for (std::int64_t part = 0; part < parts; ++part)
        total += sums[static_cast<std::size_t>((2 * part + static_cast<std::int64_t>(i) - 1) * n +
                                               feature)];
      return total;
    }));
  return result;
}

/// x less its mean when centred, over the root of the mean square of that.
template <class T>
Tensor<T> plain(In<T> x, bool centred, double epsilon) {
  const double n = static_cast<double>(x.dim(-1));
  Tensor<T> c = x;
  if (centred) {  // twice: the mean is rounded to T
    c = c - stop_gradient(sum(c, -1, true) / n);
    c = c - sum(c, -1, true) / n;
  }
  return c / sqrt(sum(square(c), -1, true) / n + epsilon);
}

template <class T>
Tensor<T> run(const Norm<T>& norm) {
  check(norm);
  char attributes[40];
  std::snprintf(attributes, sizeof attributes, "epsilon=%g", norm.epsilon);
  auto composition = [centred = norm.centred, epsilon = norm.epsilon](const Tensors<T>& in) {
    Tensor<T> y = plain<T>(in[0], centred, epsilon);
    if (in.size() > 1) y = y * in[1];
    return in.size() > 2 ? y + in[2] : y;
  };
  auto fast = [norm](In<T> g, const std::vector<bool>&) { return backward(norm, g); };
  return record_fused<T>(norm.op, forward(norm), norm.inputs(), std::move(composition),
                         std::move(fast), attributes);
}

/// x, which must have a value.
template <class T>
In<T> given(In<T> x, const char* op) {
  body(x, op);
  return x;
}

}  // namespace

template <class T>
Tensor<T> rms_norm(const Tensor<T>& x, double epsilon) {
  return run<T>({"rms_norm", false, epsilon, x, {}, {}});
}

template <class T>
Tensor<T> rms_norm(const Tensor<T>& x, const Tensor<T>& gain, double epsilon) {
  return run<T>({"rms_norm", false, epsilon, x, given(gain, "rms_norm"), {}});
}

template <class T>
Tensor<T> layer_norm(const Tensor<T>& x, const Tensor<T>& gain, const Tensor<T>& bias,
                     double epsilon) {
  return run<T>(
      {"layer_norm", true, epsilon, x, given(gain, "layer_norm"), given(bias, "layer_norm")});
}

#define XTAPE_INSTANTIATE(T)                                               \
  template Tensor<T> rms_norm(const Tensor<T>&, double);                   \
  template Tensor<T> rms_norm(const Tensor<T>&, const Tensor<T>&, double); \
  template Tensor<T> layer_norm(const Tensor<T>&, const Tensor<T>&, const Tensor<T>&, double);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
