// The comparison: runs, a table, a chart, and a reading made from the numbers.
#include "compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "metrics.hpp"
#include "train.hpp"

namespace tiny_lm {

namespace {

/// What the runs of one attention came to.
struct Side {
  const char* name;
  Attention attention;
  std::int64_t parameters = 0;
  std::vector<double> found{}, speeds{};  // bits a byte, and tokens a second
  Curve curve{};                          // the mean of the validations

  double mean() const {
    double sum = 0;
    for (double x : found) sum += x;
    return sum / static_cast<double>(found.size());
  }
  /// The standard deviation over seeds; 0 for one.
  double spread() const {
    double sum = 0;
    for (double x : found) sum += (x - mean()) * (x - mean());
    return found.size() < 2 ? 0 : std::sqrt(sum / static_cast<double>(found.size() - 1));
  }
  double best_speed() const { return *std::max_element(speeds.begin(), speeds.end()); }

  void add(const std::vector<std::pair<double, double>>& points, double seeds) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (i == curve.points.size()) curve.points.push_back({points[i].first, 0});
      curve.points[i].second += points[i].second / seeds;
    }
  }
};

void print(const Side& ordinary, const Side& differential, double entropy) {
  std::printf("\nattention      parameters  validation bits/byte  spread over seeds  tokens/s\n");
  for (const Side* s : {&ordinary, &differential})
    std::printf("%-12s %12lld %21.4f %18.4f %9.0f\n", s->name,
                static_cast<long long>(s->parameters), s->mean(), s->spread(), s->best_speed());
  const double gap = ordinary.mean() - differential.mean();
  const double spread = std::hypot(ordinary.spread(), differential.spread());
  std::printf("\nThe symbols alone would take %.4f bits/byte. ", entropy);
  if (ordinary.found.size() < 2)
    std::printf("The attentions differ by %.4f; one seed says nothing of chance.\n", std::abs(gap));
  else if (std::abs(gap) <= 2 * spread)
    std::printf(
        "The means differ by %.4f, within twice the spread of a difference (%.4f): a tie.\n",
        std::abs(gap), spread);
  else
    std::printf(
        "%s attention is better by %.4f, more than twice the spread of a difference "
        "(%.4f).\n",
        gap > 0 ? "Differential" : "Ordinary", std::abs(gap), spread);
}

}  // namespace

template <class T>
bool compare(const Config& config, const Training& training, const std::string& text,
             const std::string& name, std::int64_t seeds, const std::filesystem::path& folder,
             const Ranks& ranks) {
  Side ordinary{"ordinary", Attention::ordinary},
      differential{"differential", Attention::differential};
  double bits_alone = 0;
  for (std::int64_t i = 0; i < seeds; ++i)
    for (Side* side : {&ordinary, &differential}) {
      Config c = config;
      c.attention = side->attention;
      c.head_norm = config.head_norm && side->attention == Attention::differential;
      Training o = training;
      o.seed += i;
      Run<T> run = begin<T>(c, o, text);
      const Ids ids = run.vocabulary.encode(text, name);
      const Split split(ids, c.context, name);
      bits_alone = entropy(split.validation);
      side->parameters = xtape::count(run.model.parameters);
      const std::string label = std::string(side->name) + "-" + std::to_string(o.seed);
      if (ranks.first()) {
        std::printf("== %s\n", label.c_str());
        std::filesystem::create_directories(folder / label);
        std::filesystem::remove(folder / label / "metrics.jsonl");
      }
      const Outcome outcome = train(run, split, folder / label, ranks);
      if (!outcome.finished) return false;
      side->found.push_back(outcome.validation);
      side->speeds.push_back(outcome.tokens_per_second);
      if (ranks.first())
        side->add(Metrics(folder / label, run.step).curves()[1].points, static_cast<double>(seeds));
    }
  if (!ranks.first()) return true;
  print(ordinary, differential, bits_alone);
  for (Side* side : {&ordinary, &differential}) side->curve.title = side->name;
  draw_chart(folder, "Validation loss of both attentions, mean over seeds",
             {ordinary.curve, differential.curve});
  return true;
}

template bool compare<float>(const Config&, const Training&, const std::string&, const std::string&,
                             std::int64_t, const std::filesystem::path&, const Ranks&);
template bool compare<double>(const Config&, const Training&, const std::string&,
                              const std::string&, std::int64_t, const std::filesystem::path&,
                              const Ranks&);

}  // namespace tiny_lm
