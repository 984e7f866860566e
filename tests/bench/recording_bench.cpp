// What an op costs on the tape: a chain of 1000 ops on a tiny tensor, forward, gradient and
// freeing. The figure to read is ns an op, the counter `op`.
#include <benchmark/benchmark.h>

#include <xtape/xtape.hpp>

namespace {

using xtape::Shape;
using xtape::Tape;
using xtape::Tensor;

constexpr int kOps = 1000;

/// step(y, x, c): one op of the chain, where x stands on the tape and c is a constant.
template <class T, class Step>
void run_chain(benchmark::State& state, const Shape& shape, Step step) {
  const auto start = Tensor<T>::full(shape, 1);
  const auto seed = Tensor<T>::ones(shape);
  const auto c = Tensor<T>::full(shape, 1.0001);
  for (auto _ : state) {
    Tape<T> tape;
    const Tensor<T> x = tape.variable(start);
    Tensor<T> y = x;
    for (int i = 0; i < kOps; ++i) y = step(y, x, c);
    benchmark::DoNotOptimize(std::move(tape).vjp(y, seed, x).data());
  }
  state.counters["op"] = benchmark::Counter(
      kOps, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

template <class T>
void register_chains(const char* type, const Shape& shape) {
  const auto add = [&](const char* op, auto step) {
    const std::string name = std::string(op) + " " + type + xtape::to_string(shape);
    benchmark::RegisterBenchmark(
        name.c_str(), [shape, step](benchmark::State& state) { run_chain<T>(state, shape, step); });
  };
  using In = const Tensor<T>&;
  add("y*c", [](In y, In, In c) { return y * c; });
  add("y+c", [](In y, In, In c) { return y + c; });
  add("y*x", [](In y, In x, In) { return y * x; });
  add("y+x", [](In y, In x, In) { return y + x; });
}

}  // namespace

int main(int argc, char** argv) {
  for (const Shape& shape : {Shape{}, Shape{4}}) {
    register_chains<float>("f32", shape);
    register_chains<double>("f64", shape);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
