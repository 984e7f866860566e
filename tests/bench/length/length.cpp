// Time and memory of differential attention's value and gradients at one length, for length.sh: one
// line of its CSV. A process for each, since a peak of memory does not go down again.
//
//   length WAY B H T D causal|full     WAY: fused or composition
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>
#include <xtape/xtape.hpp>

using namespace xtape;

namespace {

/// The most memory that this process has had, in MiB. (Linux counts in KiB.)
double peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int measure(bool fused, const Shape& narrow, bool causal) {
  Random random(1);
  const Shape wide{narrow[0], narrow[1], narrow[2], 2 * narrow[3]};
  const double before = peak_memory();
  std::vector<Tensor<float>> inputs;
  for (int i = 0; i < 4; ++i) inputs.push_back(random.normal<float>(narrow));
  inputs.push_back(random.normal<float>(wide));
  inputs.push_back(Tensor<float>(0.5));
  const Tensor<float> seed = random.normal<float>(wide);
  // Inputs, the result and its cotangent, gradients.
  const double needed = static_cast<double>(sizeof(float)) / (1 << 20) *
                        static_cast<double>(8 * inputs[0].size() + 4 * inputs[4].size());

  std::vector<double> seconds;
  for (double spent = 0; seconds.size() < 3 || (spent < 1 && seconds.size() < 99);) {
    const double start = now();
    {
      Tape<float> tape;
      const auto x = tape.variable(inputs);
      const auto y = fused
                         ? fused::differential_attention(x[0], x[1], x[2], x[3], x[4], x[5], causal)
                         : differential_attention(x[0], x[1], x[2], x[3], x[4], x[5], causal);
      const auto gradients = std::move(tape).vjp(y, seed, x);
    }
    seconds.push_back(now() - start);
    spent += seconds.back();
  }
  std::sort(seconds.begin(), seconds.end());
  std::printf("%s,%s,%s,%d,%.6g,%.1f,%.1f\n", fused ? "fused" : "composition",
              ('"' + to_string(narrow) + '"').c_str(), causal ? "causal" : "full", num_threads(),
              seconds[seconds.size() / 2] * 1e3, peak_memory() - before, needed);
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 7) throw std::invalid_argument("usage: length WAY B H T D causal|full");
  Shape shape;
  for (int i = 2; i < 6; ++i) shape.push_back(std::stoll(argv[i]));
  return measure(std::string(argv[1]) == "fused", shape, std::string(argv[6]) == "causal");
} catch (const std::exception& error) {
  std::fprintf(stderr, "length: %s\n", error.what());
  return 2;
}
