// A character model with one layer of differential attention, trained on a text of your choice: it
// reads some characters and guesses the next one.
//
//   x = embedding + position;  x += attention(norm(x));  x += mlp(norm(x));  logits = norm(x) U
//
// The tape finds every gradient, lambda's too. Attention is the fused op; with --composition it is
// made from primitive ops, and the losses are the same but for rounding.
// Source: Ye et al., Differential Transformer, section 2 (ICLR 2025)
#include <algorithm>
#include <array>
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

struct Model {
  bool composition;                                          // of attention, not the fused op
  std::int64_t heads;                                        // H, each with two maps of D features
  Tensor<float> embedding, position;                         // [symbols, C], [context, C]
  Tensor<float> q1, k1, q2, k2;                              // [C, H D], with H D = C / 2
  Tensor<float> value, gain, output;                         // [C, C], [2D], [C, C]
  Tensor<float> lambda_q1, lambda_k1, lambda_q2, lambda_k2;  // [D], shared by the heads
  Tensor<float> up, down, unembedding;                       // [C, 4C], [4C, C], [C, symbols]

  Model(const Options& o, std::int64_t symbols, Random& random)
      : composition(o.composition), heads(o.heads) {
    const std::int64_t c = o.width, d = c / heads / 2;
    const auto matrix = [&](std::int64_t rows, std::int64_t columns, double scale) {
      return random.normal<float>({rows, columns}, 0, scale / std::sqrt(static_cast<double>(rows)));
    };
    embedding = random.normal<float>({symbols, c}, 0, 0.5);
    position = random.normal<float>({o.context, c}, 0, 0.3);
    for (auto* w : {&q1, &k1, &q2, &k2}) *w = matrix(c, c / 2, 1);
    value = matrix(c, c, 1);
    gain = Tensor<float>::ones({2 * d});
    output = matrix(c, c, 0.7);
    for (auto* w : {&lambda_q1, &lambda_k1, &lambda_q2, &lambda_k2})
      *w = random.normal<float>({d}, 0, 0.1);
    up = matrix(c, 4 * c, 1);
    down = matrix(4 * c, c, 0.7);
    unembedding = matrix(c, symbols, 0.2);
  }

  std::vector<Tensor<float>*> weights() {
    return {&embedding, &position,  &q1,        &k1,        &q2,        &k2, &value, &gain,
            &output,    &lambda_q1, &lambda_k1, &lambda_q2, &lambda_k2, &up, &down,  &unembedding};
  }

  /// As weights() orders them.
  static constexpr std::array kNames{"embedding", "position",  "q1",        "k1",
                                     "q2",        "k2",        "value",     "gain",
                                     "output",    "lambda_q1", "lambda_k1", "lambda_q2",
                                     "lambda_k2", "up",        "down",      "unembedding"};

  Tensor<float> lambda() const {
    return differential_lambda(lambda_q1, lambda_k1, lambda_q2, lambda_k2, lambda_init(1));
  }
};

/// x over the root of its mean square.
Tensor<float> rms_norm(const Tensor<float>& x) {
  return x / sqrt(mean(square(x), -1, true) + 1e-5);
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
Tensor<float> attend(const Model& m, const Tensor<float>& x) {
  const auto project = [&](const Tensor<float>& w) { return split_heads(matmul(x, w), m.heads); };
  const Tensor<float> q1 = project(m.q1), k1 = project(m.k1), q2 = project(m.q2),
                      k2 = project(m.k2), value = project(m.value);
  const Tensor<float> o =  // [B, H, T, 2D]
      m.composition ? differential_attention(q1, k1, q2, k2, value, m.lambda())
                    : fused::differential_attention(q1, k1, q2, k2, value, m.lambda());
  return matmul(join_heads(rms_norm(o) * m.gain * (1 - lambda_init(1))), m.output);
}

/// The logits of the character after each: [B, T] -> [B, T, symbols]
Tensor<float> forward(const Model& m, const Index& characters) {
  Tensor<float> x = gather(m.embedding, characters) + slice(m.position, 0, 0, characters.dim(1));
  x = x + attend(m, rms_norm(x));
  x = x + matmul(relu(matmul(rms_norm(x), m.up)), m.down);
  return matmul(rms_norm(x), m.unembedding);
}

/// Adam with decoupled weight decay.
/// Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, algorithm 2 (ICLR 2019)
struct Adam {
  std::vector<Tensor<float>> m, v;  // running means of the gradients and of their squares
  std::int64_t steps = 0;

  explicit Adam(const std::vector<Tensor<float>*>& weights) {
    for (const Tensor<float>* w : weights) m.push_back(Tensor<float>::zeros(w->shape()));
    v = m;
  }

  void step(const std::vector<Tensor<float>*>& weights, const std::vector<Tensor<float>>& gradients,
            double rate, double decay) {
    const double b1 = 0.9, b2 = 0.95;
    ++steps;
    const double c1 = 1 - std::pow(b1, steps), c2 = 1 - std::pow(b2, steps);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const Tensor<float>& g = gradients[i];
      Tensor<float>& w = *weights[i];
      m[i] = b1 * m[i] + (1 - b1) * g;
      v[i] = b2 * v[i] + (1 - b2) * square(g);
      const double keep = w.rank() == 2 ? 1 - rate * decay : 1;  // only matrices decay
      w = keep * w - (rate / c1) * m[i] / (sqrt(v[i] / c2) + 1e-8);
    }
  }
};

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
Tensor<float> loss_of(const Model& m, const Windows& w) {
  return cross_entropy(forward(m, w.characters), w.next) * (1 / std::log(2.0));
}

