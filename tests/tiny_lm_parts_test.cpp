// What demos/tiny_lm has around its model: the vocabulary, files of runs, draws, and the search for
// what is not finite.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <xtape/xtape.hpp>

#include "../demos/tiny_lm/nonfinite.hpp"
#include "../demos/tiny_lm/run.hpp"
#include "../demos/tiny_lm/sample.hpp"
#include "support/close.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"

namespace {

using namespace xtape;
using namespace tiny_lm;

constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("tiny_lm: a vocabulary is of the bytes that occur, and any file is a text") {
  const std::string text("z\0a\xff\na", 6);
  const Vocabulary v(text);
  CHECK(v.bytes == std::vector<int>{0, 10, 97, 122, 255});
  CHECK(v.encode(text, "t") == Ids{3, 0, 2, 4, 1, 2});
  CHECK(v.decode(v.encode(text, "t")) == text);
  CHECK(test::error_of<demo::UserError>([&] { v.encode("aab", "t"); }) ==
        "t has byte 98 at place 2, which the model's text has not");
  std::string every;
  for (int b = 0; b < 256; ++b) every += static_cast<char>(b);
  CHECK(Vocabulary(every).decode(Vocabulary(every).encode(every, "t")) == every);
  CHECK(Vocabulary("").size() == 0);
}

TEST_CASE("tiny_lm: the last tenth of a text is for validation") {
  Ids ids(25);
  for (std::size_t i = 0; i < 25; ++i) ids[i] = static_cast<std::int64_t>(i);
  const Split split(ids, 6, "t");
  CHECK(split.training.size() == 18);
  CHECK(split.validation == Ids{18, 19, 20, 21, 22, 23, 24});
  CHECK(test::error_of<demo::UserError>([&] { Split(ids, 7, "t"); }) ==
        "t is too short: it has 25 bytes, and a context of 7 needs 80");
  const Windows w(ids, {3, 0}, 4);
  CHECK(w.ids.values() == Ids{3, 4, 5, 6, 0, 1, 2, 3});
  CHECK(w.next.values() == Ids{4, 5, 6, 7, 1, 2, 3, 4});
  CHECK(entropy({0, 1, 2, 3}) == 2);
  CHECK(entropy({5, 5}) == 0);
}

TEST_CASE_TEMPLATE("tiny_lm: a run comes back from its file to the last bit", T, float, double) {
  const test::Folder folder;
  Config config;
  config.width = 16;
  config.pairing = Pairing::halves;
  config.tied = true;
  Training training;
  training.rate = 0.1 + 0.2;
  Run<T> run = begin<T>(config, training, "a text");
  std::vector<Tensor<T>> gradients;
  for (const auto& p : run.model.parameters) gradients.push_back(p.value * 0.3);
  run.adamw.step(run.model.parameters, gradients);
  run.random.normal();
  run.step = 7;
  save(run, folder.path());
  CHECK(holds_double(folder.path()) == (sizeof(T) == sizeof(double)));

  Run<T> back = load<T>(folder.path());
  CHECK(back.step == 7);
  CHECK(back.text_id == identify("a text"));
  CHECK(back.vocabulary.bytes == run.vocabulary.bytes);
  CHECK(back.training.rate == training.rate);
  CHECK(back.model.config.pairing == Pairing::halves);
  CHECK(back.model.config.tied);
  CHECK(back.random.state() == run.random.state());
  for (Run<T>* r : {&run, &back}) r->adamw.step(r->model.parameters, gradients);
  REQUIRE(back.model.parameters.size() == run.model.parameters.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    CHECK(back.model.parameters[i].name == run.model.parameters[i].name);
    CHECK(closeness::same_bits(back.model.parameters[i].value, run.model.parameters[i].value));
  }
}

TEST_CASE("tiny_lm: a file that is no run is refused with its name and the reason") {
  const test::Folder folder;
  const std::string file = file_of(folder.path());
  const auto refusal = [&] {
    return test::error_of<demo::UserError>([&] { load<float>(folder.path()); });
  };
  Config config;
  config.width = 16;
  const Run<float> run = begin<float>(config, {}, "a text");
  save(run, folder.path());
  auto [values, metadata] = load_safetensors<float>(file);

  auto other = metadata;
  other.erase("vocabulary");
  save_safetensors<float>(file, values, other);
  CHECK(refusal() == file + " is no model: no \"vocabulary\" is in its metadata");
  other = metadata;
  other["vocabulary"] = "[1, 2]";
  save_safetensors<float>(file, values, other);
  CHECK(refusal() == file + " is no model: its vocabulary is not of the model's size");
  other["config"] = "{";
  save_safetensors<float>(file, values, other);
  CHECK(refusal().find(file + " is no model: ") == 0);
  auto fewer = values;
  fewer.erase(fewer.begin());
  save_safetensors<float>(file, fewer, metadata);
  CHECK(refusal().find(file + " is no model: [at] no parameter is named \"embedding.weight\"") ==
        0);
  values[0].value = Tensor<float>::ones({2, 2});
  save_safetensors<float>(file, values, metadata);
  CHECK(refusal() == file +
                         " is no model: embedding.weight has shape [2, 2], where the model's has "
                         "[5, 16]");
}

TEST_CASE("tiny_lm: a draw keeps to its temperature, top k and top p") {
  Random random(1);
  const std::vector<double> logits{std::log(0.2), std::log(0.5), std::log(0.3)};
  const auto counts = [&](const Sampling& s) {
    std::vector<int> n(3);
    for (int i = 0; i < 10000; ++i) ++n[static_cast<std::size_t>(draw(choices(logits, s), random))];
    return n;
  };
  // 10000 draws: a share of p is off by 5 sqrt(p (1 - p) / 10000) < 0.025 once in a million times.
  const auto shares = [&](const Sampling& s, const std::vector<double>& expected) {
    const std::vector<int> n = counts(s);
    for (std::size_t i = 0; i < 3; ++i) CHECK(std::abs(n[i] / 1e4 - expected[i]) < 0.025);
  };
  shares({1, 0, 1}, {0.2, 0.5, 0.3});
  shares({0.5, 0, 1}, {4 / 38.0, 25 / 38.0, 9 / 38.0});  // squares
  shares({1, 2, 1}, {0, 5 / 8.0, 3 / 8.0});
  shares({1, 0, 0.7}, {0, 5 / 8.0, 3 / 8.0});  // 0.5 is too little
  CHECK(counts({0, 0, 1}) == std::vector<int>{0, 10000, 0});
  CHECK(counts({1, 1, 1}) == std::vector<int>{0, 10000, 0});
  CHECK(counts({1, 0, 0}) == std::vector<int>{0, 10000, 0});
  CHECK(counts({1, 2, 1})[0] == 0);
}

TEST_CASE("tiny_lm: nothing is drawn from logits that are not finite") {
  const double inf = std::numeric_limits<double>::infinity();
  const std::pair<double, std::string> damaged[]{{NAN, "nan"}, {inf, "inf"}, {-inf, "-inf"}};
  for (const auto& [logit, name] : damaged)
    CHECK_THROWS_WITH_AS(choices({0, logit, 1}, {}),
                         ("the model answers with " + name + ": its weights are damaged").c_str(),
                         demo::UserError);
}

TEST_CASE("tiny_lm: samples go on when the context is full") {
  Random random(1);
  Config config;
  config.symbols = 3;
  config.width = 16;
  config.context = 4;
  const auto model = make_model<double>(config, random);
  Ids written;
  sample(model, {0, 1, 2, 0, 1}, 20, {1, 0, 1}, random,
         [&](std::int64_t id) { written.push_back(id); });
  CHECK(written.size() == 20);
}

TEST_CASE("tiny_lm: the first line that is not finite is found") {
  const auto where = [](const Tensor<double>& x, auto f) {
    return first_not_finite<double>({{"x", x}}, [&](const auto& p) { return f(p[0].value); });
  };
  const Tensor<double> x{1, 0, 2};
  CHECK(where({1, kInf}, [](In<double> v) { return sum(exp(v)); }) == "%0: f64[2] = variable(x)");
  CHECK(where(x, [](In<double> v) { return sum(log(v) * 2); }) == "%1: f64[3] = log(%0:x)");
  CHECK(where(x, [](In<double> v) { return sum(sqrt(v) * 2); }) ==
        "the gradient of %1: f64[3] = sqrt(%0:x)");
  CHECK(where(x, [](In<double> v) { return sum(exp(mask(v, Mask{true, false, true}))); }) == "");
}
