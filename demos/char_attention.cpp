// A character model with one layer of differential attention, trained on a text of your choice: it
// reads some characters and guesses the next one.
//
//   x = embedding + position;  x += attention(norm(x));  x += mlp(norm(x));  logits = norm(x) U
//
// The tape finds every gradient, lambda's too. Attention is the fused op; with --composition it is
// made from primitive ops, and the losses are the same but for rounding.
// Source: Ye et al., Differential Transformer, section 2 (ICLR 2025)
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>
#include <xtape/xtape.hpp>

#include "support/program.hpp"
#include "support/text.hpp"

using namespace xtape;

namespace {

struct Options {
  std::string text = "/usr/share/common-licenses/GPL-3", trace_file;
  std::int64_t steps = 1500, batch = 16, context = 32, width = 64, heads = 2;
  std::int64_t every = 100, sample = 300;
  double rate = 8e-3, decay = 0.3, temperature = 0.7;
  std::int64_t seed = 1;
  bool composition = false;
};

using Model = Parameters<float>;

/// H heads, each with two maps of D features: H D = C / 2.
Model make_model(const Options& o, std::int64_t symbols, Random& random) {
  const std::int64_t c = o.width, d = c / o.heads / 2;
  Model model;
  const auto add = [&](const char* name, const Shape& shape, double deviation) {
    model.push_back({name, random.normal<float>(shape, 0, deviation)});
  };
  const auto matrix = [&](const char* name, std::int64_t rows, std::int64_t columns, double scale) {
    add(name, {rows, columns}, scale / std::sqrt(static_cast<double>(rows)));
  };
  add("embedding", {symbols, c}, 0.5);
  add("position", {o.context, c}, 0.3);
  for (const char* name : {"q1", "k1", "q2", "k2"}) matrix(name, c, c / 2, 1);
  matrix("value", c, c, 1);
  model.push_back({"gain", Tensor<float>::ones({2 * d})});
  matrix("output", c, c, 0.7);
  for (const char* name : {"lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"}) add(name, {d}, 0.1);
  matrix("up", c, 4 * c, 1);
  matrix("down", 4 * c, c, 0.7);
  matrix("unembedding", c, symbols, 0.2);
  return model;
}

/// Shared by the heads. -> []
Tensor<float> lambda(const Model& m) {
  return differential_lambda(at(m, "lambda_q1"), at(m, "lambda_k1"), at(m, "lambda_q2"),
                             at(m, "lambda_k2"), lambda_init(1));
}

/// [B, T, H F] -> [B, H, T, F]
Tensor<float> split_heads(const Tensor<float>& x, std::int64_t heads) {
  return transpose(reshape(x, {x.dim(0), x.dim(1), heads, -1}), {0, 2, 1, 3});
}

/// [B, H, T, F] -> [B, T, H F]
Tensor<float> join_heads(const Tensor<float>& x) {
  return reshape(transpose(x, {0, 2, 1, 3}), {x.dim(0), x.dim(2), -1});
}

/// [B, T, C] -> [B, T, C]
Tensor<float> attend(const Options& o, const Model& m, const Tensor<float>& x) {
  const auto project = [&](const char* name) {
    return split_heads(matmul(x, at(m, name)), o.heads);
  };
  const Tensor<float> q1 = project("q1"), k1 = project("k1"), q2 = project("q2"),
                      k2 = project("k2"), value = project("value");
  const Tensor<float> heads =  // [B, H, T, 2D]
      o.composition ? differential_attention(q1, k1, q2, k2, value, lambda(m))
                    : fused::differential_attention(q1, k1, q2, k2, value, lambda(m));
  const Tensor<float> joined = join_heads(rms_norm(heads, at(m, "gain")) * (1 - lambda_init(1)));
  return matmul(joined, at(m, "output"));
}

/// The logits of the character after each: [B, T] -> [B, T, symbols]
Tensor<float> forward(const Options& o, const Model& m, const Index& characters) {
  Tensor<float> x =
      embedding(at(m, "embedding"), characters) + slice(at(m, "position"), 0, 0, characters.dim(1));
  x = x + attend(o, m, rms_norm(x));
  x = x + matmul(relu(matmul(rms_norm(x), at(m, "up"))), at(m, "down"));
  return matmul(rms_norm(x), at(m, "unembedding"));
}

/// Stretches of a text, and the character after each of theirs.
struct Windows {
  Index characters, next;  // [B, T]

