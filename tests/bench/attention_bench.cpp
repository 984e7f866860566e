// Attention and differential attention: compositions, and the fused ops where there are any.
#include "bench.hpp"
#if __has_include(<xtape/ops/fused.hpp>)
#include <xtape/ops/fused.hpp>
#define XTAPE_HAS_FUSED
#endif

namespace {

using xtape::Shape;

/// s: [B, H, T, D]
void add(const Shape& s, bool causal) {
  const Shape wide{s[0], s[1], s[2], 2 * s[3]};
  const double unit = static_cast<double>(s[0] * s[1] * s[2] * s[2] * s[3]) / (causal ? 2 : 1);
  const std::string shape = xtape::to_string(s) + (causal ? " causal" : " full");
  const std::vector<Shape> plain{s, s, s}, differential{s, s, s, s, wide, {}};
  bench::add("attention " + shape, plain, 4 * unit, 14 * unit,
             [=](const auto& x) { return attention(x[0], x[1], x[2], causal); });
  bench::add("differential " + shape, differential, 8 * unit, 28 * unit, [=](const auto& x) {
    return differential_attention(x[0], x[1], x[2], x[3], x[4], x[5], causal);
  });
#ifdef XTAPE_HAS_FUSED
  bench::add("fused attention " + shape, plain, 4 * unit, 14 * unit,
             [=](const auto& x) { return xtape::fused::attention(x[0], x[1], x[2], causal); });
  bench::add("fused differential " + shape, differential, 8 * unit, 28 * unit, [=](const auto& x) {
    return xtape::fused::differential_attention(x[0], x[1], x[2], x[3], x[4], x[5], causal);
  });
#endif
}

}  // namespace

int main(int argc, char** argv) {
  for (const Shape& s : {Shape{1, 4, 64, 32}, Shape{8, 4, 128, 32}, Shape{2, 8, 512, 64},
                         Shape{1, 8, 1024, 64}, Shape{1, 4, 2048, 64}})
    for (const bool causal : {false, true}) add(s, causal);
  return bench::main(argc, argv);
}
