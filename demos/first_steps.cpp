// Ten lines of automatic differentiation: what the tape wrote down, the gradients, and a picture.
#include <iostream>
#include <string>
#include <xtape/xtape.hpp>

#include "support/program.hpp"

namespace {

int first_steps(const std::string& trace_file) {
  using namespace xtape;
  Tape<double> tape(Keep::values);
  const auto x = tape.variable(Tensor<double>{1, 2, 3}, "x");
  const auto w = tape.variable(Tensor<double>{0.5, -1, 0.5}, "w");
  const auto y = square(tanh(sum(w * x)) - 1);
  const auto [dx, dw] = tape.gradient(y, x, w);
  std::cout << "y = " << y << "\n\n" << tape << '\n';
  std::cout << "dy/dx = " << dx << "\ndy/dw = " << dw << "\n\n";
  std::cout << to_dot(tape);
  demo::write_trace(trace_file, tape, y, "First steps");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string trace_file;
  CLI::App app("Ten lines of automatic differentiation.", "first_steps");
  demo::add_trace_option(app, trace_file);
  return demo::run(app, argc, argv, [&] { return first_steps(trace_file); });
}
