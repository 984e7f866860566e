// What a step learns from: windows of the text, and the loss on them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "run.hpp"

namespace tiny_lm {

template <class T>
xtape::Tensor<T> loss_of(const Model<T>& model, const Windows& w) {
  return xtape::cross_entropy(forward(model, w.ids), w.next);
}

/// The windows of one of `ranks` processes, of a batch that all of them draw.
template <class T>
Windows next_batch(Run<T>& run, const Ids& text, std::int64_t rank = 0, std::int64_t ranks = 1) {
  const std::int64_t context = run.model.config.context, batch = run.training.batch;
  Ids starts;
  for (std::int64_t i = 0; i < ranks * batch; ++i)
    starts.push_back(run.random.below(static_cast<std::int64_t>(text.size()) - context));
  const auto first = starts.begin() + static_cast<std::ptrdiff_t>(rank * batch);
  return Windows(text, {first, first + static_cast<std::ptrdiff_t>(batch)}, context);
}

}  // namespace tiny_lm
