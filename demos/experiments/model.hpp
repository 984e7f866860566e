// The model of the experiments: pre-norm blocks of attention, ordinary or differential, with a norm
// of each head's output or without, and of two matrices around a GELU.
//
//   x = embeddings + position;  x += attention(norm x);  x += down gelu(up norm x);  U norm x
//
// A differential head has two maps: with half as many heads, both kinds have the same projections.
// Source: Ye et al., Differential Transformer, section 2 (ICLR 2025)
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>
#include <xtape/xtape.hpp>

#include "tasks.hpp"

namespace experiment {

struct Design {
  bool differential, head_norm;
  std::int64_t maps, layers, width = 64;  // maps: as many as an ordinary layer has heads

  std::int64_t heads() const { return differential ? maps / 2 : maps; }
  /// The factor of the normed heads, in ordinary attention too: then the subtraction is all that
  /// differs.
  double head_scale(std::int64_t layer) const { return 1 - lambda_init(layer); }
  std::string name() const {
    return std::string(differential ? "differential" : "ordinary") +
           (head_norm ? " + head norm" : "");
  }
};

inline std::string in_layer(std::int64_t layer, const std::string& name) {
  return "layer" + std::to_string(layer) + "." + name;
}

inline Parameters<float> make_model(const Design& d, const Vocabulary& vocabulary,
                                    std::uint64_t seed) {
  Random random(seed);
  Parameters<float> model;
  const auto add = [&](const std::string& name, const Tensor<float>& value) {
    model.push_back({name, value});
  };
  const auto normal = [&](const std::string& name, const Shape& shape, double deviation) {
    add(name, random.normal<float>(shape, 0, deviation));
  };
  const std::int64_t c = d.width, features = c / d.maps;
  const auto matrix = [&](const std::string& name, std::int64_t to, std::int64_t from,
                          double scale = 1) {
    normal(name, {to, from}, scale / std::sqrt(static_cast<double>(from)));
  };
  const double into_stream = 1 / std::sqrt(2.0 * static_cast<double>(d.layers));

  normal("embedding", {vocabulary.symbols, c}, 0.5);
  normal("position", {vocabulary.length, c}, 0.02);
  for (std::int64_t layer = 1; layer <= d.layers; ++layer) {
    const auto in = [&](const std::string& name) { return in_layer(layer, name); };
    add(in("attention_norm"), Tensor<float>::ones({c}));
    for (const char* branch : {"1", "2"}) {
      if (branch[0] == '2' && !d.differential) break;
      matrix(in(std::string("q") + branch), d.heads() * features, c);
      matrix(in(std::string("k") + branch), d.heads() * features, c);
    }
    matrix(in("value"), c, c);
    matrix(in("output"), c, c, into_stream);
    if (d.differential)
      for (const char* name : {"lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"})
        normal(in(name), {features}, 0.1);
    if (d.head_norm) add(in("head_norm"), Tensor<float>::ones({c / d.heads()}));
    add(in("mlp_norm"), Tensor<float>::ones({c}));
    matrix(in("up"), 4 * c, c);
    matrix(in("down"), c, 4 * c, into_stream);
  }
  add("norm", Tensor<float>::ones({c}));
  normal("head", {vocabulary.symbols, c}, 0.02);
  return model;
}

inline Tensor<float> lambda_of(const Parameters<float>& model, std::int64_t layer) {
  const auto vector = [&](const char* name) { return at(model, in_layer(layer, name)); };
  return differential_lambda(vector("lambda_q1"), vector("lambda_k1"), vector("lambda_q2"),
                             vector("lambda_k2"), lambda_init(layer));
}

/// [B, T, C] -> [B, H, T, F], the named projection's heads.
inline Tensor<float> project(const Parameters<float>& model, const std::string& name,
                             const Tensor<float>& x, std::int64_t heads) {
  const Tensor<float> y = linear(x, at(model, name));
  return transpose(reshape(y, {y.dim(0), y.dim(1), heads, -1}), {0, 2, 1, 3});
}

/// [B, T, C] -> [B, T, C]
inline Tensor<float> attend(const Design& d, const Parameters<float>& model, std::int64_t layer,
                            const Tensor<float>& x) {
  const auto heads = [&](const char* name) {
    return project(model, in_layer(layer, name), x, d.heads());
  };
  Tensor<float> o = d.differential ? fused::differential_attention(
                                         heads("q1"), heads("k1"), heads("q2"), heads("k2"),
                                         heads("value"), lambda_of(model, layer))
                                   : fused::attention(heads("q1"), heads("k1"), heads("value"));
  if (d.head_norm) o = rms_norm(o, at(model, in_layer(layer, "head_norm"))) * d.head_scale(layer);
  return linear(reshape(transpose(o, {0, 2, 1, 3}), x.shape()),
                at(model, in_layer(layer, "output")));
}

/// What enters the first block: [B, T, C].
inline Tensor<float> embed(const Parameters<float>& model, const Batch& batch) {
  Tensor<float> x = at(model, "position") + batch.offset;
  for (const Index& symbols : batch.symbols) x = x + embedding(at(model, "embedding"), symbols);
  return x;
}

/// The logits of every answer that is asked for: [n, symbols].
inline Tensor<float> forward(const Design& d, const Parameters<float>& model, const Batch& batch) {
  Tensor<float> x = embed(model, batch);
  for (std::int64_t layer = 1; layer <= d.layers; ++layer) {
    const auto weight = [&](const char* name) { return at(model, in_layer(layer, name)); };
    x = x + attend(d, model, layer, rms_norm(x, weight("attention_norm")));
    const Tensor<float> hidden = gelu(linear(rms_norm(x, weight("mlp_norm")), weight("up")));
    x = x + linear(hidden, weight("down"));
  }
  const Tensor<float> rows = gather(reshape(x, {-1, d.width}), batch.asked);
  return linear(rms_norm(rows, at(model, "norm")), at(model, "head"));
}

/// The first layer's attention map of branch 1 or 2, a mean over heads: [B, T, T].
inline Tensor<float> first_map(const Design& d, const Parameters<float>& model, const Batch& batch,
                               const std::string& branch) {
  const Tensor<float> x = rms_norm(embed(model, batch), at(model, in_layer(1, "attention_norm")));
  const Tensor<float> q = project(model, in_layer(1, "q" + branch), x, d.heads());
  const Tensor<float> k = project(model, in_layer(1, "k" + branch), x, d.heads());
  const double scale = 1 / std::sqrt(static_cast<double>(q.dim(-1)));
  const std::int64_t length = x.dim(1);
  return mean(softmax(matmul(q, transpose(k)) * scale, causal_mask(length, length)), 1);
}

}  // namespace experiment
