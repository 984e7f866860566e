// tiny_lm: trains a tiny language model on any file, and lets it write.
//
//   tiny_lm train --text FILE --out DIR            tiny_lm sample --model DIR --prompt TEXT
//   tiny_lm eval --model DIR --text FILE           tiny_lm compare --text FILE --out DIR
//   tiny_lm export --model DIR --out DIR
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "../support/program.hpp"
#include "compare.hpp"
#include "ranks.hpp"
#include "run.hpp"
#include "sample.hpp"
#include "text.hpp"
#include "train.hpp"

using namespace tiny_lm;
namespace fs = std::filesystem;

namespace {

struct Options {
  Config config;
  Training training;
  Sampling sampling;
  std::string text, out = "tiny_lm.out", model = "tiny_lm.out", prompt, dtype = "float",
                    norm = "auto", trace;
  std::int64_t threads = 0, length = 500, seeds = 3, seed = 1;
  bool resume = false, whole = false;

  Options() { config.hidden = 0; }  // follows from the width
};

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw demo::UserError("cannot make " + folder.string() + ": " + error.message());
}

/// The file of a run that a dead process was writing.
void remove_unfinished(const fs::path& folder) {
  if (!fs::is_directory(folder)) return;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".tmp" &&
        entry.path().filename().string().rfind("model.safetensors.", 0) == 0)
      fs::remove(entry.path());
}

template <class T>
int train_command(const Options& o, const Ranks& ranks) {
  const std::string text = demo::read_file(o.text);
  if (ranks.first()) {  // a later rank would find the file that this one begins
    if (o.resume)
      remove_unfinished(o.out);
    else if (fs::exists(file_of(o.out)))
      throw demo::UserError(file_of(o.out) + " is there already: --resume goes on with it");
  }
  Run<T> run = o.resume ? load<T>(o.out) : begin<T>(o.config, o.training, text);
  if (o.resume && run.step > 0 && run.adamw.state().size() == 1)
    throw demo::UserError(file_of(o.out) + " was exported: it has not what training goes on with");
  if (run.text_id != identify(text))
    throw demo::UserError(o.text + " is not the text that the model was trained on");
  const Split split(run.vocabulary.encode(text, o.text), run.model.config.context, o.text);
  if (ranks.first()) {
    make_folder(o.out);
    std::printf("%s: %zu bytes, %lld different; a model of %lld parameters, seed %lld%s\n",
                o.text.c_str(), text.size(), static_cast<long long>(run.vocabulary.size()),
                static_cast<long long>(xtape::count(run.model.parameters)),
                static_cast<long long>(run.training.seed),
                run.step > 0 ? (", from step " + std::to_string(run.step)).c_str() : "");
    std::fflush(stdout);
    if (!o.trace.empty()) demo::write_file(o.trace, trace_next_step(run, split));
  }
  const Outcome outcome = train(run, split, o.out, ranks);
  if (!ranks.first()) return 0;
  if (!outcome.finished)
    std::printf("%sstopped after step %lld: --resume goes on\n", demo::on_terminal() ? "\n" : "",
                static_cast<long long>(run.step));
  else
    std::printf("validation %.4f bits/byte, where bytes alone take %.4f; %s\n", outcome.validation,
                entropy(split.validation), file_of(o.out).c_str());
  return 0;
}

template <class T>
int sample_command(const Options& o, const Ranks&) {
  if (std::isnan(o.sampling.temperature + o.sampling.top_p))
    throw demo::UserError("--temperature and --top-p must be numbers, not nan");
  const Run<T> run = load<T>(o.model);
  const Ids prompt = run.vocabulary.encode(o.prompt, "the prompt");
  xtape::Random random(static_cast<std::uint64_t>(o.seed));
  std::printf("%s", o.prompt.c_str());
  sample(run.model, prompt, o.length, o.sampling, random, [&](std::int64_t id) {
    std::fputs(run.vocabulary.decode({id}).c_str(), stdout);
    if (demo::on_terminal()) std::fflush(stdout);
  });
  std::printf("\n");
  return 0;
}

