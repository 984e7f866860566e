// Chains of elementwise ops: operands of one shape, broadcast along either axis, and numbers.
#include "bench.hpp"

namespace {

using xtape::Shape;

/// x, and what is combined with it eight times over.
void add(const std::string& name, const Shape& x, const Shape& other) {
  bench::add(name + ' ' + xtape::to_string(x) + ' ' + xtape::to_string(other), {x, other}, 0, 0,
             [](const auto& v) {
               auto y = v[0];
               for (int i = 0; i < 4; ++i) y = y * v[1] + v[1];
               return y;
             });
}

}  // namespace

int main(int argc, char** argv) {
  for (const Shape& x : {Shape{64}, Shape{64, 128}, Shape{2048, 128}, Shape{2048, 2048}}) {
    const std::string shape = xtape::to_string(x);
    add("y*b+b", x, x);
    if (x.size() == 2) {
      add("y*b+b", x, {x[1]});
      add("y*b+b", x, {x[0], 1});
    }
    add("y*b+b", x, {});
    bench::add("y*2+1 " + shape, {x}, 0, 0, [](const auto& v) {
      auto y = v[0];
      for (int i = 0; i < 4; ++i) y = y * 2 + 1;
      return y;
    });
    bench::add("exp " + shape, {x}, 0, 0, [](const auto& v) { return exp(v[0]); });
    bench::add("gelu " + shape, {x}, 0, 0, [](const auto& v) { return gelu(v[0]); });
  }
  return bench::main(argc, argv);
}
