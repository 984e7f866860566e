// A model and gradients for tests of optimisers and files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/close.hpp"

namespace xtape::test {

template <class T>
using Gradients = std::vector<Tensor<T>>;

/// Values of every rank from 0 to 3, and none.
template <class T>
Parameters<T> a_model(std::int64_t width = 5) {
  Random random(3);
  return {{"weight", random.normal<T>({4, width})},
          {"bias", random.normal<T>({width})},
          {"gain", random.normal<T>({})},
          {"none", Tensor<T>::zeros({2, 0})},
          {"cube", random.normal<T>({2, 3, width})}};
}

template <class T>
Gradients<T> some_gradients(const Parameters<T>& model, std::uint64_t seed) {
  Random random(seed);
  Gradients<T> gradients;
  for (const Parameter<T>& p : model) gradients.push_back(random.normal<T>(p.value.shape()));
  return gradients;
}

/// The same names, shapes and values to the last bit, in one order.
template <class T>
bool same_bits(const Parameters<T>& a, const Parameters<T>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].name != b[i].name || !closeness::same_bits(a[i].value, b[i].value)) return false;
  return true;
}

}  // namespace xtape::test