  Windows(const std::vector<std::int64_t>& text, const std::vector<std::int64_t>& starts,
          std::int64_t length) {
    std::vector<std::int64_t> here, after;
    for (std::int64_t start : starts) {
      const auto first = text.begin() + start;
      here.insert(here.end(), first, first + length);
      after.insert(after.end(), first + 1, first + length + 1);
    }
    const Shape shape{static_cast<std::int64_t>(starts.size()), length};
    characters = Index(shape, here);
    next = Index(shape, after);
  }
};

/// The mean loss in bits per character.
Tensor<float> loss_of(const Options& o, const Model& m, const Windows& w) {
  return cross_entropy(forward(o, m, w.characters), w.next) * (1 / std::log(2.0));
}

/// The value of a loss. Throws: when it is not finite.
double value_of(const Tensor<float>& loss) {
  const double value = static_cast<double>(loss.item());
  if (!std::isfinite(value))
    throw std::runtime_error("the loss is no longer finite: a lower --rate may help");
  return value;
}

/// One step of training; returns the loss before it.
double train_step(const Options& o, Model& model, AdamW<float>& adamw, const Windows& batch,
                  double rate) {
  Tape<float> tape;
  tape.watch(model);
  const Tensor<float> loss = loss_of(o, model, batch);
  const double value = value_of(loss);
  adamw.step(model, std::move(tape).gradient(loss, model), rate);
  return value;
}

/// The loss of one window, as a page that steps through its tape.
void write_trace(const Options& o, Model model, const Windows& window) {
  if (o.trace_file.empty()) return;
  Tape<float> tape(Keep::values);
  tape.watch(model);
  demo::write_trace(o.trace_file, tape, loss_of(o, model, window), "A character model's loss");
}

/// The loss on a text that was not trained on: at most 256 windows, spread evenly, without overlap.
double validate(const Options& o, const Model& model, const std::vector<std::int64_t>& text) {
  const std::int64_t whole = (static_cast<std::int64_t>(text.size()) - 1) / o.context;
  const std::int64_t count = std::min<std::int64_t>(whole, 256);
  double total = 0;
  for (std::int64_t i = 0; i < count; ++i)
    total += value_of(loss_of(o, model, Windows(text, {i * whole / count * o.context}, o.context)));
  return total / static_cast<double>(count);
}

/// Continues a text, character by character.
std::vector<std::int64_t> sample(const Options& o, const Model& model,
                                 std::vector<std::int64_t> text, Random& random) {
  for (std::int64_t i = 0; i < o.sample; ++i) {
    const std::int64_t length = std::min(o.context, static_cast<std::int64_t>(text.size()));
    const Index seen({1, length}, {text.end() - length, text.end()});
    const Tensor<float> logits = slice(forward(o, model, seen), 1, length - 1, length);
    const std::vector<float> p = softmax(logits / o.temperature).values();
    double left = random.uniform();
    std::size_t next = 0;
    while (next + 1 < p.size() && (left -= static_cast<double>(p[next])) >= 0) ++next;
    text.push_back(static_cast<std::int64_t>(next));
  }
  return text;
}

double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/// Trains, with a line at every evaluation; returns the last validation figure.
double train(const Options& o, Model& model, const std::vector<std::int64_t>& training,
             const std::vector<std::int64_t>& validation, Random& random) {
  const bool terminal = demo::on_terminal();
  AdamW<float> adamw({o.rate, 0.9, 0.95, 1e-8, o.decay});
  const std::int64_t warmup = std::min<std::int64_t>(o.steps, 100);
  double found = 0, loss = 0, seconds = 0;
  std::int64_t since = 0;  // steps since the last line, of which are loss and seconds
  for (std::int64_t step = 1; step <= o.steps; ++step) {
    const double start = now();
    std::vector<std::int64_t> starts;
    for (std::int64_t i = 0; i < o.batch; ++i)
      starts.push_back(random.below(static_cast<std::int64_t>(training.size()) - o.context));
    const Windows batch(training, starts, o.context);
    loss +=
        train_step(o, model, adamw, batch, warmup_cosine(step - 1, o.rate, warmup, o.steps, 0.05));
    seconds += now() - start;
    ++since;
    const bool evaluate = step % o.every == 0 || step == o.steps;
    if (!evaluate && !(terminal && step % 10 == 0)) continue;
    const double steps = static_cast<double>(since);
    std::printf("%sstep %5lld of %lld  training %.5f", terminal ? "\r\033[K" : "",
                static_cast<long long>(step), static_cast<long long>(o.steps), loss / steps);
    if (evaluate) std::printf("  validation %.5f", found = validate(o, model, validation));
    std::printf(" bits/character  %.0f tokens/s%s",
                steps * static_cast<double>(o.batch * o.context) / seconds, evaluate ? "\n" : "");
    std::fflush(stdout);
    if (evaluate) since = 0, loss = seconds = 0;
  }
  return found;
}

int train_and_sample(const Options& o) {
  if (o.width % (2 * o.heads) != 0)
    throw demo::UserError("width " + std::to_string(o.width) + " and " + std::to_string(o.heads) +
                          " heads: the width must be a multiple of twice the heads");
  if (std::isnan(o.rate + o.decay + o.temperature))
    throw demo::UserError("rate, decay and temperature must be numbers, not nan");
  const demo::Text text(demo::decode(demo::read_file(o.text), o.text));
  const std::vector<std::int64_t>& ids = text.ids;
  const auto split = ids.begin() + static_cast<std::ptrdiff_t>(ids.size() / 10 * 9);
  const std::vector<std::int64_t> training(ids.begin(), split), validation(split, ids.end());
  if (ids.empty()) throw demo::UserError(o.text + " is empty");
  if (std::min(training.size(), validation.size()) <= static_cast<std::size_t>(o.context))
    throw demo::UserError(o.text + " is too short: it has " + std::to_string(ids.size()) +
                          " characters, and a context of " + std::to_string(o.context) + " needs " +
                          std::to_string(10 * (o.context + 1)));

  Random random(static_cast<std::uint64_t>(o.seed));
  Model model = make_model(o, static_cast<std::int64_t>(text.alphabet.size()), random);
  std::printf("%s: %zu characters, %zu different; a model of %lld parameters, seed %lld\n",
              o.text.c_str(), ids.size(), text.alphabet.size(),
              static_cast<long long>(count(model)), static_cast<long long>(o.seed));
  std::printf("unigram entropy %.3f bits per character; lambda %.3f before training\n",
              text.entropy, static_cast<double>(lambda(model).item()));

  const double start = now();
  const double found = train(o, model, training, validation, random);
  std::printf("\nvalidation %.3f, unigram entropy %.3f: %.3f bits per character less, in %.0f s\n",
              found, text.entropy, text.entropy - found, now() - start);
  std::printf("lambda %.3f\n", static_cast<double>(lambda(model).item()));
  write_trace(o, model, Windows(validation, {0}, o.context));
  const std::vector<std::int64_t> prompt(validation.begin(), validation.begin() + o.context);
  std::printf("\nThe model goes on from %s\n", text.spell(prompt).c_str());
  std::printf("----\n%s\n----\n", text.spell(sample(o, model, prompt, random)).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Trains a character model with differential attention.", "char_attention");
  demo::add_trace_option(app, o.trace_file);
  app.option_defaults()->always_capture_default();
  const auto count = CLI::Range(std::int64_t{1}, std::int64_t{1} << 20);
  app.add_option("--text", o.text, "Text to learn, in UTF-8: the last tenth is for validation");
  app.add_option("--steps", o.steps, "Training steps")->check(count);
  app.add_option("--seed", o.seed, "Of all random numbers: the same seed gives the same model")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 53));
  app.add_option("--context", o.context, "Characters that the model sees")->check(count);
  app.add_option("--batch", o.batch, "Windows of the text in a step")->check(count);
  app.add_option("--width", o.width, "Features of a character")->check(count);
  app.add_option("--heads", o.heads, "Attention heads")->check(count);
  app.add_option("--rate", o.rate, "Highest learning rate")->check(CLI::Range(1e-6, 10.0));
  app.add_option("--decay", o.decay, "Weight decay")->check(CLI::Range(0.0, 10.0));
  app.add_option("--every", o.every, "Steps between evaluations")->check(count);
  app.add_option("--sample", o.sample, "Characters to write at the end")->check(count);
  app.add_option("--temperature", o.temperature, "Of sampling")->check(CLI::Range(1e-3, 100.0));
  app.add_flag("--composition", o.composition, "Attention from primitive ops, not the fused op");
  return demo::run(app, argc, argv, [&] { return train_and_sample(o); });
}
