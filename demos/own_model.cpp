// A model of one's own: trained, saved, and loaded again.
#include <iostream>
#include <xtape/xtape.hpp>
using namespace xtape;

Tensor<float> predict(const Parameters<float>& model, const Tensor<float>& x) {
  const auto hidden = tanh(matmul(x, at(model, "in.weight")) + at(model, "in.bias"));
  return matmul(hidden, at(model, "out.weight")) + at(model, "out.bias");
}

int main(int argc, char** argv) try {
  const std::string path = argc > 1 ? argv[1] : "own_model.safetensors";
  const std::int64_t steps = 1000;
  Random random(1);
  Parameters<float> model{{"in.weight", random.normal<float>({1, 32})},
                          {"in.bias", random.normal<float>({32})},
                          {"out.weight", random.normal<float>({32, 1}, 0, 0.2)},
                          {"out.bias", Tensor<float>::zeros({1})}};
  const auto x = reshape(Tensor<float>::linspace(-3, 3, 200), {200, 1}), y = sin(2 * x);
  AdamW<float> adamw;
  for (std::int64_t step = 0; step < steps; ++step) {
    Tape<float> tape;
    tape.watch(model);
    const auto loss = mse(predict(model, x), y);
    if (step % 333 == 0) std::cout << "step " << step << ": loss " << loss.item() << '\n';
    auto gradients = std::move(tape).gradient(loss, model);
    clip_by_global_norm(gradients, 1);
    adamw.step(model, gradients, warmup_cosine(step, 1e-2, 50, steps, 0.01));
  }
  save_safetensors(path, model, {{"steps", std::to_string(steps)}});

  const auto [loaded, metadata] = load_safetensors<float>(path);
  const bool same = predict(loaded, x).values() == predict(model, x).values();
  std::cout << path << ": " << count(loaded) << " numbers after " << metadata.at("steps")
            << " steps, " << (same ? "the same" : "another") << " model when loaded again\n";
  return same ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
