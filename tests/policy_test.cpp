// The numeric policy, decided once for all ops, where it is no single op's: masks and products,
// ties, accumulation, what slices cost, threads, and the kinds of exception.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/close.hpp"
#include "support/errors.hpp"

namespace {

using namespace xtape;
using closeness::same_bits;
using test::error_of;
using test::invalid;
using test::misuse;
using Doubles = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();

template <class F>
Doubles slopes(const F& f, const Tensor<double>& x) {
  return grad([&](const Tensor<double>& v) { return sum(f(v)); })(x).values();
}

/// The number of values on all lines that the gradient of f writes when it is recorded.
template <class F>
std::int64_t values_of_gradient(const F& f, const Tensor<double>& at) {
  Tape<double> tape;
  const auto x = tape.variable(at);
  const auto y = f(x);
  const std::int64_t before = tape.size();
  tape.gradient(y, x, Record::yes);
  std::int64_t values = 0;
  for (std::int64_t line = before; line < tape.size(); ++line) {
    std::int64_t size = 1;
    for (std::int64_t length : tape.node(line).shape) size *= length;
    values += size;
  }
  return values;
}

/// Whether a text is "[op] what was given: what is required." and no more than one line.
bool is_error_text(const std::string& text) {
  const std::size_t end = text.find("] "), colon = text.find(": ");
  return text[0] == '[' && end != std::string::npos && end > 1 && colon != std::string::npos &&
         colon > end && text.find('\n') == std::string::npos &&
         (text.back() == '.' || text.back() == '?');
}

}  // namespace

// ---- masks and where -------------------------------------------------------------------------

TEST_CASE("the branch that where does not take is silent through elementwise ops of every kind") {
  // Each op has a pole, a NaN or an overflow at the first value, and none at the second.
  const Tensor<double> x{-1000, 2};
  const auto chosen = [](auto op) {
    return [op](const auto& v) { return where(v > 0, op(v), v); };
  };
  CHECK(slopes(chosen([](const auto& v) { return sqrt(v); }), x)[0] == 1);
  CHECK(slopes(chosen([](const auto& v) { return log(v); }), x)[0] == 1);
  CHECK(slopes(chosen([](const auto& v) { return exp(-v); }), x)[0] == 1);
  CHECK(slopes(chosen([](const auto& v) { return pow(v, 0.5); }), x)[0] == 1);
  CHECK(slopes(chosen([](const auto& v) { return 1 / (v + 1000); }), x)[0] == 1);
  CHECK(slopes(chosen([](const auto& v) { return square(exp(-v)); }), x)[0] == 1);
  CHECK(slopes(chosen([](const auto& v) { return maximum(sqrt(v), 1); }), x)[0] == 1);
  CHECK(slopes(chosen([](const auto& v) { return norm(unsqueeze(exp(-v), 1), 1); }), x)[0] == 1);
}

TEST_CASE("the branch that where does not take can make NaN through a matrix product") {
  // dx = A^T g, and g is 0 where the branch is not taken: but inf times 0 is NaN.
  const Tensor<double> a{{kInf, 0}, {1, 2}};
  const auto f = [&](const auto& x) { return where(Mask{false, true}, matmul(a, x), 0); };
  const Doubles g = slopes(f, Tensor<double>{1, 1});
  CHECK(std::isnan(g[0]));
  CHECK(g[1] == 2);
}

// ---- ties ------------------------------------------------------------------------------------

TEST_CASE("ties over several axes share the gradient of max and min among them all") {
  const Tensor<double> x({2, 2, 2}, {5, 1, 0, 5, 5, 0, 1, 1});
  CHECK(slopes(
            [](const auto& v) {
              return max(v, {0, 2});
            },
            x) == Doubles{0.5, 0, 0, 1, 0.5, 0, 0, 0});
  CHECK(slopes([](const auto& v) { return max(v); }, x) ==
        Doubles{1 / 3.0, 0, 0, 1 / 3.0, 1 / 3.0, 0, 0, 0});
  CHECK(slopes([](const auto& v) { return min(v, {0, 2}); }, x) == Doubles{0, 0, 1, 0, 0, 1, 0, 0});
}

// ---- sums of float ---------------------------------------------------------------------------

// numpy#22956: in float 16777216 + 1 + 1 is 16777216
TEST_CASE("the gradient of a coefficient is accumulated in double") {
  // One key, so that both maps are 1 and the coefficient's gradient is -sum V.
  const auto q = Tensor<float>::ones({3, 1, 1, 1});
  const Tensor<float> value({3, 1, 1, 2}, {16777216, 0, 1, 0, 1, 0});
  const auto f = [&](const auto& coefficient) {
    return sum(differential_attention(q, q, q, q, value, coefficient));
  };
  CHECK(grad(f)(Tensor<float>(0.5)).item() == -16777218);
}

