// The model, beside sections 2 and 3 of the paper.
#include "model.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

namespace tiny_lm {

using namespace xtape;

void check(const Config& c) {
  const auto require = [](bool good, const std::string& text) {
    if (!good) throw std::invalid_argument(text);
  };
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  for (std::int64_t size : {c.symbols, c.layers, c.heads, c.width, c.hidden, c.context})
    require(size > 0 && size <= 1 << 20, "a size of " + number(size) + ": 1 to 2^20 is required");
  require(c.width % (2 * c.heads) == 0,
          "width " + number(c.width) + " and " + number(c.heads) +
              " heads: the width must be a multiple of twice the heads");
  require(c.attention == Attention::ordinary || c.heads % 2 == 0,
          number(c.heads) + " heads: differential attention takes them in pairs");
}

std::vector<Blank> blanks(const Config& c) {
  const double into = 1 / std::sqrt(static_cast<double>(c.width));
  const double out = 1 / std::sqrt(2 * static_cast<double>(c.layers));  // of each of 2 L branches
  const std::int64_t d = c.width / c.heads;
  std::vector<Blank> list{{"embedding.weight", {c.symbols, c.width}, c.tied ? into : 0.5}};
  for (std::int64_t i = 0; i < c.layers; ++i) {
    const auto add = [&, layer = "layers." + std::to_string(i) + "."](const char* name, Shape shape,
                                                                      double deviation) {
      list.push_back({layer + name, std::move(shape), deviation});
    };
    add("attention_norm.weight", {c.width}, 0);
    for (const char* name : {"attention.q.weight", "attention.k.weight", "attention.v.weight"})
      add(name, {c.width, c.width}, into);
    const bool differential = c.attention == Attention::differential;
    if (differential)
      for (const char* name : {"attention.lambda_q1", "attention.lambda_k1", "attention.lambda_q2",
                               "attention.lambda_k2"})
        add(name, {d}, 0.1);
    if (c.head_norm) add("attention.head_norm.weight", {differential ? 2 * d : d}, 0);
    add("attention.output.weight", {c.width, c.width}, into * out);
    add("mlp_norm.weight", {c.width}, 0);
    add("mlp.gate.weight", {c.hidden, c.width}, into);
    add("mlp.up.weight", {c.hidden, c.width}, into);
    add("mlp.down.weight", {c.width, c.hidden}, into * out);
  }
  list.push_back({"norm.weight", {c.width}, 0});
  if (!c.tied) list.push_back({"head.weight", {c.symbols, c.width}, 0.02});
  return list;
}

template <class T>
Model<T> make_model(const Config& config, Random& random) {
  check(config);
  Model<T> model{config, {}, false};
  for (const Blank& blank : blanks(config))
    model.parameters.push_back(
        {blank.name, blank.deviation == 0 ? Tensor<T>::ones(blank.shape)
                                          : random.normal<T>(blank.shape, 0, blank.deviation)});
  return model;
}

template <class T>
Tensor<T> lambda(const Model<T>& model, std::int64_t layer) {
  const auto vector = [&](const char* name) -> In<T> {
    return at(model.parameters, "layers." + std::to_string(layer) + ".attention.lambda_" + name);
  };
  return differential_lambda(vector("q1"), vector("k1"), vector("q2"), vector("k2"),
                             lambda_init(layer + 1));
}

namespace {

/// [B, T, H F] -> [B, H, T, F], a view
template <class T>
Tensor<T> split_heads(In<T> x, std::int64_t heads) {
  return transpose(reshape(x, {x.dim(0), x.dim(1), heads, -1}), {0, 2, 1, 3});
}

/// The heads of the first maps, and those of the second. [B, H, T, F] -> two of [B, H / 2, T, F]
template <class T>
std::vector<Tensor<T>> pairs(In<T> x, Pairing pairing) {
  const std::int64_t half = x.dim(1) / 2;
  return pairing == Pairing::halves
             ? split(x, {half, half}, 1)
             : unstack(reshape(x, {x.dim(0), half, 2, x.dim(2), x.dim(3)}), 2);
}

/// Adds what follows to what the cache has. k, v: [B, H, T, F]
template <class T>
void remember(typename Cache<T>::Layer& cached, Tensor<T>& k, Tensor<T>& v) {
  if (cached.k.has_value()) {
    k = concatenate<T>({cached.k, k}, 2);
    v = concatenate<T>({cached.v, v}, 2);
  }
  cached = {k, v};
}

/// One layer of a model.
template <class T>
struct Layer {
  const Model<T>& model;
  std::int64_t index;

