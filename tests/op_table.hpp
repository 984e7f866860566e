// The op table: one row or more for each op. A row's name begins with the op's; what follows tells
// its variant. Generic tests run over all rows, at random inputs of every sample's shapes:
//
//   {"exp", unary_samples(), [](const auto& x) { return exp(x[0]); }, value, vjp}
//
// `value` and `vjp` are the expected numbers: scalar loops in double, and derivatives found by
// hand.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <xtape/gradient_check.hpp>
#include <xtape/tensor.hpp>

#include "support/plain.hpp"

namespace op_table {

template <class T>
using Tensors = std::vector<xtape::Tensor<T>>;

/// A function of tensors for both types, made from one generic lambda.
class Op {
 public:
  template <class F, std::enable_if_t<!std::is_same_v<std::decay_t<F>, Op>, int> = 0>
  Op(F f) : float_(f), double_(f) {
    static_assert(std::is_same_v<decltype(f(Tensors<float>())), xtape::Tensor<float>>);
    static_assert(std::is_same_v<decltype(f(Tensors<double>())), xtape::Tensor<double>>);
  }
  template <class T>
  const xtape::Function<T>& of() const {
    if constexpr (std::is_same_v<T, float>)
      return float_;
    else
      return double_;
  }

 private:
  xtape::Function<float> float_;
  xtape::Function<double> double_;
};

/// What random inputs are drawn from.
struct Domain {
  enum Kind {
    kBetween,   // low <= x < high
    kOutside,   // low <= |x| < high, of either sign: away from a pole or kink at 0
    kDistinct,  // values from low to high in equal steps, in any order: away from ties
  };
  Kind kind = kBetween;
  double low = -2;
  double high = 2;
};

/// The shapes of an op's inputs.
using Sample = std::vector<plain::Shape>;

using Value = std::function<plain::Array(const std::vector<plain::Array>& x)>;
using Vjp =
    std::function<plain::Gradients(const std::vector<plain::Array>& x, const plain::Array& g)>;

struct Row {
  std::string name;
  std::vector<Sample> samples;
  Op op;
  Value value;
  Vjp vjp;
  std::vector<Domain> domains = {};  // of each input; none is the default for all
};

using Rows = std::vector<Row>;

/// All rows.
const Rows& rows();

// The rows of each header of ops.
Rows elementwise_rows();
Rows compare_rows();
Rows reduce_rows();
Rows shape_rows();
Rows arrange_rows();  // of shape.hpp too
Rows linalg_rows();
Rows nn_rows();
Rows layer_rows();
Rows attention_rows();

/// Random inputs for one sample of a row. They are float numbers, so that both types compute from
/// the same.
std::vector<plain::Array> inputs(const Row& row, const Sample& sample, std::uint64_t seed);

/// Arrays as tensors that lie dense.
template <class T>
xtape::Tensor<T> tensor(const plain::Array& x) {
  return xtape::Tensor<T>(x.shape, std::vector<T>(x.values.begin(), x.values.end()));
}
template <class T>
Tensors<T> tensors(const std::vector<plain::Array>& xs) {
  Tensors<T> result;
  for (const plain::Array& x : xs) result.push_back(tensor<T>(x));
  return result;
}

}  // namespace op_table
