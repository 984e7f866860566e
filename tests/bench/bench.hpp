// What the benchmarks share: inputs, an op's forward and gradient, and counters.
#pragma once

#include <benchmark/benchmark.h>

#include <string>
#include <vector>
#include <xtape/xtape.hpp>

namespace bench {

using xtape::Shape;
using xtape::Tape;
using xtape::Tensor;

template <class T>
std::vector<Tensor<T>> inputs(const std::vector<Shape>& shapes) {
  xtape::Random random(1);
  std::vector<Tensor<T>> made;
  for (const Shape& shape : shapes) made.push_back(random.normal<T>(shape));
  return made;
}

/// f(inputs) alone, or on a tape with the gradients of all inputs; `flops` a run, 0 for none.
template <class T, class F>
void run(benchmark::State& state, const std::vector<Shape>& shapes, bool gradient, double flops,
         F f) {
  const std::vector<Tensor<T>> x = inputs<T>(shapes);
  const Tensor<T> seed = Tensor<T>::ones(f(x).shape());
  for (auto _ : state) {
    if (gradient) {
      Tape<T> tape;
      const auto variables = tape.variable(x);
      benchmark::DoNotOptimize(std::move(tape).vjp(f(variables), seed, variables));
    } else {
      benchmark::DoNotOptimize(f(x));
    }
  }
  if (flops > 0)
    state.counters["FLOP/s"] =
        benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

/// Four benchmarks, `NAME f32 forward` and so on. f: a vector of tensors -> a tensor.
template <class F>
void add(const std::string& name, const std::vector<Shape>& shapes, double forward_flops,
         double flops, F f) {
  const auto add_type = [&](auto zero) {
    using T = decltype(zero);
    for (const bool gradient : {false, true}) {
      const std::string pass = gradient ? " forward+gradient" : " forward";
      benchmark::RegisterBenchmark((name + ' ' + xtape::dtype<T>() + pass).c_str(),
                                   [=](benchmark::State& state) {
                                     run<T>(state, shapes, gradient,
                                            gradient ? flops : forward_flops, f);
                                   })
          ->UseRealTime();  // the other threads' work is not this thread's time
    }
  };
  add_type(float{});
  add_type(double{});
}

inline int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace bench
