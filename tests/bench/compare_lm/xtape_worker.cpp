// xtape's part in compare_lm.sh: compare_lm_xtape FOLDER KIND, where a KIND is ordinary,
// differential or halves. Writes a model of tiny_lm's reference size and a batch into the folder;
// answers `logits FILE` with the batch's loss, and `step` with milliseconds and loss.
#include <chrono>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>
#include <xtape/npy.hpp>
#include <xtape/xtape.hpp>

#include "../../../demos/tiny_lm/run.hpp"

using namespace xtape;
using namespace tiny_lm;

namespace {

constexpr std::int64_t kSymbols = 63, kBatch = 16;

struct Batch {
  Index ids, next;

  Batch(Random& random, std::int64_t context) {
    for (Index* x : {&ids, &next}) {
      Ids values;
      for (std::int64_t i = 0; i < kBatch * context; ++i) values.push_back(random.below(kSymbols));
      *x = Index({kBatch, context}, values);
    }
  }
};

Run<float> make_run(const std::string& kind) {
  Config config;
  config.attention = kind == "ordinary" ? Attention::ordinary : Attention::differential;
  config.pairing = kind == "halves" ? Pairing::halves : Pairing::adjacent;
  config.head_norm = kind != "ordinary";
  std::string text;
  for (std::int64_t i = 0; i < kSymbols; ++i) text += static_cast<char>(' ' + i);
  Run<float> run = begin<float>(config, {}, text);
  Random random(2);
  for (auto& p : run.model.parameters)  // gains of 1 and a head near 0 would hide what differs
    p.value = p.value.rank() == 1       ? p.value + random.normal<float>(p.value.shape(), 0, 0.1)
              : p.name == "head.weight" ? p.value * 4
                                        : p.value;
  return run;
}

double step(Run<float>& run, const Batch& batch) {
  Tape<float> tape;
  tape.watch(run.model.parameters);
  const auto loss = cross_entropy(forward(run.model, batch.ids), batch.next);
  auto gradients = std::move(tape).gradient(loss, run.model.parameters);
  clip_by_global_norm(gradients, 1);
  run.adamw.step(run.model.parameters, gradients, 1e-3);
  return static_cast<double>(loss.item());
}

void save_ids(const std::string& path, const Index& ids) {
  const Ids values = ids.values();
  save_npy(path, Tensor<double>(ids.shape(), {values.begin(), values.end()}));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) throw std::invalid_argument("arguments: FOLDER KIND");
  const std::string folder = argv[1];
  Run<float> run = make_run(argv[2]);
  Random random(3);
  const Batch batch(random, run.model.config.context);
  save(run, folder);
  save_ids(folder + "/ids.npy", batch.ids);
  save_ids(folder + "/next.npy", batch.next);
  std::cout << std::setprecision(9);
  for (std::string line, command, file; std::getline(std::cin, line);) {
    std::istringstream in(line);
    in >> command >> file;
    if (command == "about") {
      std::ostringstream about;
      about << build_info();
      std::string text = about.str();
      for (char& c : text) c = c == '\n' ? ' ' : c;
      std::cout << text << std::endl;
    } else if (command == "logits") {
      const auto logits = forward(run.model, batch.ids);
      save_npy(file, logits);
      std::cout << cross_entropy(logits, batch.next).item() << std::endl;
    } else {
      const auto start = std::chrono::steady_clock::now();
      const double loss = step(run, batch);
      const std::chrono::duration<double, std::milli> spent =
          std::chrono::steady_clock::now() - start;
      std::cout << spent.count() << ' ' << loss << std::endl;
    }
  }
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
