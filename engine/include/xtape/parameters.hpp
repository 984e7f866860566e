// A model's values under their names: what tapes watch, optimisers step and files keep.
//
//   Parameters<float> model{{"w", random.normal<float>({3, 2})}, {"b", Tensor<float>::zeros({2})}};
//   tape.watch(model);
//   auto loss = mse(matmul(x, at(model, "w")) + at(model, "b"), y);
//   auto gradients = tape.gradient(loss, model);  // a std::vector, in the model's order
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <xtape/tensor.hpp>

namespace xtape {

/// One named value of a model.
template <class T>
struct Parameter {
  std::string name;
  Tensor<T> value;
};

/// A model is a list of them.
template <class T>
using Parameters = std::vector<Parameter<T>>;

/// The first value of a name.
/// Throws: std::invalid_argument when there is none, with the name that is most like it.
template <class T>
XTAPE_API Tensor<T>& at(Parameters<T>& model, std::string_view name);
template <class T>
XTAPE_API const Tensor<T>& at(const Parameters<T>& model, std::string_view name);

/// The number of values in all.
template <class T>
XTAPE_API std::int64_t count(const Parameters<T>& model);

}  // namespace xtape
