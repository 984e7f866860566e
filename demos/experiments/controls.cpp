// What the subtraction does not do: two tasks without a shared disturbance, by attention ordinary
// and differential, each with a norm of the heads and without.
//
// pairs: the task of common_mode, with more to choose from.  induction: pairs that occur again
// among noise.  A run ends when it has learned its task; the number of its steps is the figure.
#include <algorithm>
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
  std::vector<std::uint64_t> seeds{1, 2, 3};
  std::int64_t steps = 800;
  std::string folder = "out";
};

/// The runs of one model on one task, a seed each.
struct Group {
  std::vector<Run> runs;

  const Run& first() const { return runs.front(); }
  std::size_t learned() const {
    return static_cast<std::size_t>(std::count_if(runs.begin(), runs.end(), [](const Run& run) {
      return run.last().accuracy >= run.recipe.enough;
    }));
  }
  /// The mean number of steps; of a run that did not learn, all that it had.
  double steps() const {
    double sum = 0;
    for (const Run& run : runs) sum += static_cast<double>(run.last().step);
    return sum / static_cast<double>(runs.size());
  }
};

void report(const Run& run) {
  std::printf("%-9s  %-24s seed %llu: accuracy %.3f at step %lld", run.recipe.task.c_str(),
              run.design.name().c_str(), static_cast<unsigned long long>(run.seed),
              run.last().accuracy, static_cast<long long>(run.last().step));
  for (double lambda : run.last().lambdas) std::printf(", lambda %.3f", lambda);
  std::printf("\n");
}

void print(const Group& group) {
  std::printf("%-9s  %-24s  %zu of %zu learned, %3.0f steps a run",
              group.first().recipe.task.c_str(), group.first().design.name().c_str(),
              group.learned(), group.runs.size(), group.steps());
  if (group.first().design.differential) std::printf("; the first layer's lambda");
  for (const Run& run : group.runs)
    if (run.design.differential) std::printf(" %.2f", run.last().lambdas[0]);
  std::printf("\n");
}

/// Says what the runs show; returns the exit code. The groups of each task: ordinary, ordinary with
/// head norm, differential, differential with head norm.
int read(const std::vector<Group>& pairs, const std::vector<Group>& induction) {
  demo::Claims claims;
  double least = 1e9, most = 0;
  bool all_learned = true;
  for (const Group& group : pairs) {
    least = std::min(least, group.steps());
    most = std::max(most, group.steps());
    all_learned = all_learned && group.learned() == group.runs.size();
  }
  std::printf(
      "pairs: all models learn it in all runs, in %.0f to %.0f steps, at most 50 "
      "apart",
      least, most);
  claims.hold_if(all_learned && most - least <= 50);

  std::size_t learned = 0, added = 0, runs = 0;
  for (const Group& group : {induction[2], induction[3]}) {
    learned += group.learned();
    runs += group.runs.size();
    for (const Run& run : group.runs) added += run.last().lambdas[0] < 0;
  }
  std::printf("induction: differential attention learns it in %zu of %zu runs: all are claimed",
              learned, runs);
  claims.hold_if(learned == runs);
  std::printf("and in fewer steps, %.0f and %.0f with head norm, against %.0f and %.0f",
              induction[2].steps(), induction[3].steps(), induction[0].steps(),
              induction[1].steps());
  claims.hold_if(std::max(induction[2].steps(), induction[3].steps()) <
                 std::min(induction[0].steps(), induction[1].steps()));
  std::printf(
      "but not by subtraction: the first layer's lambda is negative in %zu of %zu "
      "runs,\nand the maps are added: more than half are claimed",
      added, runs);
  claims.hold_if(2 * added > runs);
  return claims.exit_code();
}

const char* const plot = R"gnuplot(
set encoding utf8
set terminal svg size 1000,480 font "Helvetica,14" background "white"
set datafile separator ","
set multiplot layout 1,2
set grid ytics back linecolor "#e0e0e0"
set border 3
set tics nomirror
set key below left reverse Left maxcols 1 samplen 2 spacing 1.1
models = "'ordinary' 'ordinary + head norm' 'differential' 'differential + head norm'"
colours = "#d55e00 #e69f00 #56b4e9 #0072b2"
of(task, model, seed) = strcol(1) eq task && strcol(2) eq model && strcol(3) eq seed
set xlabel "training step"
set xrange [0:]
set ylabel "accuracy (dimensionless)"
set yrange [0:1.02]
do for [task in "pairs induction"] {
  set title task . ", no shared disturbance"
  plot for [i=1:4] for [s in seeds] "controls.csv" skip 1 \
    using 4:(of(task, word(models, i), s) ? $5 : NaN) with lines linewidth 2 \
    linecolor rgb word(colours, i) title (s eq word(seeds, 1) ? word(models, i) : "")
}
)gnuplot";

int compare(const Options& o) {
  const Pairs pairs{112, 16, 128, 32};
  const Induction induction;
  const Recipe recipes[] = {
      {"pairs", pairs, pairs.vocabulary(), o.steps, 32, 25, 3e-3, 0.99},
      {"induction", induction, induction.vocabulary(), o.steps, 64, 25, 2e-3, 0.9}};
  std::vector<Job> jobs;
  for (const Recipe& recipe : recipes)
    for (bool differential : {false, true})
      for (bool head_norm : {false, true})
        for (std::uint64_t seed : o.seeds) {
          const bool one_layer = recipe.task == "pairs";
          const Design design{differential, head_norm, one_layer ? 4 : 2, one_layer ? 1 : 2};
          jobs.push_back({design, recipe, seed});
        }
  const std::vector<Run> runs = train_all(jobs, report);

  std::printf("\nA run ends at an accuracy of 0.99 in pairs and of 0.9 in induction.\n");
  std::vector<Group> groups;
  const auto count = static_cast<std::ptrdiff_t>(o.seeds.size());
  for (auto run = runs.begin(); run != runs.end(); run += count) {
    groups.push_back({{run, run + count}});
    print(groups.back());
  }
  std::printf("\n");
  const int code = read({groups.begin(), groups.begin() + 4}, {groups.begin() + 4, groups.end()});
  std::printf("\n");
  demo::write_table(o.folder, "controls.csv", csv(runs));
  demo::write_chart(o.folder, "controls",
                    "# gnuplot controls.gp > controls.svg\nseeds = '" + join(o.seeds) + "'" + plot);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Trains attention on tasks where there is nothing to subtract.", "controls");
  app.option_defaults()->always_capture_default();
  app.add_option("--steps", o.steps, "Training steps, for those that do not learn before")
      ->check(CLI::Range(25, 1 << 20));
  app.add_option("--seeds", o.seeds, "Each model is trained for each")->delimiter(',');
  app.add_option("--out", o.folder, "Folder for the table and the chart");
  return demo::run(app, argc, argv, [&] { return compare(o); });
}
