// Softmax and losses.
#include <xtape/ops/nn.hpp>

#include <cmath>
#include <limits>
#include <string>

#include <xtape/ops/compare.hpp>
#include <xtape/ops/elementwise.hpp>
#include <xtape/ops/reduce.hpp>
#include <xtape/ops/shape.hpp>
#include <xtape/record.hpp>

#include "kernels.hpp"
#include "rows.hpp"
#include "storage.hpp"

namespace xtape {

namespace {

using detail::Body;
using detail::body;
using detail::Dims;

constexpr double kInf = std::numeric_limits<double>::infinity();

/// Throws unless logits have an axis of classes, and rows to take a mean of.
template <class T>
void check_logits(const Tensor<T>& logits) {
  const Dims& shape = body(logits, "cross_entropy").shape;
  if (shape.rank() == 0 || detail::size_of(shape) == 0)
    detail::fail("cross_entropy", "logits of shape " + detail::to_string(shape) +
                                      ": [..., classes] with at least one position and one class "
                                      "is required.");
}

}  // namespace

template <class T>
Tensor<T> softmax(const Tensor<T>& x, Axis axis) {
  const Body<T>& b = body(x, "softmax");
  const int at = detail::normalize(axis, b.shape.rank(), "softmax");
  auto [out, to] = detail::fresh<T>(b.shape);
  T* const y = to;
  const Dims strides = out.raw()->strides;
  Dims rows = b.shape;
  rows[at] = b.shape[at] == 0 ? 0 : 1;
  const auto& row = *detail::kernels<T>().softmax_row;
  detail::for_each_offset<2>(rows, {b.strides, strides}, [&](const auto& offset) {
    row(b.shape[at], b.data + offset[0], b.strides[at], y + offset[1], strides[at]);
  });
  auto pullback = [at](In<T> g, In<T> weights) {
    const Tensor<T> gy = chain(g, weights);
    return gy - weights * sum(gy, at, true);
  };
  return record<T>("softmax", std::move(out), {{x, pullback}}, detail::axis_text(at));
}

template <class T>
Tensor<T> softmax(const Tensor<T>& x, const Mask& allowed, Axis axis) {
  const Dims &shape = body(x, "softmax").shape, &given = body(allowed, "softmax").shape;
  if (!detail::broadcasts_to(given, shape))
    detail::fail("softmax", "a mask of shape " + detail::to_string(given) + " for x of shape " +
                                detail::to_string(shape) + ": it must broadcast to x.");
  return softmax(mask(x, allowed), axis);
}

template <class T>
Tensor<T> log_softmax(const Tensor<T>& x, Axis axis) {
  const Body<T>& b = body(x, "log_softmax");
  const int at = detail::normalize(axis, b.shape.rank(), "log_softmax");
  const Tensor<T> constant = stop_gradient(x);
  // Shifted before the logarithm, which is small then: large x would swallow it. -inf stays -inf,
  // also in a row of nothing else.
  Tensor<T> value = constant;
  if (b.size > 0) {
    const Tensor<T> shifted = constant - max(constant, at, true);
    value = where(equal(constant, -kInf), -kInf, shifted - logsumexp(shifted, at, true));
  }
  auto pullback = [at](In<T> g, In<T> y) {
    const Tensor<T> total = sum(where(equal(y, -kInf), 0, g), at, true);
    return where(equal(y, -kInf), 0, g) - chain(total, exp(y));
  };
  return record<T>("log_softmax", value, {{x, pullback}}, detail::axis_text(at));
}

template <class T>
Tensor<T> cross_entropy(const Tensor<T>& logits, const Index& targets) {
  check_logits(logits);
  body(targets, "cross_entropy");
  Shape positions = logits.shape();
  const std::int64_t classes = positions.back();
  positions.pop_back();
  const std::vector<std::int64_t> wanted = targets.values();
  if (targets.shape() != positions)
    detail::fail("cross_entropy", "targets of shape " + to_string(targets.shape()) +
                                      " for logits of shape " + to_string(logits.shape()) +
                                      ": they must have the logits' shape without its last axis.");
  for (std::int64_t target : wanted)
    if (target < 0 || target >= classes)
      detail::fail("cross_entropy", "target " + std::to_string(target) + " of " +
                                        std::to_string(classes) +
                                        " classes: it must be at least 0 and below their number.");
  const std::vector<T> logs = log_softmax(stop_gradient(logits)).values();
  const double n = static_cast<double>(wanted.size());
  double total = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    total -= static_cast<double>(
        logs[i * static_cast<std::size_t>(classes) + static_cast<std::size_t>(wanted[i])]);
  return record<T>("cross_entropy", Tensor<T>(total / n),
                   {{logits, [logits, targets, n](In<T> g) {
                       const Tensor<T> hot = one_hot<T>(targets, logits.dim(-1));
                       return chain(g / n, softmax(logits) - hot);
                     }}});
}

template <class T>
Tensor<T> cross_entropy(const Tensor<T>& logits, const Tensor<T>& probabilities) {
  check_logits(logits);
  if (body(probabilities, "cross_entropy").shape != body(logits, "cross_entropy").shape)
    detail::fail("cross_entropy", "probabilities of shape " + to_string(probabilities.shape()) +
                                      " for logits of shape " + to_string(logits.shape()) +
                                      ": the shapes must be equal.");
  // chain: a class of probability 0 adds 0, also where its logarithm is -inf.
  const Tensor<T> terms = chain(probabilities, log_softmax(logits));
  return -(sum(terms) / static_cast<double>(logits.size() / logits.dim(-1)));
}

template <class T>
Tensor<T> mse(const Tensor<T>& prediction, Arg<T> target) {
  if (body(prediction, "mse").shape != body(target, "mse").shape)
    detail::fail("mse", "a prediction of shape " + to_string(prediction.shape()) +
                            " for a target of shape " + to_string(target.shape()) +
                            ": the shapes must be equal.");
  if (prediction.size() == 0)
    detail::fail("mse", "shape " + to_string(prediction.shape()) +
                            ": there is nothing to take the mean of.");
  return mean(square(prediction - target));
}

#define XTAPE_INSTANTIATE(T)                                        \
  template Tensor<T> softmax(const Tensor<T>&, Axis);               \
  template Tensor<T> softmax(const Tensor<T>&, const Mask&, Axis);  \
  template Tensor<T> mse(const Tensor<T>&, Arg<T>);                 \
  template Tensor<T> log_softmax(const Tensor<T>&, Axis);           \
  template Tensor<T> cross_entropy(const Tensor<T>&, const Index&); \
  template Tensor<T> cross_entropy(const Tensor<T>&, const Tensor<T>&);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
