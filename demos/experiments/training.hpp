// Trains models on tasks, several at a time: each run has one thread, its own seed and its own
// tapes, so its numbers are the same however many go on beside it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <xtape/xtape.hpp>

#include "model.hpp"
#include "tasks.hpp"

namespace experiment {

struct Recipe {
  std::string task;  // its name, in tables
  Task draw;
  Vocabulary vocabulary;
  std::int64_t steps, batch = 32, every = 25;  // every: steps between evaluations
  double rate = 3e-3;
  double enough = 2;  // the accuracy where a run ends: at 2 none does
};

/// One evaluation.
struct Point {
  std::int64_t step;
  double accuracy;
  std::vector<double> lambdas;  // by layer; of ordinary attention none
};

struct Run {
  Design design;
  std::uint64_t seed;
  Recipe recipe;
  Parameters<float> model;
  std::vector<Point> points;

  const Point& last() const { return points.back(); }
  /// The first evaluation with an accuracy, -1 without.
  std::int64_t steps_to(double accuracy) const {
    for (const Point& p : points)
      if (p.accuracy >= accuracy) return p.step;
    return -1;
  }
};

/// 256 sequences, the same for every run, in batches that the caches hold.
inline std::vector<Batch> evaluation_set(const Task& draw) {
  Random random(0);  // no run's seed
  std::vector<Batch> batches;
  for (int i = 0; i < 8; ++i) batches.push_back(draw(random, 32));
  return batches;
}

inline double accuracy(const Design& design, const Parameters<float>& model,
                       const std::vector<Batch>& batches) {
  std::size_t right = 0, all = 0;
  for (const Batch& batch : batches) {
    const auto guesses = argmax(forward(design, model, batch), -1).values();
    const auto answers = batch.answers.values();
    for (std::size_t i = 0; i < answers.size(); ++i) right += guesses[i] == answers[i];
    all += answers.size();
  }
  return static_cast<double>(right) / static_cast<double>(all);
}

/// Throws: std::runtime_error when the loss is no longer finite.
inline Run train(const Design& design, const Recipe& recipe, std::uint64_t seed) {
  Run run{design, seed, recipe, make_model(design, recipe.vocabulary, seed), {}};
  const std::vector<Batch> evaluation = evaluation_set(recipe.draw);
  Random random(seed + 1000);
  AdamW<float> adamw({recipe.rate, 0.9, 0.95, 1e-8, 0.01});
  for (std::int64_t step = 1; step <= recipe.steps; ++step) {
    const Batch batch = recipe.draw(random, recipe.batch);
    Tape<float> tape;
    const auto on_tape = tape.variable(run.model);
    const auto loss = cross_entropy(forward(design, on_tape, batch), batch.answers);
    if (!std::isfinite(loss.item()))
      throw std::runtime_error(design.name() + ", seed " + std::to_string(seed) +
                               ": the loss is not finite in step " + std::to_string(step));
    auto gradients = std::move(tape).gradient(loss, on_tape);
    clip_by_global_norm(gradients, 1);
    const double warmth = std::min(1.0, static_cast<double>(step) / 100);
    adamw.step(run.model, gradients, recipe.rate * warmth);
    if (step % recipe.every != 0) continue;
    Point point{step, accuracy(design, run.model, evaluation), {}};
    for (std::int64_t layer = 1; design.differential && layer <= design.layers; ++layer)
      point.lambdas.push_back(static_cast<double>(lambda_of(run.model, layer).item()));
    run.points.push_back(point);
    if (point.accuracy >= recipe.enough) break;
  }
  return run;
}

struct Job {
  Design design;
  Recipe recipe;
  std::uint64_t seed;
};

/// Does all jobs, and reports each in their order as soon as it and those before are done.
template <class Report>
std::vector<Run> train_all(const std::vector<Job>& jobs, const Report& report) {
  set_num_threads(1);  // in a run
  std::vector<std::packaged_task<Run()>> tasks;
  std::vector<std::future<Run>> results;
  for (const Job& job : jobs) {
    tasks.emplace_back([&job] { return train(job.design, job.recipe, job.seed); });
    results.push_back(tasks.back().get_future());
  }
  std::atomic<std::size_t> next{0};
  std::vector<std::future<void>> workers;  // which wait for their ends when they are destroyed
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    workers.push_back(std::async(std::launch::async, [&] {
      for (std::size_t job; (job = next++) < tasks.size();) tasks[job]();
    }));
  std::vector<Run> runs;
  for (auto& result : results) {
    runs.push_back(result.get());
    report(runs.back());
    std::fflush(stdout);
  }
  return runs;
}

/// Rows of the accuracy and each layer's lambda at an evaluation; empty where there is none.
inline std::string csv(const std::vector<Run>& runs) {
  std::string text = "task,model,seed,step,accuracy,lambda_1,lambda_2\n";
  for (const Run& run : runs)
    for (const Point& p : run.points) {
      char row[160];
      std::snprintf(row, sizeof row, "%s,%s,%llu,%lld,%.4f", run.recipe.task.c_str(),
                    run.design.name().c_str(), static_cast<unsigned long long>(run.seed),
                    static_cast<long long>(p.step), p.accuracy);
      text += row;
      for (std::size_t layer = 0; layer < 2; ++layer) {
        text += ',';
        if (layer < p.lambdas.size()) text += std::to_string(p.lambdas[layer]);
      }
      text += '\n';
    }
  return text;
}

/// Seeds as a chart's script has them: "1 2 3".
inline std::string join(const std::vector<std::uint64_t>& seeds) {
  std::string text;
  for (std::uint64_t seed : seeds) text += (text.empty() ? "" : " ") + std::to_string(seed);
  return text;
}

}  // namespace experiment