/// The value of a loss. Throws: when it is not finite.
double value_of(const Tensor<float>& loss) {
  const double value = static_cast<double>(loss.item());
  if (!std::isfinite(value))
    throw std::runtime_error("the loss is no longer finite: a lower --rate may help");
  return value;
}

/// One step of training; returns the loss before it.
double train_step(Model& model, Adam& adam, const Windows& batch, double rate, double decay) {
  Tape<float> tape;
  Model on_tape = model;
  std::vector<Tensor<float>> variables;
  for (Tensor<float>* w : on_tape.weights()) variables.push_back(*w = tape.variable(*w));
  const Tensor<float> loss = loss_of(on_tape, batch);
  const double value = value_of(loss);
  adam.step(model.weights(), std::move(tape).gradient(loss, variables), rate, decay);
  return value;
}

/// The loss of one window, as a page that steps through its tape.
void write_trace(const std::string& file, const Model& model, const Windows& window) {
  if (file.empty()) return;
  Tape<float> tape(Keep::values);
  Model on_tape = model;
  const auto weights = on_tape.weights();
  for (std::size_t i = 0; i < weights.size(); ++i)
    *weights[i] = tape.variable(*weights[i], Model::kNames[i]);
  demo::write_trace(file, tape, loss_of(on_tape, window), "A character model's loss");
}

/// The loss on a text that was not trained on: at most 256 windows, spread evenly, without overlap.
double validate(const Model& model, const std::vector<std::int64_t>& text, std::int64_t context) {
  const std::int64_t whole = (static_cast<std::int64_t>(text.size()) - 1) / context;
  const std::int64_t count = std::min<std::int64_t>(whole, 256);
  double total = 0;
  for (std::int64_t i = 0; i < count; ++i)
    total += value_of(loss_of(model, Windows(text, {i * whole / count * context}, context)));
  return total / static_cast<double>(count);
}

/// Up to 100 steps of warm-up, then half a cosine down to a twentieth.
double rate_at(std::int64_t step, const Options& o) {
  const double pi = std::acos(-1.0),
               done = static_cast<double>(step) / static_cast<double>(o.steps);
  const double warm = std::min(1.0, static_cast<double>(step) / 100);
  return o.rate * warm * (0.05 + 0.95 * (1 + std::cos(pi * done)) / 2);
}

/// Continues a text, character by character.
std::vector<std::int64_t> sample(const Model& model, std::vector<std::int64_t> text,
                                 const Options& o, Random& random) {
  for (std::int64_t i = 0; i < o.sample; ++i) {
    const std::int64_t length = std::min(o.context, static_cast<std::int64_t>(text.size()));
    const Index seen({1, length}, {text.end() - length, text.end()});
    const Tensor<float> logits = slice(forward(model, seen), 1, length - 1, length);
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
double train(Model& model, const std::vector<std::int64_t>& training,
             const std::vector<std::int64_t>& validation, const Options& o, Random& random) {
  const bool terminal = demo::on_terminal();
  Adam adam(model.weights());
  double found = 0, loss = 0, seconds = 0;
  std::int64_t since = 0;  // steps since the last line, of which are loss and seconds
  for (std::int64_t step = 1; step <= o.steps; ++step) {
    const double start = now();
    std::vector<std::int64_t> starts;
    for (std::int64_t i = 0; i < o.batch; ++i)
      starts.push_back(random.below(static_cast<std::int64_t>(training.size()) - o.context));
    const Windows batch(training, starts, o.context);
    loss += train_step(model, adam, batch, rate_at(step, o), o.decay);
    seconds += now() - start;
    ++since;
    const bool evaluate = step % o.every == 0 || step == o.steps;
    if (!evaluate && !(terminal && step % 10 == 0)) continue;
    const double steps = static_cast<double>(since);
    std::printf("%sstep %5lld of %lld  training %.5f", terminal ? "\r\033[K" : "",
                static_cast<long long>(step), static_cast<long long>(o.steps), loss / steps);
    if (evaluate) std::printf("  validation %.5f", found = validate(model, validation, o.context));
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
  Model model(o, static_cast<std::int64_t>(text.alphabet.size()), random);
  std::int64_t parameters = 0;
  for (const Tensor<float>* w : model.weights()) parameters += w->size();
  std::printf("%s: %zu characters, %zu different; a model of %lld parameters, seed %lld\n",
              o.text.c_str(), ids.size(), text.alphabet.size(), static_cast<long long>(parameters),
              static_cast<long long>(o.seed));
  std::printf("unigram entropy %.3f bits per character; lambda %.3f before training\n",
              text.entropy, static_cast<double>(model.lambda().item()));

  const double start = now();
  const double found = train(model, training, validation, o, random);
  std::printf("\nvalidation %.3f, unigram entropy %.3f: %.3f bits per character less, in %.0f s\n",
              found, text.entropy, text.entropy - found, now() - start);
  std::printf("lambda %.3f\n", static_cast<double>(model.lambda().item()));
  write_trace(o.trace_file, model, Windows(validation, {0}, o.context));
  const std::vector<std::int64_t> prompt(validation.begin(), validation.begin() + o.context);
  std::printf("\nThe model goes on from %s\n", text.spell(prompt).c_str());
  std::printf("----\n%s\n----\n", text.spell(sample(model, prompt, o, random)).c_str());
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
