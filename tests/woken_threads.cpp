// Small work wakes no thread, large work as many as are set: a program of its own, since threads
// once woken stay. To be run on Linux with OMP_NUM_THREADS=2.
#include <fstream>
#include <iostream>
#include <string>
#include <thread>

#include <xtape/xtape.hpp>

using namespace xtape;

namespace {

int threads_here() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("Threads:", 0) == 0) return std::stoi(line.substr(8));
  return 0;
}

/// Value and gradient of a little of everything, for sequences of n.
void work(std::int64_t n) {
  Random random(1);
  const auto q = random.normal<float>({1, 2, n, 16}), v = random.normal<float>({1, 2, n, 32});
  Tape<float> tape;
  const auto x = tape.variable(q), value = tape.variable(v);
  const auto y = attention(x, sin(x) + 1, value) * mean(exp(-square(x)));
  tape.gradient(sum(log_softmax(y)), x, value);
}

/// `count` products of [rows, 500] and [500, rows].
void products(std::int64_t count, std::int64_t rows) {
  const auto a = Tensor<float>::ones({count, rows, 500});
  matmul(a, transpose(a));
}

}  // namespace

int main() {
  int failed = 0;
  const auto expect = [&](const char* what, int found, int expected) {
    std::cout << what << ": " << found << ", expected " << expected << '\n';
    failed += found == expected ? 0 : 1;
  };
  const bool openmp = build_info().openmp;
  std::thread([] {}).join();  // with the first, a sanitizer starts one of its own
  const int before = threads_here();
  expect("num_threads() with OMP_NUM_THREADS=2", num_threads(), openmp ? 2 : 1);
  for (int i = 0; i < 100; ++i) work(8);
  expect("woken by small work", threads_here() - before, 0);
  sum(Tensor<float>::ones({200, 250}), 1);
  expect("woken by sums of 25 microseconds", threads_here() - before, 0);
  products(1, 100);
  expect("woken by one product of 100 rows", threads_here() - before, 0);
  products(2, 100);
  expect("woken by two products", threads_here() - before, openmp ? 1 : 0);
  work(1000);
  expect("woken by large work", threads_here() - before, openmp ? 1 : 0);
  set_num_threads(4);
  work(1000);
  expect("woken with set_num_threads(4)", threads_here() - before, openmp ? 3 : 0);
  set_num_threads(8);
  products(4, 200);
  expect("woken by four products, one each", threads_here() - before, openmp ? 3 : 0);
  return failed;
}
