// Training, and what it is judged by.
#pragma once

#include <filesystem>
#include <string>

#include "ranks.hpp"
#include "run.hpp"

namespace tiny_lm {

/// Bits a byte on at most 256 windows of a text, spread evenly, without overlap.
template <class T>
double evaluate(const Model<T>& model, const Ids& text);

/// A page that steps through the tape of a run's next step. Throws: as xtape::trace.
template <class T>
std::string trace_next_step(Run<T> run, const Split& text);

/// What a training came to.
struct Outcome {
  bool finished = false;  // else it was interrupted, and can go on
  double validation = 0;  // bits a byte, at the last evaluation
  double tokens_per_second = 0;
};

/// Goes on with a run to its last step, or until the user interrupts it. Writes into the folder
/// model.safetensors, metrics.jsonl, loss.gp and loss.svg, and talks to standard output.
/// Throws: std::runtime_error when the loss or the gradient is not finite, with the step and the
/// first op that made it so.
template <class T>
Outcome train(Run<T>& run, const Split& text, const std::filesystem::path& folder,
              const Ranks& ranks);

}  // namespace tiny_lm
