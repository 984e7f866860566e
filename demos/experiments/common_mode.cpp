// A disturbance that all keys and values share, and attention that learns to subtract it.
//
// Sequences hold pairs of a key and a value, and ask for values by their keys. One random vector,
// drawn for each sequence, is added to every pair. The rows of each attention map sum to 1, so what
// all values share passes ordinary attention as it is; differential attention passes 1 - lambda of
// it. The task is made for that: what is to be seen is whether gradient descent finds lambda = 1.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "model.hpp"
#include "support/chart.hpp"
#include "support/claims.hpp"
#include "support/program.hpp"
#include "tasks.hpp"
#include "training.hpp"

namespace {

using namespace experiment;

struct Options {
  double sigma = 2;
  std::int64_t steps = 600;
  std::vector<std::uint64_t> seeds{1, 2, 3};
  bool swap_head_norm = false;
  std::string folder = "out";

  Design ordinary() const { return {false, swap_head_norm, 2, 1}; }
  Design differential() const { return {true, !swap_head_norm, 2, 1}; }
};

/// Where the queries of a map look: what its weights on the right place, on the context's other
/// places and on the queries themselves sum to.
struct Attention {
  std::string model;
  std::uint64_t seed;
  const char* map;
  double right, others, queries;
};

std::vector<Attention> attention_of(const std::vector<Run>& runs, const Pairs& pairs) {
  const Batch batch = evaluation_set(pairs).front();
  std::vector<Attention> looks;
  for (const Run& run : runs) {
    const auto look = [&](const char* name, const Tensor<float>& map) {
      const auto rows = slice(map, 1, pairs.context, map.dim(1));  // those of queries
      const auto average = [](const Tensor<float>& x) {
        return static_cast<double>(mean(sum(x, -1)).item());
      };
      const double right = average(take_along_axis(rows, batch.sources, -1));
      const double context = average(slice(rows, -1, 0, pairs.context));
      looks.push_back(
          {run.design.name(), run.seed, name, right, context - right, average(rows) - context});
    };
    const auto first = first_map(run.design, run.model, batch, "1");
    if (!run.design.differential) {
      look("A", first);
      continue;
    }
    const auto second = first_map(run.design, run.model, batch, "2");
    look("A1", first);
    look("A2", second);
    look("A1 - lambda A2", first - lambda_of(run.model, 1) * second);
  }
  return looks;
}

std::string attention_csv(const std::vector<Attention>& looks) {
  std::string text = "model,seed,map,right_place,other_places,queries\n";
  for (const Attention& a : looks) {
    char row[160];
    std::snprintf(row, sizeof row, "%s,%llu,%s,%.4f,%.4f,%.4f\n", a.model.c_str(),
                  static_cast<unsigned long long>(a.seed), a.map, a.right, a.others, a.queries);
    text += row;
  }
  return text;
}

void report(const Run& run) {
  std::printf("%-24s seed %llu: accuracy %.3f", run.design.name().c_str(),
              static_cast<unsigned long long>(run.seed), run.last().accuracy);
  if (run.design.differential) std::printf(", lambda %.3f", run.last().lambdas[0]);
  const std::int64_t steps = run.steps_to(0.9);
  if (steps > 0) std::printf(", 0.9 reached at step %lld", static_cast<long long>(steps));
  std::printf("\n");
}

const char* const plot = R"gnuplot(
set encoding utf8
set terminal svg size 1200,440 font "Helvetica,14" background "white"
set datafile separator ","
set multiplot layout 1,3
set grid ytics back linecolor "#e0e0e0"
set border 3
set tics nomirror
set key below left reverse Left samplen 2 spacing 1.1
of(model, seed) = strcol(2) eq model && strcol(3) eq seed
title_of(name, seed) = seed eq word(seeds, 1) ? name : ""
set xlabel "training step"
set xrange [0:]
set title "Right answers"
set ylabel "accuracy (dimensionless)"
set yrange [0:1.02]
plot for [s in seeds] "common_mode.csv" skip 1 using 4:(of(ordinary, s) ? $5 : NaN) \
       with lines linewidth 2 linecolor "#d55e00" title title_of(ordinary, s), \
     for [s in seeds] "" skip 1 using 4:(of(differential, s) ? $5 : NaN) \
       with lines linewidth 2 linecolor "#0072b2" title title_of(differential, s), \
     chance with lines dashtype 2 linecolor "#999999" title "chance"
set title "The weight of the second map"
set ylabel "λ (dimensionless)"
set yrange [0:2]
set ytics 0.5
plot for [s in seeds] "common_mode.csv" skip 1 using 4:(of(differential, s) ? $6 : NaN) \
       with lines linewidth 2 linecolor "#0072b2" title title_of(differential, s), \
     1 with lines dashtype 2 linecolor "#999999" title "1: nothing shared passes"
set title "Where queries look, by seed"
set ylabel "attention weight (dimensionless)"
set yrange [*:*]
set xzeroaxis
set xlabel "\n "
set xrange [*:*]
set style data histograms
set style fill solid
set boxwidth 0.9
plot newhistogram "ordinary: A" offset 0,-0.3, for [i=4:6] "common_mode_attention.csv" skip 1 \
       every ::0::count-1 using i:xticlabels(2) linecolor rgb word(colours, i - 3) \
       title word(places, i - 3), \
     newhistogram "differential: A_1 - λ A_2" offset 0,-0.3, for [i=4:6] "" skip 1 \
       every 3::count+2 using i:xticlabels(2) linecolor rgb word(colours, i - 3) notitle
)gnuplot";