template <class T>
int eval_command(const Options& o, const Ranks&) {
  const Run<T> run = load<T>(o.model);
  const Ids ids = run.vocabulary.encode(demo::read_file(o.text), o.text);
  const Split split(ids, run.model.config.context, o.text);
  const Ids& judged = o.whole ? ids : split.validation;
  std::printf("%s%s: %.4f bits/byte after %lld steps; bytes alone take %.4f\n", o.text.c_str(),
              o.whole ? "" : ", last tenth", evaluate(run.model, judged),
              static_cast<long long>(run.step), entropy(judged));
  if (run.model.config.attention == Attention::differential)
    for (std::int64_t i = 0; i < run.model.config.layers; ++i)
      std::printf("lambda of layer %lld: %.3f\n", static_cast<long long>(i + 1),
                  static_cast<double>(lambda(run.model, i).item()));
  return 0;
}

template <class T>
int export_command(const Options& o, const Ranks&) {
  if (fs::exists(file_of(o.out))) throw demo::UserError(file_of(o.out) + " is there already");
  Run<T> run = load<T>(o.model);
  run.adamw = xtape::AdamW<T>();  // two numbers for each parameter
  make_folder(o.out);
  save(run, o.out);
  return 0;
}

template <class T>
int compare_command(const Options& o, const Ranks& ranks) {
  const std::string text = demo::read_file(o.text);
  make_folder(o.out);
  const bool finished = compare<T>(o.config, o.training, text, o.text, o.seeds, o.out, ranks);
  if (!finished && ranks.first()) std::printf("\nstopped\n");
  return 0;
}

/// The options of `train` and `compare`; returns those that --resume takes from the checkpoint.
std::vector<CLI::Option*> add_training(CLI::App& app, Options& o) {
  app.option_defaults()->always_capture_default();
  Config& c = o.config;
  Training& t = o.training;
  const auto size = CLI::Range(std::int64_t{1}, std::int64_t{1} << 20);
  const auto some = CLI::Range(std::int64_t{0}, std::int64_t{1} << 53);
  std::vector<CLI::Option*> fixed;
  const auto number = [&](const char* name, auto& value, const char* text, const auto& range) {
    fixed.push_back(app.add_option(name, value, text)->check(range));
  };
  app.add_option("--text", o.text, "File to learn: the last tenth is for validation")->required();
  number("--layers", c.layers, "Blocks of attention and a gated unit", size);
  number("--heads", c.heads, "Heads of the projections: half as many are differential", size);
  number("--width", c.width, "Features of a symbol", size);
  number("--hidden", c.hidden, "Features of the gated unit; 0 is 8/3 of the width", some);
  number("--context", c.context, "Symbols that the model sees", size);
  number("--batch", t.batch, "Windows of the text in a step, of each process", size);
  number("--steps", t.steps, "Training steps", size);
  number("--lr", t.rate, "Highest learning rate", CLI::Range(0.0, 1e6));
  number("--warmup", t.warmup, "Steps until it is reached; it falls to a tenth", some);
  number("--decay", t.decay, "Weight decay of matrices", CLI::Range(0.0, 10.0));
  number("--clip", t.clip, "Largest norm of the gradient", CLI::Range(1e-9, 1e300));
  number("--seed", t.seed, "Of all random numbers", some);
  number("--eval-every", t.eval_every, "Steps between evaluations", size);
  number("--save-every", t.save_every, "Steps between checkpoints", size);
  const std::map<std::string, Pairing> pairings{{"adjacent", Pairing::adjacent},
                                                {"halves", Pairing::halves}};
  fixed.push_back(app.add_option("--pairing", c.pairing, "Heads of a pair: 2i, 2i+1 or i, i+H/2")
                      ->transform(CLI::CheckedTransformer(pairings))
                      ->default_str("adjacent"));
  fixed.push_back(app.add_option("--head-norm", o.norm, "Norm of each head; auto: if differential")
                      ->check(CLI::IsMember({"auto", "on", "off"})));
  fixed.push_back(app.add_flag("--tied", c.tied, "The embedding is also the last projection"));
  fixed.push_back(app.add_flag("--composition", t.composition,
                               "Attention from primitive ops, not the fused op"));
  fixed.push_back(app.add_option("--dtype", o.dtype, "Of all numbers")
                      ->check(CLI::IsMember({"float", "double"})));
  app.add_option("--threads", o.threads, "0: as many as there are processors")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{4096}));
  app.add_option("--out", o.out, "Folder of the results");
  return fixed;
}

