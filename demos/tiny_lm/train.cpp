// The training loop.
#include "train.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "batch.hpp"
#include "interrupts.hpp"
#include "metrics.hpp"
#include "nonfinite.hpp"

namespace tiny_lm {

using namespace xtape;

namespace {

/// Throws: what became of step `run.step + 1`.
template <class T>
[[noreturn]] void stop_not_finite(const char* what, Run<T>& run, const Parameters<T>& parameters,
                                  const Windows& batch) {
  Model<T> again = run.model;
  const std::string where = first_not_finite(parameters, [&](const Parameters<T>& p) {
    again.parameters = p;
    return loss_of(again, batch);
  });
  throw std::runtime_error("step " + std::to_string(run.step + 1) + ": the " + what +
                           " is not finite, first in " + (where.empty() ? "another rank" : where) +
                           ". A lower --lr may help; the last checkpoint is whole.");
}

struct Step {
  double loss, norm, rate;
};

template <class T>
Step train_step(Run<T>& run, const Windows& batch, const Ranks& ranks) {
  const Training& o = run.training;
  const Parameters<T> before = run.model.parameters;
  Tape<T> tape;
  tape.watch(run.model.parameters);
  const Tensor<T> loss = loss_of(run.model, batch);
  const double value = static_cast<double>(loss.item());
  auto gradients = std::move(tape).gradient(loss, run.model.parameters);
  if (!std::isfinite(value)) stop_not_finite("loss", run, before, batch);
  ranks.average(gradients);
  const double norm = clip_by_global_norm(gradients, o.clip);
  if (!std::isfinite(norm)) stop_not_finite("gradient", run, before, batch);
  const double rate = warmup_cosine(run.step, o.rate, o.warmup, o.steps, 0.1);
  run.adamw.step(run.model.parameters, gradients, rate);
  ++run.step;
  return {value, norm, rate};
}

}  // namespace

template <class T>
double evaluate(const Model<T>& model, const Ids& text) {
  const std::int64_t context = model.config.context;
  const std::int64_t whole = (static_cast<std::int64_t>(text.size()) - 1) / context;
  const std::int64_t count = std::min<std::int64_t>(whole, 256);
  double total = 0;
  for (std::int64_t i = 0; i < count;) {
    Ids starts;
    for (; i < count && starts.size() < 16; ++i) starts.push_back(i * whole / count * context);
    total += static_cast<double>(loss_of(model, Windows(text, starts, context)).item()) *
             static_cast<double>(starts.size());
  }
  return bits(total / static_cast<double>(count));
}

template <class T>
std::string trace_next_step(Run<T> run, const Split& text) {
  Tape<T> tape(Keep::values);
  tape.watch(run.model.parameters);
  const Tensor<T> loss = loss_of(run.model, next_batch(run, text.training));
  return trace(tape, loss, "Step " + std::to_string(run.step + 1) + " of a tiny language model");
}

template <class T>
Outcome train(Run<T>& run, const Split& text, const std::filesystem::path& folder,
              const Ranks& ranks) {
  const Training& o = run.training;
  const Interrupts interrupts;
  std::unique_ptr<Metrics> metrics;
  if (ranks.first()) metrics = std::make_unique<Metrics>(folder, run.step);
  if (ranks.first() && run.step == 0) save(run, folder);
  // mpirun shows its processes a terminal even where it writes to a file.
  Progress progress(o.steps, demo::on_terminal() && ranks.size() == 1);
  Outcome outcome;
  if (run.step == o.steps && ranks.first())
    outcome.validation = evaluate(run.model, text.validation);
  const double tokens = static_cast<double>(o.batch * run.model.config.context) * ranks.size();
  double seconds = 0, stop = 0;
  for (std::int64_t done = 0; run.step < o.steps && stop == 0; ++done) {
    const double start = now();
    const Windows batch = next_batch(run, text.training, ranks.rank(), ranks.size());
    const Step step = train_step(run, batch, ranks);
    std::vector<double> shared{step.loss, interrupts.happened() ? 1.0 : 0.0};
    ranks.average(shared);
    stop = shared[1];
    const double spent = now() - start;
    seconds += spent;
    outcome.tokens_per_second = tokens * static_cast<double>(done + 1) / seconds;
    if (!ranks.first()) continue;

    nlohmann::json entry{{"step", run.step},
                         {"loss", shared[0]},
                         {"bits_per_byte", bits(shared[0])},
                         {"gradient_norm", step.norm},
                         {"rate", step.rate}};
    double validation = std::numeric_limits<double>::quiet_NaN();
    if (run.step % o.eval_every == 0 || run.step == o.steps)
      entry["validation_bits_per_byte"] = outcome.validation = validation =
          evaluate(run.model, text.validation);
    entry["tokens_per_second"] = tokens / spent;
    metrics->add(entry);
    if (run.step % o.save_every == 0 || run.step == o.steps || stop > 0) save(run, folder);
    progress.show(run.step, shared[0], validation, tokens, spent);
  }
  outcome.finished = run.step == o.steps;
  if (ranks.first()) draw_chart(folder, "Training of a tiny language model", metrics->curves());
  return outcome;
}

#define TINY_LM_INSTANTIATE(T)                                \
  template double evaluate(const Model<T>&, const Ids&);      \
  template std::string trace_next_step(Run<T>, const Split&); \
  template Outcome train(Run<T>&, const Split&, const std::filesystem::path&, const Ranks&);
TINY_LM_INSTANTIATE(float)
TINY_LM_INSTANTIATE(double)
#undef TINY_LM_INSTANTIATE

}  // namespace tiny_lm
