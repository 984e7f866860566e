// A page of a tape of 2000 lines, on standard output.
#include <iostream>
#include <xtape/xtape.hpp>

int main() {
  using namespace xtape;
  Tape<float> tape(Keep::values);
  Random random(1);
  Tensor<float> x = tape.variable(random.normal<float>({16, 16}), "x");
  while (tape.size() < 1999) x = tanh(x);
  std::cout << trace(tape, sum(x), "2000 lines");
}