/// What is above the plot: the names and numbers that it takes from this run.
std::string plot_settings(const Options& o, const Pairs& pairs) {
  return "# gnuplot common_mode.gp > common_mode.svg\nordinary = '" + o.ordinary().name() +
         "'\ndifferential = '" + o.differential().name() + "'\nseeds = '" + join(o.seeds) +
         "'\ncount = " + std::to_string(o.seeds.size()) + "\nchance = 1.0 / " +
         std::to_string(pairs.values) +
         "\nplaces = '\"the right place\" \"other places\" \"queries\"'\n"
         "colours = '#009e73 #cc79a7 #999999'";
}

/// Says what the runs show; returns the exit code. The runs: ordinary ones, then differential ones.
int read(const std::vector<Run>& runs, const Options& o) {
  std::size_t quick = 0, near_one = 0, low = 0;
  double least = 1e9, most = -1e9;
  for (const Run& run : runs) {
    if (!run.design.differential) {
      low += run.last().accuracy < 0.5;
      continue;
    }
    const std::int64_t steps = run.steps_to(0.9);
    quick += steps > 0 && steps <= 400;
    const double lambda = run.last().lambdas[0];
    near_one += std::abs(lambda - 1) <= 0.15;
    least = std::min(least, lambda);
    most = std::max(most, lambda);
  }
  const std::size_t all = o.seeds.size();
  demo::Claims claims;
  std::printf(
      "Differential attention reaches an accuracy of 0.9 by step 400 with %zu of %zu seeds: "
      "all are claimed",
      quick, all);
  claims.hold_if(quick == all);
  std::printf(
      "Its lambda comes to 1 within 0.15 with %zu of %zu seeds, %.3f to %.3f: all are claimed",
      near_one, all, least, most);
  claims.hold_if(near_one == all);
  std::printf(
      "Ordinary attention stays below 0.5 for %lld steps with %zu of %zu seeds: more than half "
      "are claimed",
      static_cast<long long>(o.steps), low, all);
  claims.hold_if(2 * low > all);
  return claims.exit_code();
}

int compare(const Options& o) {
  const Pairs pairs{24, 8, 32, 16, o.sigma};
  const Recipe recipe{"pairs", pairs, pairs.vocabulary(), o.steps};
  std::vector<Job> jobs;
  for (const Design& design : {o.ordinary(), o.differential()})
    for (std::uint64_t seed : o.seeds) jobs.push_back({design, recipe, seed});
  const std::vector<Run> runs = train_all(jobs, report);

  const std::vector<Attention> looks = attention_of(runs, pairs);
  std::printf(
      "\nWhere queries look: the weights of a map, summed\n"
      "%-24s seed  map              the right place  other places  queries  context\n",
      "model");
  for (const Attention& a : looks)
    std::printf("%-24s %4llu  %-15s  %15.3f  %12.3f  %7.3f  %7.3f\n", a.model.c_str(),
                static_cast<unsigned long long>(a.seed), a.map, a.right, a.others, a.queries,
                a.right + a.others);
  std::printf("The disturbance is on the context alone: its column is what passes of it.\n\n");
  const int code = read(runs, o);
  std::printf("\n");
  demo::write_table(o.folder, "common_mode.csv", csv(runs));
  demo::write_table(o.folder, "common_mode_attention.csv", attention_csv(looks));
  demo::write_chart(o.folder, "common_mode", plot_settings(o, pairs) + plot);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Trains attention to see through a disturbance that all keys and values share.",
               "common_mode");
  app.option_defaults()->always_capture_default();
  app.add_option("--sigma", o.sigma, "The disturbance's standard deviation")
      ->check(CLI::Range(0.0, 1e3));
  app.add_option("--steps", o.steps, "Training steps: a multiple of 25, the steps between figures")
      ->check(CLI::Range(25, 1 << 20));
  app.add_option("--seeds", o.seeds, "A model of each kind is trained for each")->delimiter(',');
  app.add_flag("--swap-head-norm", o.swap_head_norm,
               "Norm the heads of ordinary attention, not those of differential attention");
  app.add_option("--out", o.folder, "Folder for the tables and the chart");
  return demo::run(app, argc, argv, [&] { return compare(o); });
}
