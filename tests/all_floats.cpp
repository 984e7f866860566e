// The largest error of each function of one value over all floats, in units in the last place. It
// takes minutes: `xtape_all_floats` runs them all, `xtape_all_floats 100` every hundredth.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "support/accuracy.hpp"

int main(int count, char** arguments) {
  const std::uint64_t step = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 1;
  constexpr std::uint64_t kAll = std::uint64_t(1) << 32;
  if (step == 0) return 2;
  bool good = true;
  for (const auto& f : accuracy::functions<float, double>()) {
    double worst = 0;
    float at = 0;
    for (std::uint64_t next = 0; next < kAll;) {
      std::vector<float> x;
      for (; x.size() < 65536 && next < kAll; next += step) {
        const std::uint32_t bits = static_cast<std::uint32_t>(next);
        float value;
        std::memcpy(&value, &bits, sizeof value);
        x.push_back(value);
      }
      const auto n = static_cast<std::int64_t>(x.size());
      const std::vector<float> y = f.op(xtape::Tensor<float>({n}, x)).values();
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double exact = f.exact(static_cast<double>(x[i]));
        if (y[i] == static_cast<float>(exact)) continue;  // half a unit at most
        const double error = accuracy::error_in_ulps(y[i], exact);
        if (error <= worst) continue;
        worst = error;
        at = x[i];
      }
    }
    std::printf("%-8s %.3f at %.9g, allowed %g\n", f.name, worst, static_cast<double>(at), f.bound);
    good = good && worst <= f.bound;
  }
  return good ? 0 : 1;
}
