// A tiny language model: blocks of attention and a gated unit, as in LLaMA, where attention is
// ordinary or that of the Differential Transformer.
//
//   x = embedding;  for each layer: x += attention(norm(x)), x += mlp(norm(x));  logits = norm(x)
//   U^T
//
// Letters: B sequences, T symbols of each, C features (the width), H heads of D = C / H features.
// Differential attention takes the H heads in pairs, so it has H / 2 heads of two maps.
// Source: Ye et al., Differential Transformer, sections 2 and 3 (ICLR 2025)
#pragma once

#include <cstdint>
#include <string>
#include <vector>
#include <xtape/xtape.hpp>

namespace tiny_lm {

enum class Attention { differential, ordinary };

/// Which two of the projections' H heads are the two maps of a head: 2i and 2i + 1, as in the
/// paper's own code, or i and i + H / 2, as in Hugging Face's DiffLlama.
enum class Pairing { adjacent, halves };

/// What the shapes of a model's parameters follow from.
struct Config {
  Attention attention = Attention::differential;
  Pairing pairing = Pairing::adjacent;
  bool head_norm = true;  // of each head's result, before the output projection
  bool tied = false;      // the embedding is also the last projection
  std::int64_t symbols = 0, layers = 2, heads = 8, width = 128;
  std::int64_t hidden = 344;   // features of the gated unit
  std::int64_t context = 128;  // symbols that the model is trained to look at
};

/// Throws: std::invalid_argument for sizes that make no model.
void check(const Config& config);

/// A parameter before it has values.
struct Blank {
  std::string name;  // as PyTorch's modules would have it: `layers.0.attention.q.weight`
  xtape::Shape shape;
  double deviation;  // of its first values, which are normal; 0: they are ones
};

/// All parameters of a model, in their order.
std::vector<Blank> blanks(const Config& config);

template <class T>
struct Model {
  Config config;
  xtape::Parameters<T> parameters;
  bool composition = false;  // attention from primitive ops, not the fused op
};

template <class T>
Model<T> make_model(const Config& config, xtape::Random& random);

/// What later symbols need to know of the earlier ones: keys and values by layer.
template <class T>
struct Cache {
  struct Layer {
    xtape::Tensor<T> k, v;  // [B, heads, length, features]
  };
  std::int64_t length = 0;
  std::vector<Layer> layers;
};

/// The logits of the symbol after each. ids: [B, T] -> [B, T, symbols]
/// With a cache the ids follow those that it has seen, and are added to it.
template <class T>
xtape::Tensor<T> forward(const Model<T>& model, const xtape::Index& ids, Cache<T>* cache = nullptr);

/// The weight of the second map in a layer, counted from 0. -> []
template <class T>
xtape::Tensor<T> lambda(const Model<T>& model, std::int64_t layer);

}  // namespace tiny_lm
