// What the memory of results costs: x + y, from a few values to more than any cache holds.
#include <benchmark/benchmark.h>

#include <xtape/xtape.hpp>

namespace {

using xtape::Tensor;

void add(benchmark::State& state) {
  const auto x = Tensor<float>::ones({state.range(0) / 4}), y = x + 1;
  for (auto _ : state) benchmark::DoNotOptimize((x + y).data());
  state.SetBytesProcessed(state.iterations() * 3 * state.range(0));
}

/// On a tape, whose end gives ten results back at once.
void chain(benchmark::State& state) {
  const auto x = Tensor<float>::ones({state.range(0) / 4}), y = x + 1;
  for (auto _ : state) {
    xtape::Tape<float> tape(xtape::Keep::values);
    auto z = tape.variable(x);
    for (int i = 0; i < 10; ++i) z = z + y;
    benchmark::DoNotOptimize(z.data());
  }
  state.SetBytesProcessed(state.iterations() * 30 * state.range(0));
}

BENCHMARK(add)->Arg(64)->Arg(256)->Arg(1 << 10)->Arg(4 << 10)->Arg(64 << 10)->Arg(1 << 20);
BENCHMARK(add)->Arg(4 << 20)->Arg(32 << 20)->Unit(benchmark::kMicrosecond);
BENCHMARK(chain)->Arg(64 << 10)->Arg(1 << 20)->Arg(4 << 20)->Arg(32 << 20)->Unit(
    benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
