// Both attentions at equal sizes, steps and seeds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "ranks.hpp"
#include "run.hpp"

namespace tiny_lm {

/// Trains a model of each attention with each of `seeds` seeds from training.seed on, in a folder
/// of its own, and prints a table and what it says. Draws the mean curves as FOLDER/loss.svg.
/// Returns false when it was interrupted.
template <class T>
bool compare(const Config& config, const Training& training, const std::string& text,
             const std::string& name, std::int64_t seeds, const std::filesystem::path& folder,
             const Ranks& ranks);

}  // namespace tiny_lm
