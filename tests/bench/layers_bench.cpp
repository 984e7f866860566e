// The layers of a small language model at its size: 16 sequences of 128 tokens, 128 features.
#include "bench.hpp"

namespace {

using xtape::Index;
using xtape::Random;
using xtape::Shape;

Index ids(const Shape& shape, std::int64_t below) {
  std::vector<std::int64_t> values;
  std::int64_t n = 1;
  for (std::int64_t length : shape) n *= length;
  Random random(2);
  for (std::int64_t i = 0; i < n; ++i) values.push_back(random.below(below));
  return Index(shape, values);
}

}  // namespace

int main(int argc, char** argv) {
  const Shape x{16, 128, 128}, row{128}, heads{16, 8, 128, 16}, wide{16, 128, 344};
  const Index tokens = ids({16, 128}, 256);
  bench::add("rms_norm", {x}, 0, 0, [](const auto& v) { return rms_norm(v[0]); });
  bench::add("rms_norm gain", {x, row}, 0, 0, [](const auto& v) { return rms_norm(v[0], v[1]); });
  bench::add("layer_norm", {x, row, row}, 0, 0,
             [](const auto& v) { return layer_norm(v[0], v[1], v[2]); });
  bench::add("rms_norm heads", {{16, 128, 4, 32}}, 0, 0,
             [](const auto& v) { return rms_norm(v[0]); });
  const double flops = 2.0 * 2048 * 128;
  for (const std::int64_t n : {128, 256, 344})
    bench::add("linear 128 to " + std::to_string(n), {x, {n, 128}}, flops * double(n),
               3 * flops * double(n), [](const auto& v) { return linear(v[0], v[1]); });
  bench::add("linear 344 to 128", {wide, {128, 344}}, 344 * flops, 3 * 344 * flops,
             [](const auto& v) { return linear(v[0], v[1]); });
  bench::add("linear 128 to 344, bias", {x, {344, 128}, {344}}, 344 * flops, 3 * 344 * flops,
             [](const auto& v) { return linear(v[0], v[1], v[2]); });
  bench::add("matmul [2048,128] [128,344]", {{2048, 128}, {128, 344}}, 344 * flops, 3 * 344 * flops,
             [](const auto& v) { return matmul(v[0], v[1]); });
  bench::add("matmul [16,128,128] transpose([344,128])", {x, {344, 128}}, 344 * flops,
             3 * 344 * flops, [](const auto& v) { return matmul(v[0], transpose(v[1])); });
  bench::add("swiglu", {wide, wide}, 0, 0, [](const auto& v) { return swiglu(v[0], v[1]); });
  bench::add("silu(gate) * up", {wide, wide}, 0, 0,
             [](const auto& v) { return silu(v[0]) * v[1]; });
  bench::add("rotary", {heads}, 0, 0, [](const auto& v) { return rotary(v[0]); });
  bench::add("rotary transposed", {{16, 128, 8, 16}}, 0, 0, [](const auto& v) {
    return rotary(transpose(v[0], {0, 2, 1, 3}));
  });
  bench::add("dropout", {x}, 0, 0, [](const auto& v) {
    Random random(3);
    return dropout(v[0], 0.1, random);
  });
  bench::add("embedding", {{256, 128}}, 0, 0,
             [=](const auto& v) { return embedding(v[0], tokens); });
  bench::add("cross_entropy", {{16, 128, 256}}, 0, 0,
             [=](const auto& v) { return cross_entropy(v[0], tokens); });
  bench::add("x + x", {x, x}, 0, 0, [](const auto& v) { return v[0] + v[1]; });
  bench::add("x * gain", {x, row}, 0, 0, [](const auto& v) { return v[0] * v[1]; });
  bench::add("x * 0.5", {x}, 0, 0, [](const auto& v) { return v[0] * 0.5; });
  bench::add("heads apart", {x}, 0, 0, [](const auto& v) {
    return contiguous(transpose(reshape(v[0], {16, 128, 8, 16}), {0, 2, 1, 3}));
  });
  bench::add("heads together", {heads}, 0, 0, [](const auto& v) {
    return reshape(transpose(v[0], {0, 2, 1, 3}), {16, 128, 128});
  });
  bench::add("split in two", {{16, 128, 256}}, 0, 0, [](const auto& v) {
    const auto parts = split(v[0], {128, 128}, -1);
    return parts[0] * parts[1];
  });
  return bench::main(argc, argv);
}
