// Softmax over rows: plain, and causal by selection. [B, H, T, T]
#include "bench.hpp"

int main(int argc, char** argv) {
  using xtape::Shape;
  for (const Shape& s : {Shape{1, 4, 64, 64}, Shape{8, 4, 128, 128}, Shape{2, 8, 512, 512},
                         Shape{1, 8, 1024, 1024}, Shape{1, 4, 2048, 2048}}) {
    const std::string shape = xtape::to_string(s);
    bench::add("softmax " + shape, {s}, 0, 0, [](const auto& x) { return softmax(x[0]); });
    const xtape::Mask allowed = xtape::causal_mask(s[2], s[3]);
    bench::add("causal softmax " + shape, {s}, 0, 0,
               [=](const auto& x) { return softmax(x[0], allowed); });
    bench::add("log_softmax " + shape, {s}, 0, 0, [](const auto& x) { return log_softmax(x[0]); });
  }
  return bench::main(argc, argv);
}
