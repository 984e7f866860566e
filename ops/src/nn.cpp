// Losses.
#include <xtape/ops/nn.hpp>

#include <string>

#include <xtape/ops/compare.hpp>
#include <xtape/ops/elementwise.hpp>
#include <xtape/ops/reduce.hpp>
#include <xtape/ops/shape.hpp>
#include <xtape/record.hpp>

#include "kernels.hpp"
#include "map.hpp"
#include "rows.hpp"

namespace xtape {

namespace {

using detail::Body;
using detail::body;
using detail::Dims;

/// Throws unless logits have an axis of classes, and rows to take a mean of.
template <class T>
void check_logits(const Tensor<T>& logits) {
  const Dims& shape = body(logits, "cross_entropy").shape;
  if (shape.rank() == 0 || detail::size_of(shape) == 0)
    detail::fail("cross_entropy", "logits of shape " + detail::to_string(shape) +
                                      ": [..., classes] with at least one position and one class "
                                      "is required.");
}

/// Calls use(i, row) for each position i of dense rows, by several threads.
template <class T, class Use>
void for_each_position(const Tensor<T>& x, const Use& use) {
  const Body<T>& b = *x.raw();
  const int last = b.shape.rank() - 1;
  Dims rows = b.shape;
  rows[last] = 1;
  detail::for_each_offset_at_once<2>(
      rows, {b.strides, detail::contiguous_strides(rows)}, static_cast<double>(b.shape[last]),
      [&](const auto& offset) { use(offset[1], b.data + offset[0]); });
}

/// -mean log_softmax(logits)[targets]
template <class T>
double mean_of_losses(const Tensor<T>& logits, const std::vector<std::int64_t>& targets) {
  const Tensor<T> x = detail::dense_rows(logits);
  const std::int64_t classes = x.dim(-1);
  std::vector<double> losses(targets.size());
  for_each_position(x, [&, &kernels = detail::kernels<T>()](std::int64_t i, const T* row) {
    const auto at = static_cast<std::size_t>(i);
    losses[at] = kernels.cross_entropy(classes, row, targets[at]);
  });
  double total = 0;  // in one order, whatever the number of threads
  for (double loss : losses) total += loss;
  return total / static_cast<double>(losses.size());
}

/// dx = g (softmax(logits) - onehot(targets))
template <class T>
Tensor<T> slopes_of_losses(const Tensor<T>& logits, const Index& targets, T g) {
  const Tensor<T> x = detail::dense_rows(logits);
  const std::int64_t classes = x.dim(-1);
  const std::vector<std::int64_t> wanted = targets.values();
  auto [out, data] = detail::fresh<T>(x.raw()->shape);
  for_each_position(x,
                    [&, to = data, &kernels = detail::kernels<T>()](std::int64_t i, const T* row) {
                      kernels.cross_entropy_pullback(
                          classes, row, wanted[static_cast<std::size_t>(i)], g, to + i * classes);
                    });
  return out;
}

}  // namespace

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
  return record<T>("cross_entropy", Tensor<T>(mean_of_losses(logits, wanted)),
                   {{logits, [logits, targets, n = static_cast<double>(wanted.size())](In<T> g) {
                       const Tensor<T> share = g / n;
                       if (!is_recorded(share) && !is_recorded(logits))
                         return slopes_of_losses(logits, targets, share.item());
                       const Tensor<T> hot = one_hot<T>(targets, logits.dim(-1));
                       return chain(share, softmax(logits) - hot);
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
  template Tensor<T> mse(const Tensor<T>&, Arg<T>);                 \
  template Tensor<T> cross_entropy(const Tensor<T>&, const Index&); \
  template Tensor<T> cross_entropy(const Tensor<T>&, const Tensor<T>&);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
