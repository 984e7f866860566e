// Chains of a million ops, to be run on a stack of 512 KiB: neither a sweep nor the end of a tape
// may recurse. Returns 1, with a message, when a number is wrong.
#include <cmath>
#include <exception>
#include <iostream>
#include <optional>
#include <utility>

#include <xtape/xtape.hpp>

namespace {

using namespace xtape;

constexpr int kOps = 1000000;

bool failed = false;

void expect(const char* what, double value, double expected) {
  if (value == expected) return;
  std::cerr << what << ": " << value << " where " << expected << " is right\n";
  failed = true;
}

/// x + x + ... : every op has two inputs, and x collects a million contributions.
Tensor<double> sum_chain(const Tensor<double>& x) {
  Tensor<double> y = x;
  for (int i = 0; i < kOps; ++i) y = y + x;
  return y;
}

/// x 2 / 2 2 / 2 ... : exact in every step.
Tensor<double> product_chain(const Tensor<double>& x) {
  Tensor<double> y = x;
  for (int i = 0; i < kOps; ++i) y = y * (i % 2 == 0 ? 2.0 : 0.5);
  return y;
}

/// A view of a view of a view ...
Tensor<double> view_chain(const Tensor<double>& x) {
  Tensor<double> y = x;
  for (int i = 0; i < kOps / 2; ++i) y = transpose(unsqueeze(squeeze(y, 0), 0), {0, 2, 1});
  return y;
}

void check_ends() {
  {
    Tape<double> tape;
    const auto x = tape.variable(1);
    const auto y = sum_chain(x);
    expect("lines of a chain", static_cast<double>(tape.size()), kOps + 1);
    expect("gradient of a chain of sums", tape.gradient(y, x).item(), kOps + 1);
    expect("the same again", tape.gradient(y, x).item(), kOps + 1);
  }  // the tape ends with its scope
  Tape<double> tape;
  const auto x = tape.variable(3);
  const auto y = product_chain(x);
  expect("gradient of a chain of products", tape.gradient(y, x).item(), 1);
  tape.clear();
  const auto again = tape.variable(3);
  const auto z = product_chain(again);
  expect("consuming gradient of a chain", std::move(tape).gradient(z, again).item(), 1);
  expect("lines of a consumed tape", static_cast<double>(tape.size()), 0);
  const auto third = tape.variable(3);
  static_cast<void>(product_chain(third));
  tape = Tape<double>();  // replaced while it holds a chain
}

void check_nesting() {
  expect("grad of a chain", grad([](auto x) { return product_chain(x); })(Tensor<double>(2)).item(),
         1);
  Tape<double> tape;
  const auto x = tape.variable(2);
  const auto y = sum_chain(x) * x;  // (n + 1) x^2
  const auto slope = tape.gradient(y, x, Record::yes);
  expect("first derivative of a long chain", slope.item(), 4.0 * (kOps + 1));
  expect("second derivative of a long chain", tape.gradient(slope, x).item(), 2.0 * (kOps + 1));
}

void check_views() {
  const Tensor<double> values({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  {
    const auto constant = view_chain(values);
    expect("a value behind a million views", constant.at({0, 1, 2}), 6);
  }
  Tape<double> tape;
  const auto x = tape.variable(values);
  const auto y = view_chain(x);
  const auto g = tape.vjp(y, Tensor<double>({1, 2, 3}, {10, 20, 30, 40, 50, 60}), x);
  expect("a gradient through a million views", g.at({0, 1, 1}), 50);
}

/// Each tensor holds nothing of the one before, however they were made.
void check_tensors() {
  std::optional<Tensor<double>> last = Tensor<double>::ones({10});
  for (int i = 0; i < kOps; ++i) last = slice(*last, 0, 0, 10);
  last.reset();
}

void check_doublings() {
  Tape<double> tape;
  const auto x = tape.variable(1);
  auto y = x;
  for (int i = 0; i < 60; ++i) y = y + y;
  expect("gradient of sixty doublings", tape.gradient(y, x).item(), std::ldexp(1.0, 60));
}

}  // namespace

int main() {
  try {
    check_doublings();
    check_tensors();
    check_views();
    check_ends();
    check_nesting();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    failed = true;
  }
  return failed ? 1 : 0;
}
