// Threads inside of ops: results have the same bits for any number of them.
#include <doctest/doctest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/close.hpp"

namespace {

using namespace xtape;

/// The number of threads as it was before.
struct RestoreThreads {
  ~RestoreThreads() { set_num_threads(threads); }
  int threads = num_threads();
};

template <class T>
using Tensors = std::vector<Tensor<T>>;

template <class T>
struct Work {
  std::string name;
  std::function<Tensors<T>()> run;
};

/// The value and all gradients of f, whose cotangent is random.
template <class T, class F>
Work<T> derived(std::string name, const std::vector<Shape>& shapes, F f) {
  Random random(5);
  Tensors<T> inputs;
  for (const Shape& shape : shapes) inputs.push_back(random.normal<T>(shape));
  const auto seed = random.normal<T>(f(inputs).shape());
  return {std::move(name), [=] {
            Tape<T> tape;
            const auto x = tape.variable(inputs);
            const auto y = f(x);
            auto results = tape.vjp(y, seed, x);
            results.push_back(stop_gradient(y));
            return results;
          }};
}

/// So large, each of it, that eight threads would be woken.
template <class T>
std::vector<Work<T>> large_work() {
  const auto product = [](const auto& x) { return matmul(x[0], x[1]); };
  const auto turned = [](const auto& x) { return matmul(transpose(x[0]), transpose(x[1])); };
  return {
      derived<T>("matmul of a batch", {{12, 67, 70}, {12, 70, 65}}, product),
      derived<T>("matmul of two", {{2, 131, 140}, {2, 140, 129}}, product),
      derived<T>("matmul, broadcast", {{3, 2, 90, 70}, {2, 70, 90}}, product),
      derived<T>("matmul of a batch by one", {{5, 101, 90}, {90, 77}}, product),
      derived<T>("matmul, tall", {{2003, 37}, {37, 41}}, product),
      derived<T>("matmul, wide", {{41, 37}, {37, 2003}}, product),
      derived<T>("matmul, deep", {{33, 4001}, {4001, 31}}, product),
      derived<T>("matmul, odd", {{151, 149}, {149, 157}}, product),
      derived<T>("matmul by a vector", {{2001, 1301}, {1301}}, product),
      derived<T>("matmul, transposed", {{149, 151}, {157, 149}}, turned),
      derived<T>("matmul of a batch, transposed", {{7, 80, 81}, {7, 83, 80}}, turned),
      derived<T>("softmax", {{311, 1003}}, [](const auto& x) { return softmax(x[0]); }),
      derived<T>("softmax along the first axis", {{1003, 311}},
                 [](const auto& x) { return softmax(x[0], 0); }),
      derived<T>("sum", {{311, 1003}}, [](const auto& x) { return sum(x[0]); }),
      derived<T>("sum along the last axis", {{311, 1003}},
                 [](const auto& x) { return sum(x[0], 1); }),
      derived<T>("mean along the first axis", {{1003, 311}},
                 [](const auto& x) { return mean(x[0], 0); }),
      derived<T>("mean along the middle axis", {{31, 103, 101}},
                 [](const auto& x) { return mean(x[0], 1); }),
      derived<T>("elementwise", {{311, 1003}, {311, 1003}},
                 [](const auto& x) { return exp(x[0] * x[1] - square(x[0])) + tanh(x[1]); }),
      derived<T>("elementwise, broadcast", {{31, 1, 1003}, {11, 1}, {1003}, {}},
                 [](const auto& x) { return (x[0] + x[1]) * x[2] / (2 + sin(x[3])); }),
      derived<T>("elementwise, transposed", {{501, 607}, {607, 501}},
                 [](const auto& x) { return transpose(x[0]) * x[1]; }),
      derived<T>("attention", {{2, 3, 97, 32}, {2, 3, 97, 32}, {2, 3, 97, 64}},
                 [](const auto& x) { return attention(x[0], x[1], x[2]); }),
      derived<T>(
          "differential_attention",
          {{2, 3, 97, 16},
           {2, 3, 97, 16},
           {2, 3, 97, 16},
           {2, 3, 97, 16},
           {2, 3, 97, 32},
           {3, 1, 1}},
          [](const auto& x) { return differential_attention(x[0], x[1], x[2], x[3], x[4], x[5]); }),
  };
}

}  // namespace

TEST_CASE_TEMPLATE("results have the same bits for any number of threads", T, float, double) {
  const RestoreThreads restore;
  for (const Work<T>& work : large_work<T>()) {
    CAPTURE(work.name);
    set_num_threads(1);
    const auto expected = work.run();
    for (int threads : {2, 3, 8}) {
      CAPTURE(threads);
      set_num_threads(threads);
      const auto found = work.run();
      REQUIRE(found.size() == expected.size());
      for (std::size_t i = 0; i < found.size(); ++i)
        CHECK(closeness::same_bits(found[i], expected[i]));
    }
  }
}

TEST_CASE("threads that each use ops which wake threads get the same bits") {
  const RestoreThreads restore;
  set_num_threads(1);
  Random random(6);
  const auto x = random.normal<float>({2, 160, 150}), w = random.normal<float>({150, 140});
  const auto run = [&] {
    Tape<float> tape;
    const auto v = tape.variable(w);
    return tape.gradient(sum(square(softmax(matmul(x, v)))), v);
  };
  const auto expected = run();
  set_num_threads(3);
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (int& count : wrong)
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round)
        count += closeness::same_bits(run(), expected) ? 0 : 1;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4));
}

TEST_CASE("the number of threads is what was set, and at least one") {
  const RestoreThreads restore;
  const std::string text = "[set_num_threads] 0 threads: at least 1 is required.";
  CHECK_THROWS_WITH_AS(set_num_threads(0), text.c_str(), std::invalid_argument);
  CHECK_THROWS_AS(set_num_threads(-1), std::invalid_argument);
  CHECK(num_threads() == restore.threads);
  set_num_threads(5);
  CHECK(num_threads() == (build_info().openmp ? 5 : 1));
}
