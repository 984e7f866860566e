// What is measured: a line of JSON for each step in a file, and a progress bar or lines for people.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "../support/program.hpp"
#include "chart.hpp"

namespace tiny_lm {

inline double bits(double nats) { return nats / std::log(2.0); }

/// FOLDER/metrics.jsonl
class Metrics {
 public:
  /// Goes on after the lines of the steps up to `step`; those of later steps are left out, and so
  /// is one that was being written when its process died.
  Metrics(const std::filesystem::path& folder, std::int64_t step) : folder_(folder) {
    const auto path = folder / "metrics.jsonl";
    std::string text;
    if (std::filesystem::exists(path)) {
      std::istringstream lines(demo::read_file(path.string()));
      for (std::string line; std::getline(lines, line);) {
        const auto entry = nlohmann::json::parse(line, nullptr, false);
        if (!entry.is_object() || entry.value("step", step + 1) > step) break;
        remember(entry);
        text += line + "\n";
      }
    }
    demo::write_file(path, text);
    out_.open(path, std::ios::app);
  }

  void add(const nlohmann::json& entry) {
    remember(entry);
    out_ << entry.dump() << std::endl;
    if (!out_) throw demo::UserError("cannot write metrics.jsonl: " + demo::last_system_error());
  }

  /// Each point of the training curve is a mean over some steps.
  std::vector<Curve> curves() const {
    return {{"training", training_}, {"validation", validation_}};
  }

 private:
  void remember(const nlohmann::json& entry) {
    const double step = entry.value("step", 0.0);
    sum_ += entry.value("bits_per_byte", 0.0);
    if (++count_ == kMean) {
      training_.push_back({step - (kMean - 1) / 2.0, sum_ / kMean});
      sum_ = count_ = 0;
    }
    if (entry.contains("validation_bits_per_byte"))
      validation_.push_back({step, entry["validation_bits_per_byte"]});
  }

  static constexpr int kMean = 10;
  std::filesystem::path folder_;
  std::ofstream out_;
  std::vector<std::pair<double, double>> training_, validation_;
  double sum_ = 0;
  int count_ = 0;
};

/// Seconds on a clock that nobody sets.
inline double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/// `1h02m`, `3m07s`, `12s`
inline std::string in_words(double seconds) {
  const auto s = static_cast<long long>(seconds + 0.5);
  char text[40];
  if (s >= 3600)
    std::snprintf(text, sizeof text, "%lldh%02lldm", s / 3600, s / 60 % 60);
  else if (s >= 60)
    std::snprintf(text, sizeof text, "%lldm%02llds", s / 60, s % 60);
  else
    std::snprintf(text, sizeof text, "%llds", s);
  return text;
}

/// A bar, redrawn ten times a second; without a terminal a line at each evaluation.
class Progress {
 public:
  Progress(std::int64_t steps, bool terminal) : steps_(steps), terminal_(terminal) {}

  /// A step was done, in `seconds`. validation: NaN when it was not taken.
  void show(std::int64_t step, double loss, double validation, double tokens, double seconds) {
    loss_ += loss, tokens_ += tokens, seconds_ += seconds, ++count_;
    const bool evaluated = !std::isnan(validation);
    if (!evaluated && (!terminal_ || now() < drawn_ + 0.1)) return;
    drawn_ = now();
    const int filled = static_cast<int>(20 * step / steps_);
    if (terminal_)
      std::printf("\r\033[K[%.*s%*s] ", filled, "####################", 20 - filled, "");
    std::printf("step %5lld of %lld  loss %.4f  %.4f bits/byte", static_cast<long long>(step),
                static_cast<long long>(steps_), loss_ / count_, bits(loss_ / count_));
    if (evaluated) std::printf("  validation %.4f", validation);
    std::printf("  %.0f tokens/s  %s left%s", tokens_ / seconds_,
                in_words(seconds_ / count_ * static_cast<double>(steps_ - step)).c_str(),
                evaluated ? "\n" : "");
    std::fflush(stdout);
    if (evaluated) loss_ = tokens_ = seconds_ = count_ = 0;
  }

 private:
  std::int64_t steps_;
  bool terminal_;
  double drawn_ = 0;
  double loss_ = 0, tokens_ = 0, seconds_ = 0, count_ = 0;  // since the last evaluation
};

}  // namespace tiny_lm
