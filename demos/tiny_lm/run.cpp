// What of a run goes to its file: the parameters, the optimiser's state, and as metadata the rest.
#include "run.hpp"

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace tiny_lm {

using namespace xtape;
using nlohmann::json;

NLOHMANN_JSON_SERIALIZE_ENUM(Attention, {{Attention::differential, "differential"},
                                         {Attention::ordinary, "ordinary"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Pairing,
                             {{Pairing::adjacent, "adjacent"}, {Pairing::halves, "halves"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Config, attention, pairing, head_norm, tied, symbols, layers,
                                   heads, width, hidden, context)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Training, steps, batch, warmup, eval_every, save_every, seed,
                                   rate, decay, clip, composition)

void check(const Training& t) {
  if (std::isnan(t.rate + t.decay + t.clip))
    throw demo::UserError("lr, decay and clip must be numbers, not nan");
  for (std::int64_t n : {t.steps, t.batch, t.eval_every, t.save_every})
    if (n < 1) throw demo::UserError("steps and batch of at least 1 are required");
  if (t.warmup < 0 || t.warmup > t.steps)
    throw demo::UserError("a warm-up of " + std::to_string(t.warmup) + " steps in " +
                          std::to_string(t.steps) + ": it must end before they do");
}

std::string identify(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  char name[64];
  std::snprintf(name, sizeof name, "%zu bytes, %016" PRIx64, text.size(), hash);
  return name;
}

namespace {

template <class T>
AdamW<T> optimiser(const Training& t) {
  return AdamW<T>({t.rate, 0.9, 0.95, 1e-8, t.decay});
}

}  // namespace

template <class T>
Run<T> begin(Config config, const Training& training, const std::string& text) try {
  check(training);
  Run<T> run;
  run.training = training;
  run.vocabulary = Vocabulary(text);
  run.text_id = identify(text);
  config.symbols = run.vocabulary.size();
  run.random = Random(static_cast<std::uint64_t>(training.seed));
  run.model = make_model<T>(config, run.random);
  run.model.composition = training.composition;
  run.adamw = optimiser<T>(training);
  return run;
} catch (const std::invalid_argument& error) {
  throw demo::UserError(error.what());
}

std::string file_of(const std::filesystem::path& folder) {
  return (folder / "model.safetensors").string();
}

template <class T>
void save(const Run<T>& run, const std::filesystem::path& folder) {
  Parameters<T> all = run.model.parameters;
  for (const auto& p : run.adamw.state()) all.push_back(p);
  save_safetensors(file_of(folder), all,
                   {{"config", json(run.model.config).dump()},
                    {"vocabulary", json(run.vocabulary.bytes).dump()},
                    {"training", json(run.training).dump()},
                    {"text", run.text_id},
                    {"step", std::to_string(run.step)},
                    {"random", std::to_string(run.random.state())}});
}

template <class T>
Run<T> load(const std::filesystem::path& folder) try {
  auto [values, metadata] = load_safetensors<T>(file_of(folder));
  const auto text = [&metadata = metadata](const char* key) {
    const auto found = metadata.find(key);
    if (found == metadata.end())
      throw std::invalid_argument(std::string("no \"") + key + "\" is in its metadata");
    return found->second;
  };
  Run<T> run;
  json::parse(text("config")).get_to(run.model.config);
  json::parse(text("vocabulary")).get_to(run.vocabulary.bytes);
  json::parse(text("training")).get_to(run.training);
  run.text_id = text("text");
  run.step = std::stoll(text("step"));
  run.random = Random(std::stoull(text("random")));
  check(run.model.config);
  check(run.training);
  for (int byte : run.vocabulary.bytes)
    if (byte < 0 || byte > 255) throw std::invalid_argument("its vocabulary is not of bytes");
  if (run.vocabulary.size() != run.model.config.symbols)
    throw std::invalid_argument("its vocabulary is not of the model's size");
  for (const Blank& blank : blanks(run.model.config)) {
    const Tensor<T>& value = at(values, blank.name);
    if (value.shape() != blank.shape)
      throw std::invalid_argument(blank.name + " has shape " + to_string(value.shape()) +
                                  ", where the model's has " + to_string(blank.shape));
    run.model.parameters.push_back({blank.name, value});
  }
  run.model.composition = run.training.composition;
  Parameters<T> state;
  for (const auto& p : values)
    if (p.name.rfind("adamw.", 0) == 0) state.push_back(p);
  run.adamw = optimiser<T>(run.training);
  run.adamw.load_state(state);
  return run;
} catch (const std::exception& error) {  // of the reader, with the file's name, or of what it holds
  const std::string what = error.what(), file = file_of(folder);
  throw demo::UserError(what.find(file) == std::string::npos ? file + " is no model: " + what
                                                             : what);
}

bool holds_double(const std::filesystem::path& folder) try {
  load_safetensors<double>(file_of(folder));
  return true;
} catch (const std::runtime_error&) {
  return false;
}

#define TINY_LM_INSTANTIATE(T)                                           \
  template Run<T> begin<T>(Config, const Training&, const std::string&); \
  template void save(const Run<T>&, const std::filesystem::path&);       \
  template Run<T> load<T>(const std::filesystem::path&);
TINY_LM_INSTANTIATE(float)
TINY_LM_INSTANTIATE(double)
#undef TINY_LM_INSTANTIATE

}  // namespace tiny_lm