  In<T> weight(const char* name) const {
    return at(model.parameters, "layers." + std::to_string(index) + "." + name);
  }

  /// [B, H, T, D] -> [B, H, T, D], or [B, H / 2, T, 2D] of two maps
  Tensor<T> mix(In<T> q, In<T> k, In<T> v) const {
    const Config& c = model.config;
    if (c.attention == Attention::ordinary)
      return model.composition ? attention(q, k, v) : fused::attention(q, k, v);
    const auto q12 = pairs(q, c.pairing), k12 = pairs(k, c.pairing);
    // Adjacent heads of the values lie side by side already.
    const Tensor<T> value = c.pairing == Pairing::halves ? concatenate(pairs(v, c.pairing), -1) : v;
    const Tensor<T> coefficient = lambda(model, index);
    return model.composition
               ? differential_attention(q12[0], k12[0], q12[1], k12[1], value, coefficient)
               : fused::differential_attention(q12[0], k12[0], q12[1], k12[1], value, coefficient);
  }

  /// [B, T, C] -> [B, T, C]
  Tensor<T> attend(In<T> x, Cache<T>* cache) const {
    const Config& c = model.config;
    const bool differential = c.attention == Attention::differential;
    const std::int64_t start = cache ? cache->length : 0;
    const bool wide = differential && c.pairing == Pairing::adjacent;  // values of 2D
    const Tensor<T> q =
        rotary(split_heads(linear(x, weight("attention.q.weight")), c.heads), start);
    Tensor<T> k = rotary(split_heads(linear(x, weight("attention.k.weight")), c.heads), start);
    Tensor<T> v =
        split_heads(linear(x, weight("attention.v.weight")), wide ? c.heads / 2 : c.heads);
    if (cache) remember(cache->layers[static_cast<std::size_t>(index)], k, v);

    Tensor<T> y = transpose(mix(q, k, v), {0, 2, 1, 3});  // [B, T, H, D], or [B, T, H / 2, 2D]
    if (c.head_norm) {
      In<T> gain = weight("attention.head_norm.weight");
      y = rms_norm(y, differential ? gain * (1 - lambda_init(index + 1)) : gain);
    }
    return linear(reshape(y, x.shape()), weight("attention.output.weight"));
  }

  /// [B, T, C] -> [B, T, C]
  Tensor<T> feed(In<T> x) const {
    return linear(swiglu(linear(x, weight("mlp.gate.weight")), linear(x, weight("mlp.up.weight"))),
                  weight("mlp.down.weight"));
  }
};

}  // namespace

template <class T>
Tensor<T> forward(const Model<T>& model, const Index& ids, Cache<T>* cache) {
  const Config& c = model.config;
  const auto weight = [&](const char* name) -> In<T> { return at(model.parameters, name); };
  if (cache) cache->layers.resize(static_cast<std::size_t>(c.layers));
  Tensor<T> x = embedding(weight("embedding.weight"), ids);
  for (std::int64_t i = 0; i < c.layers; ++i) {
    const Layer<T> layer{model, i};
    x = x + layer.attend(rms_norm(x, layer.weight("attention_norm.weight")), cache);
    x = x + layer.feed(rms_norm(x, layer.weight("mlp_norm.weight")));
  }
  if (cache) cache->length += ids.dim(1);
  return linear(rms_norm(x, weight("norm.weight")),
                weight(c.tied ? "embedding.weight" : "head.weight"));
}

#define TINY_LM_INSTANTIATE(T)                              \
  template Model<T> make_model(const Config&, Random&);     \
  template Tensor<T> lambda(const Model<T>&, std::int64_t); \
  template Tensor<T> forward(const Model<T>&, const Index&, Cache<T>* cache);
TINY_LM_INSTANTIATE(float)
TINY_LM_INSTANTIATE(double)
#undef TINY_LM_INSTANTIATE

}  // namespace tiny_lm