void add_model(CLI::App& app, Options& o) {
  app.option_defaults()->always_capture_default();
  app.add_option("--model", o.model, "Folder that `train` has written")->required();
  app.add_option("--threads", o.threads, "0: as many as there are processors")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{4096}));
}

}  // namespace

int main(int argc, char** argv) {
  const Ranks ranks;
  Options o;
  CLI::App app("Trains a tiny language model with differential attention, and lets it write.",
               "tiny_lm");
  app.require_subcommand(1);
  CLI::App& train = *app.add_subcommand("train", "Learns a text");
  CLI::App& sample = *app.add_subcommand("sample", "Writes a text");
  CLI::App& eval = *app.add_subcommand("eval", "Measures a model on a text");
  CLI::App& exports = *app.add_subcommand("export", "Copies a model, for all but --resume");
  CLI::App& compare = *app.add_subcommand("compare", "Trains both attentions, and compares them");

  const std::vector<CLI::Option*> fixed = add_training(train, o);
  const std::map<std::string, Attention> attentions{{"differential", Attention::differential},
                                                    {"ordinary", Attention::ordinary}};
  CLI::Option* attention = train.add_option("--attention", o.config.attention, "Kind of attention")
                               ->transform(CLI::CheckedTransformer(attentions))
                               ->default_str("differential");
  CLI::Option* resume = train.add_flag("--resume", o.resume, "Goes on with the run in --out");
  demo::add_trace_option(train, o.trace);
  for (CLI::Option* option : fixed) resume->excludes(option);
  resume->excludes(attention);
  add_training(compare, o);
  compare.add_option("--seeds", o.seeds, "Runs of each attention")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000}));

  add_model(sample, o);
  sample.add_option("--prompt", o.prompt, "Beginning of the text")
      ->required()
      ->check([](const std::string& text) { return text.empty() ? "it is empty" : ""; });
  sample.add_option("--length", o.length, "Bytes to write")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  sample.add_option("--temperature", o.sampling.temperature, "0: always the likeliest byte")
      ->check(CLI::Range(0.0, 100.0));
  sample.add_option("--top-k", o.sampling.top_k, "Only the k likeliest; 0: all")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{256}));
  sample.add_option("--top-p", o.sampling.top_p, "Only the likeliest of this probability together")
      ->check(CLI::Range(0.0, 1.0));
  sample.add_option("--seed", o.seed, "Of the draws")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 53));
  add_model(eval, o);
  eval.add_option("--text", o.text, "File whose last tenth is judged")->required();
  eval.add_flag("--whole", o.whole, "All of it");
  add_model(exports, o);
  exports.add_option("--out", o.out, "Folder of the copy")->required();

  const int code = demo::run(app, argc, argv, [&] {
    if (o.threads > 0) xtape::set_num_threads(static_cast<int>(o.threads));
    if (o.config.hidden == 0) o.config.hidden = (o.config.width * 8 / 3 + 7) / 8 * 8;
    const bool differential = o.config.attention == Attention::differential;
    o.config.head_norm = o.norm == "on" || (o.norm == "auto" && differential);
    const std::string folder = o.resume ? o.out : sample || eval || exports ? o.model : "";
    const bool wide = folder.empty() ? o.dtype == "double" : holds_double(folder);
    const auto call = [&](auto as_float, auto as_double) {
      return wide ? as_double(o, ranks) : as_float(o, ranks);
    };
    if (train) return call(train_command<float>, train_command<double>);
    if (sample) return call(sample_command<float>, sample_command<double>);
    if (eval) return call(eval_command<float>, eval_command<double>);
    if (exports) return call(export_command<float>, export_command<double>);
    return call(compare_command<float>, compare_command<double>);
  });
  if (code != 0) ranks.give_up(code);
  return code;
}
