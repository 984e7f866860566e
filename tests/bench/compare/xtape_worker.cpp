// xtape's part in compare.sh: the public ops, as a program would call them.
#include <numeric>
#include <xtape/npy.hpp>
#include <xtape/xtape.hpp>
#if __has_include(<xtape/ops/fused.hpp>)
#include <xtape/ops/fused.hpp>
#define XTAPE_HAS_FUSED
#endif

#include "serve.hpp"

namespace {

using xtape::In;
using xtape::Shape;
using xtape::Tape;
using xtape::Tensor;

template <class T>
Tensor<T> input(std::uint32_t stream, const Shape& shape) {
  std::vector<T> values(static_cast<std::size_t>(xtape::Tensor<T>::zeros(shape).size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>(input_value(stream, static_cast<std::uint32_t>(i)));
  return {shape, values};
}

/// f(inputs), or that and its gradients for the cotangent `seed`.
template <class T, class F>
Case make_case(bool gradient, const std::vector<Tensor<T>>& inputs, const Tensor<T>& seed, F f) {
  const auto results = [=]() -> std::vector<Tensor<T>> {
    if (!gradient) return {f(inputs)};
    Tape<T> tape;
    const auto variables = tape.variable(inputs);
    const Tensor<T> y = f(variables);
    auto all = std::move(tape).vjp(y, seed, variables);
    all.insert(all.begin(), y);
    return all;
  };
  return {[=] { results(); },
          [=](const std::string& folder) {
            const auto all = results();
            for (std::size_t i = 0; i < all.size(); ++i)
              xtape::save_npy(folder + "/" + std::to_string(i) + ".npy", all[i]);
          }};
}

template <class T>
Case make_attention(const Request& r) {
  const auto b = r.shape.at(0), h = r.shape.at(1), t = r.shape.at(2), d = r.shape.at(3);
  const bool causal = r.causal, differential = r.op == "differential_attention";
  const Shape narrow{b, h, t, d}, wide{b, h, t, differential ? 2 * d : d};
  std::vector<Tensor<T>> inputs;
  for (std::uint32_t i = 0; i < (differential ? 4u : 2u); ++i)
    inputs.push_back(input<T>(i, narrow));
  inputs.push_back(input<T>(4, wide));
  if (differential) inputs.push_back(Tensor<T>(0.5));
  const auto seed = input<T>(5, wide);
  const auto with = [&](auto f) { return make_case<T>(r.pass == "fg", inputs, seed, f); };
  using List = const std::vector<Tensor<T>>&;
  if (r.way == "composition" && differential)
    return with([=](List x) {
      return xtape::differential_attention(x[0], x[1], x[2], x[3], x[4], x[5], causal);
    });
  if (r.way == "composition")
    return with([=](List x) { return xtape::attention(x[0], x[1], x[2], causal); });
#ifdef XTAPE_HAS_FUSED
  if (r.way == "fused" && differential)
    return with([=](List x) {
      return xtape::fused::differential_attention(x[0], x[1], x[2], x[3], x[4], x[5], causal);
    });
  if (r.way == "fused")
    return with([=](List x) { return xtape::fused::attention(x[0], x[1], x[2], causal); });
#endif
  throw std::invalid_argument("this xtape has no " + r.way + " " + r.op);
}

/// SHAPE: batches, then M, K and N.
template <class T>
Case make_matmul(const Request& r) {
  if (r.shape.size() < 3) throw std::invalid_argument("matmul's shape is [batches...,] M, K, N");
  Shape a(r.shape.begin(), r.shape.end() - 3), b = a, y = a;
  const auto axis = r.shape.end() - 3;
  a.insert(a.end(), {axis[0], axis[1]});
  b.insert(b.end(), {axis[1], axis[2]});
  y.insert(y.end(), {axis[0], axis[2]});
  return make_case<T>(r.pass == "fg", {input<T>(0, a), input<T>(1, b)}, input<T>(2, y),
                      [](const auto& x) { return matmul(x[0], x[1]); });
}

/// 1000 recorded ops, the gradient, and freeing.
template <class T>
Case make_chain(const Request& r) {
  const Shape shape(r.shape.begin(), r.shape.end());
  const auto c = Tensor<T>::full(shape, 1.0001);
  const auto chain = [&](auto step) {
    return make_case<T>(true, {Tensor<T>::ones(shape)}, Tensor<T>::ones(shape),
                        [=](const std::vector<Tensor<T>>& x) {
                          Tensor<T> y = x[0];
                          for (int i = 0; i < 1000; ++i) y = step(y, x[0]);
                          return y;
                        });
  };
  if (r.op == "chain_mul_constant") return chain([=](In<T> y, In<T>) { return y * c; });
  if (r.op == "chain_add_constant") return chain([=](In<T> y, In<T>) { return y + c; });
  if (r.op == "chain_mul_variable") return chain([](In<T> y, In<T> x) { return y * x; });
  if (r.op == "chain_add_variable") return chain([](In<T> y, In<T> x) { return y + x; });
  throw std::invalid_argument("there is no op " + r.op);
}

template <class T>
Case make(const Request& r) {
  if (r.op == "attention" || r.op == "differential_attention") return make_attention<T>(r);
  return r.op == "matmul" ? make_matmul<T>(r) : make_chain<T>(r);
}

}  // namespace

int main() {
  return serve("xtape", [](const Request& r) {
    return r.dtype == "f32" ? make<float>(r) : make<double>(r);
  });
}
