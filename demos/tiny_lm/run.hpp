// A run of training: all that its next step depends on, as one file of weights, so that a run that
// is stopped, however, goes on with the same bits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <xtape/xtape.hpp>

#include "model.hpp"
#include "text.hpp"

namespace tiny_lm {

struct Training {
  std::int64_t steps = 1500, batch = 16, warmup = 100;
  std::int64_t eval_every = 100, save_every = 100;
  std::int64_t seed = 1;
  double rate = 4e-3, decay = 0.1, clip = 1;
  bool composition = false;
};

/// Throws: demo::UserError.
void check(const Training& training);

template <class T>
struct Run {
  Training training;
  Vocabulary vocabulary;
  std::string text_id;  // tells whether a text is the one that is trained on
  Model<T> model;
  xtape::AdamW<T> adamw;
  xtape::Random random{0};  // of the windows to come
  std::int64_t step = 0;    // the number of steps done
};

/// A name for a text's bytes: their number, and a hash.
std::string identify(const std::string& text);

/// A run before its first step; config.symbols is taken from the text.
template <class T>
Run<T> begin(Config config, const Training& training, const std::string& text);

/// The file of a run in its folder.
std::string file_of(const std::filesystem::path& folder);

template <class T>
void save(const Run<T>& run, const std::filesystem::path& folder);

/// Throws: demo::UserError that names the file when it is none of a run.
template <class T>
Run<T> load(const std::filesystem::path& folder);

/// True for a run of double, false for one of float and for what is none.
bool holds_double(const std::filesystem::path& folder);

}  // namespace tiny_lm
