// Matrix products: attention's, a small language model's, and squares.
#include "bench.hpp"

namespace {

using xtape::Shape;

/// a: [..., M, K]  b: [..., K, N], the batches of b no more than a's.
void add(const std::string& name, const Shape& a, const Shape& b) {
  const double flops = 2 * static_cast<double>(xtape::Tensor<float>::zeros(a).size()) *
                       static_cast<double>(b.back());
  bench::add(name + ' ' + xtape::to_string(a) + ' ' + xtape::to_string(b), {a, b}, flops, 3 * flops,
             [](const auto& x) { return matmul(x[0], x[1]); });
}

}  // namespace

int main(int argc, char** argv) {
  for (const Shape& s : {Shape{1, 4, 64, 32}, Shape{8, 4, 128, 32}, Shape{2, 8, 512, 64},
                         Shape{1, 8, 1024, 64}, Shape{1, 4, 2048, 64}}) {
    const auto b = s[0], h = s[1], t = s[2], d = s[3];
    add("scores", s, {b, h, d, t});
    add("values", {b, h, t, t}, {b, h, t, 2 * d});
  }
  // 16 sequences of 128 at width 128: projections, the two halves of SwiGLU, logits.
  for (const Shape& w : {Shape{128, 128}, Shape{128, 344}, Shape{344, 128}, Shape{128, 63}})
    add("model", {16, 128, w[0]}, w);
  for (const std::int64_t n : {16, 64, 256, 512, 1024, 1536}) add("square", {n, n}, {n, n});
  return bench::main(argc, argv);
}