TEST_CASE("the gradient of a product with a broadcast operand is accumulated in double") {
  const Tensor<float> x({3, 1}, {16777216, 1, 1});
  const auto f = [&](const auto& w) { return sum(x * w); };
  CHECK(grad(f)(Tensor<float>({1, 1}, {1})).item() == 16777218);
  CHECK(grad(f)(Tensor<float>{1, 2}).values() == std::vector<float>{16777218, 16777218});
}

// ---- many slices of one tensor ---------------------------------------------------------------

TEST_CASE("n slices of a tensor cost n times its size in the backward pass and a split once") {
  const std::int64_t n = 50;
  const auto x = Random(1).normal<double>({n, 8});
  const auto by_slices = [&](const auto& v) {
    Tensor<double> total = 0;
    for (std::int64_t i = 0; i < n; ++i) total = total + sum(square(slice(v, 0, i, i + 1)));
    return total;
  };
  const auto by_split = [&](const auto& v) {
    Tensor<double> total = 0;
    for (const auto& part : split(v, std::vector<std::int64_t>(n, 1), 0))
      total = total + sum(square(part));
    return total;
  };
  CHECK(same_bits(grad(by_slices)(x), grad(by_split)(x)));
  CHECK(values_of_gradient(by_slices, x) >= n * x.size());
  CHECK(values_of_gradient(by_split, x) <= 16 * x.size());  // some lines for each part
}

// ---- threads ---------------------------------------------------------------------------------

TEST_CASE("results have the same bits on any number of threads") {
  Random random(3);
  const auto x = random.normal<float>({64, 1000});
  const auto q = random.normal<float>({1, 2, 64, 8}), v = random.normal<float>({1, 2, 64, 16});
  const auto f = [&](const auto& a) {
    const auto y = matmul(softmax(a), transpose(a));
    return mean(y) + logsumexp(a) + norm(a) + var(a) +
           sum(differential_attention(q, q * 2, q, q * 3, v, mean(a)));
  };
  const auto [value, gradient] = value_and_grad(f)(x);
  for (const std::size_t count : {1u, 2u, 5u}) {
    std::vector<Tensor<float>> values(count), gradients(count);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i)
      threads.emplace_back([&, i] {
        const auto found = value_and_grad(f)(x);
        values[i] = found.first;
        gradients[i] = found.second;
      });
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(same_bits(values[i], value));
      CHECK(same_bits(gradients[i], gradient));
    }
  }
}

// ---- errors ----------------------------------------------------------------------------------

TEST_CASE("bad arguments, misuse of a tape and bad files are three types of exception") {
  const auto x = Tensor<double>::ones({2, 3});
  const Tensor<double> none;
  for (const std::string& text :
       {invalid([&] { matmul(x, x); }), invalid([&] { x + Tensor<double>::ones({2}); }),
        invalid([&] { max(x, 2); }), invalid([&] { reshape(x, {5}); }),
        invalid([&] { mean(slice(x, 0, 0, 0)); }), invalid([&] { exp(none); }), invalid([&] {
          Tensor<double>({2}, {1, 2, 3});
        }),
        invalid([&] {
          x.at({2, 0});
        }),
        invalid([&] { clamp(x, 1, 0); }), invalid([&] { stack(std::vector<Tensor<double>>()); })})
    CHECK_MESSAGE(is_error_text(text), text);
  Tape<double> tape;
  const auto v = tape.variable(x);
  CHECK_MESSAGE(is_error_text(misuse([&] { tape.gradient(sum(v), x); })), "of a constant");
  const auto sum_of_v = sum(v);
  tape.clear();
  CHECK_MESSAGE(is_error_text(misuse([&] { tape.gradient(sum_of_v, v); })), "of a cleared tape");
  CHECK_MESSAGE(
      is_error_text(error_of<std::runtime_error>([] { load_npy<double>("no/such.npy"); })),
      "of a file");
}

TEST_CASE("arguments are checked before anything is computed or written") {
  // The values would not fit into any memory: whoever computes first, fails otherwise.
  const auto huge = broadcast_to(Tensor<double>(1), {1 << 20, 1 << 20, 4});
  const auto other = broadcast_to(Tensor<double>(1), {1 << 20, 1 << 20, 3});
  Tape<double> tape;
  const auto x = tape.variable(huge);
  for (const std::string& text : {invalid([&] { x + other; }), invalid([&] { maximum(x, other); }),
                                  invalid([&] { matmul(x, other); }), invalid([&] { sum(x, 3); }),
                                  invalid([&] { softmax(x, 3); }), invalid([&] {
                                    concatenate<double>({x, other}, 0);
                                  }),
                                  invalid([&] {
                                    stack<double>({x, other});
                                  }),
                                  invalid([&] { mse(x, other); }), invalid([&] {
                                    pad(x, {{1, 1}});
                                  }),
                                  invalid([&] { gather(x, Index{4}, 2); }), invalid([&] {
                                    take_along_axis(x, Index({1, 1, 1}, {0}), 2);
                                  }),
                                  invalid([&] {
                                    mask(x, Mask{true, false});
                                  })})
    CHECK_MESSAGE(is_error_text(text), text);
  CHECK(tape.size() == 1);
}
