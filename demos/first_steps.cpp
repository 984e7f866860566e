// Ten lines of automatic differentiation: what the tape wrote down, the gradients, and a picture.
#include <iostream>
#include <xtape/xtape.hpp>

int main() {
  using namespace xtape;
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{1, 2, 3}, "x");
  const auto w = tape.variable(Tensor<double>{0.5, -1, 0.5}, "w");
  const auto y = square(tanh(sum(w * x)) - 1);
  const auto [dx, dw] = tape.gradient(y, x, w);
  std::cout << "y = " << y << "\n\n" << tape << '\n';
  std::cout << "dy/dx = " << dx << "\ndy/dw = " << dw << "\n\n";
  std::cout << to_dot(tape);
}
