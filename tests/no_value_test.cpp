// Tensors without a value, and tensors and tapes of nothing but zero bytes, as a notebook leaves a
// variable whose initializer threw: everything throws and nothing crashes.
#include <doctest/doctest.h>

#include <new>
#include <string>
#include <utility>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/errors.hpp"

namespace {

using namespace xtape;
using test::invalid;
using test::misuse;

std::string without_value(const std::string& op) {
  return "[" + op + "] an array without a value was given: it must be assigned first.";
}

std::string without_tape(const std::string& op) {
  return "[" + op + "] this tape was moved from or never made: assign a Tape first.";
}

/// Memory of an object of which every byte is 0: no constructor has run, and no destructor will.
template <class X>
class ZeroBytes {
 public:
  X& operator*() { return *std::launder(reinterpret_cast<X*>(bytes_)); }

 private:
  alignas(X) unsigned char bytes_[sizeof(X)] = {};
};

template <class E>
void check_methods(const Array<E>& n) {
  CHECK(!n.has_value());
  CHECK(invalid([&] { n.shape(); }) == without_value("shape"));
  CHECK(invalid([&] { n.rank(); }) == without_value("rank"));
  CHECK(invalid([&] { n.size(); }) == without_value("size"));
  CHECK(invalid([&] { n.dim(0); }) == without_value("dim"));
  CHECK(invalid([&] { n.values(); }) == without_value("values"));
  CHECK(invalid([&] { n.item(); }) == without_value("item"));
  CHECK(invalid([&] { n.at({}); }) == without_value("at"));
  CHECK(invalid([&] { n.data(); }) == without_value("data"));
  CHECK(invalid([&] { n.strides(); }) == without_value("strides"));
  CHECK(invalid([&] { n.is_contiguous(); }) == without_value("is_contiguous"));
  CHECK(invalid([&] { to_string(n); }) == without_value("print"));
}

template <class T>
void check_operators(const Tensor<T>& n) {
  const Tensor<T> x = 2;
  CHECK(invalid([&] { n + x; }) == without_value("add"));
  CHECK(invalid([&] { x + n; }) == without_value("add"));
  CHECK(invalid([&] { n - 1; }) == without_value("sub"));
  CHECK(invalid([&] { x - n; }) == without_value("sub"));
  CHECK(invalid([&] { (void)(n * x); }) == without_value("mul"));
  CHECK(invalid([&] { 0.5 * n; }) == without_value("mul"));
  CHECK(invalid([&] { n / x; }) == without_value("div"));
  CHECK(invalid([&] { x / n; }) == without_value("div"));
  CHECK(invalid([&] { -n; }) == without_value("neg"));
  CHECK(invalid([&] { (void)(n < x); }) == without_value("less"));
  CHECK(invalid([&] { (void)(n > x); }) == without_value("less"));
  CHECK(invalid([&] { (void)(x <= n); }) == without_value("less_equal"));
  CHECK(invalid([&] { (void)(x >= n); }) == without_value("less_equal"));
  CHECK(invalid([&] { equal(x, n); }) == without_value("equal"));
}

}  // namespace

TEST_CASE("every method of a tensor without a value throws") {
  check_methods(Tensor<float>());
  check_methods(Tensor<double>());
  check_methods(Mask());
  check_methods(Index());
}

TEST_CASE("every operator throws for a tensor without a value") {
  check_operators(Tensor<float>());
  check_operators(Tensor<double>());
  const Mask m(true), n;
  const auto mask_op = [](auto&& f) {
    const std::string text = invalid(f);
    return text.substr(0, 1) + text.substr(text.find(']') + 1);
  };
  const std::string text = "[ an array without a value was given: it must be assigned first.";
  CHECK(mask_op([&] { (void)(m & n); }) == text);
  CHECK(mask_op([&] { n | m; }) == text);
  CHECK(mask_op([&] { !n; }) == text);
}

TEST_CASE("every op throws for a tensor without a value") {
  const Tensor<double> n;
  const Tensor<double> x({1, 1}, {1}), v({1}, {1}), s = 1;
  const Mask no_mask, m(true);
  const Index no_index, i{0};
  const auto throws = [](auto&& f) {
    const std::string text = invalid(f);
    const std::string end = "] an array without a value was given: it must be assigned first.";
    return text.size() > end.size() && text.substr(text.size() - end.size()) == end;
  };
  CHECK(throws([&] { chain(n, x); }));
  CHECK(throws([&] { chain(x, n); }));
  CHECK(throws([&] { exp(n); }));
  CHECK(throws([&] { log(n); }));
  CHECK(throws([&] { sqrt(n); }));
  CHECK(throws([&] { square(n); }));
  CHECK(throws([&] { pow(n, x); }));
  CHECK(throws([&] { pow(x, n); }));
  CHECK(throws([&] { exp2(n); }));
  CHECK(throws([&] { tanh(n); }));
  CHECK(throws([&] { sigmoid(n); }));
  CHECK(throws([&] { relu(n); }));
  CHECK(throws([&] { abs(n); }));
  CHECK(throws([&] { sin(n); }));
  CHECK(throws([&] { cos(n); }));
  CHECK(throws([&] { erf(n); }));
  CHECK(throws([&] { gelu(n); }));
  CHECK(throws([&] { silu(n); }));
  CHECK(throws([&] { softplus(n); }));
  CHECK(throws([&] { clamp(n, 0, 1); }));
  CHECK(throws([&] { maximum(n, x); }));
  CHECK(throws([&] { maximum(x, n); }));
  CHECK(throws([&] { minimum(n, x); }));
  CHECK(throws([&] { minimum(x, n); }));
  CHECK(throws([&] { where(no_mask, x, x); }));
  CHECK(throws([&] { where(m, n, x); }));
  CHECK(throws([&] { where(m, x, n); }));
  CHECK(throws([&] { where(m, 1, n); }));
  CHECK(throws([&] { mask(n, m); }));
  CHECK(throws([&] { mask(x, no_mask); }));
  CHECK(throws([&] { sum(n); }));
  CHECK(throws([&] { mean(n); }));
  CHECK(throws([&] { max(n); }));
  CHECK(throws([&] { min(n); }));
  CHECK(throws([&] { prod(n); }));
  CHECK(throws([&] { var(n); }));
  CHECK(throws([&] { norm(n); }));
  CHECK(throws([&] { argmax(n); }));
  CHECK(throws([&] { logsumexp(n); }));
  CHECK(throws([&] { contiguous(n); }));
  CHECK(throws([&] { reshape(n, {1}); }));
  CHECK(throws([&] { reshape(no_mask, {1}); }));
  CHECK(throws([&] { transpose(n); }));
  CHECK(throws([&] { transpose(n, {1, 0}); }));
  CHECK(throws([&] { unsqueeze(n, 0); }));
  CHECK(throws([&] { squeeze(n); }));
  CHECK(throws([&] { slice(n, 0, 0, 1); }));
  CHECK(throws([&] { unslice(n, 0, 0, 1); }));
  CHECK(throws([&] { split(n, {1}, 0); }));
  CHECK(throws([&] { concatenate<double>({x, n}, 0); }));
  CHECK(throws([&] { concatenate<double>({n, x}, 0); }));
  CHECK(throws([&] { broadcast_to(n, {1}); }));
  CHECK(throws([&] { gather(n, i); }));
  CHECK(throws([&] { gather(x, no_index); }));
  CHECK(throws([&] { scatter_add(n, i, 1); }));
  CHECK(throws([&] { scatter_add(x, no_index, 1); }));
  CHECK(throws([&] { flip(n); }));
  CHECK(throws([&] { stack<double>({x, n}); }));
  CHECK(throws([&] { stack<double>({n, x}); }));
  CHECK(throws([&] { unstack(n); }));
  CHECK(throws([&] { pad(n, {{0, 0}}); }));
  CHECK(throws([&] { triu(n); }));
  CHECK(throws([&] { tril(n); }));
  CHECK(throws([&] { take_along_axis(n, i, 0); }));
  CHECK(throws([&] { take_along_axis(x, no_index, 0); }));
  CHECK(throws([&] { one_hot<double>(no_index, 3); }));
  CHECK(throws([&] { outer(n, v); }));
  CHECK(throws([&] { outer(v, n); }));
  CHECK(throws([&] { matmul(n, x); }));
  CHECK(throws([&] { matmul(x, n); }));
  CHECK(throws([&] { dot(n, v); }));
  CHECK(throws([&] { dot(v, n); }));
  CHECK(throws([&] { softmax(n); }));
  CHECK(throws([&] { softmax(n, m); }));
  CHECK(throws([&] { softmax(x, no_mask); }));
  CHECK(throws([&] { mse(n, x); }));
  CHECK(throws([&] { mse(x, n); }));
  CHECK(throws([&] { log_softmax(n); }));
  CHECK(throws([&] { cross_entropy(n, i); }));
  CHECK(throws([&] { cross_entropy(x, no_index); }));
  CHECK(throws([&] { cross_entropy(n, x); }));
  CHECK(throws([&] { cross_entropy(x, n); }));
  CHECK(throws([&] { rms_norm(n); }));
  CHECK(throws([&] { rms_norm(x, n); }));
  CHECK(throws([&] { layer_norm(n, v, v); }));
  CHECK(throws([&] { layer_norm(x, n, v); }));
  CHECK(throws([&] { layer_norm(x, v, n); }));
  CHECK(throws([&] { linear(n, x); }));
  CHECK(throws([&] { linear(x, n); }));
  CHECK(throws([&] { linear(x, x, n); }));
  CHECK(throws([&] { swiglu(n, x); }));
  CHECK(throws([&] { swiglu(x, n); }));
  CHECK(throws([&] { rotary(n); }));
  Random random(1);
  CHECK(throws([&] { dropout(n, 0.5, random); }));
  CHECK(throws([&] { embedding(n, i); }));
  CHECK(throws([&] { embedding(x, no_index); }));
  CHECK(throws([&] { differential_lambda(n, v, v, v); }));
  CHECK(throws([&] { differential_lambda(v, v, v, n); }));
  const Tensor<double> q({1, 1, 1, 1}, {1}), values({1, 1, 1, 2}, {1, 2});
  CHECK(throws([&] { attention(n, q, values); }));
  CHECK(throws([&] { attention(q, n, values); }));
  CHECK(throws([&] { attention(q, q, n); }));
  CHECK(throws([&] { attention(q, q, values, no_mask); }));
  CHECK(throws([&] { differential_attention(n, q, q, q, values, s); }));
  CHECK(throws([&] { differential_attention(q, n, q, q, values, s); }));
  CHECK(throws([&] { differential_attention(q, q, n, q, values, s); }));
  CHECK(throws([&] { differential_attention(q, q, q, n, values, s); }));
  CHECK(throws([&] { differential_attention(q, q, q, q, n, s); }));
  CHECK(throws([&] { differential_attention(q, q, q, q, values, n); }));
  CHECK(invalid([&] { stop_gradient(n); }) == without_value("stop_gradient"));
  CHECK(throws([&] { cast<float>(n); }));
}

TEST_CASE("recording and differentiating throw for a tensor without a value") {
  const Tensor<double> n, x = 1;
  Tape<double> tape;
  const auto v = tape.variable(x);
  const auto rule = [](In<double> g) { return g; };
  CHECK(invalid([&] { record<double>("op", n, {{x, rule}}); }) == without_value("op"));
  CHECK(invalid([&] { record<double>("op", x, {{n, rule}}); }) == without_value("op"));
  CHECK(invalid([&] { record<double>("op", x, {{v, rule}, {n, rule}}); }) == without_value("op"));
  const auto joint = [](const std::vector<Tensor<double>>& g, const std::vector<bool>&) {
    return g;
  };
  CHECK(invalid([&] { record_joint<double>("op", {n}, {v}, joint); }) == without_value("op"));
  CHECK(invalid([&] { record_joint<double>("op", {x}, {n}, joint); }) == without_value("op"));
  const auto same = [](const std::vector<Tensor<double>>& in) { return in[0]; };
  CHECK(invalid([&] { record_fused<double>("op", n, {v}, same); }) == without_value("op"));
  CHECK(invalid([&] { record_fused<double>("op", x, {n}, same); }) == without_value("op"));
  CHECK(invalid([&] { tape.variable(n); }) == without_value("variable"));
  CHECK(invalid([&] { tape.line(n); }) == without_value("line"));
  CHECK(invalid([&] { tape.gradient(n, v); }) == without_value("gradient"));
  CHECK(invalid([&] { tape.gradient(v, n); }) == without_value("gradient"));
  CHECK(invalid([&] { tape.vjp(n, x, v); }) == without_value("vjp"));
  CHECK(invalid([&] { tape.vjp(v, n, v); }) == without_value("vjp"));
  CHECK(invalid([&] { grad([](auto a) { return a; })(n); }) == without_value("grad"));
  CHECK(invalid([&] { grad([&](auto) { return n; })(x); }) == without_value("grad"));
  CHECK(tape.size() == 1);  // the failed calls have left nothing behind
}

TEST_CASE("a tensor of zero bytes throws and can be destroyed or assigned") {
  ZeroBytes<Tensor<double>> memory;
  Tensor<double>& x = *memory;
  check_methods(x);
  check_operators(x);
  const Tensor<double> copy = x;
  CHECK(!copy.has_value());
  x.~Tensor<double>();
  ZeroBytes<Tensor<double>> other;
  *other = Tensor<double>({100}, std::vector<double>(100, 1.0));
  CHECK(sum(*other).item() == 100);
  *other = {};  // ZeroBytes runs no destructor
  ZeroBytes<Mask> mask;
  check_methods(*mask);
  ZeroBytes<Index> index;
  check_methods(*index);
}

TEST_CASE("a tape of zero bytes throws and can be destroyed or assigned") {
  ZeroBytes<Tape<float>> memory;
  Tape<float>& tape = *memory;
  Tensor<float> x = 1;
  CHECK(misuse([&] { tape.variable(x); }) == without_tape("variable"));
  CHECK(misuse([&] { tape.variable(std::vector<Tensor<float>>{x}); }) == without_tape("variable"));
  CHECK(misuse([&] { tape.watch(x); }) == without_tape("variable"));
  CHECK(misuse([&] { tape.gradient(x, x); }) == without_tape("gradient"));
  CHECK(misuse([&] { std::move(tape).gradient(x, x); }) == without_tape("gradient"));
  CHECK(misuse([&] { tape.vjp(x, x, x); }) == without_tape("vjp"));
  CHECK(misuse([&] { tape.size(); }) == without_tape("size"));
  CHECK(misuse([&] { tape.node(0); }) == without_tape("node"));
  CHECK(misuse([&] { tape.line(x); }) == without_tape("line"));
  CHECK(misuse([&] { tape.clear(); }) == without_tape("clear"));
  CHECK(misuse([&] { to_string(tape); }) == without_tape("size"));
  CHECK(misuse([&] { to_dot(tape); }) == without_tape("size"));
  tape.~Tape<float>();
  ZeroBytes<Tape<float>> other;
  *other = Tape<float>();
  const auto v = (*other).variable(3);
  CHECK((*other).gradient(v * v, v).item() == 6);
  { const Tape<float> end = std::move(*other); }  // ZeroBytes runs no destructor
}

TEST_CASE("a moved-from tape throws") {
  Tape<double> tape;
  const auto x = tape.variable(2);
  const auto y = x * x;
  Tape<double> moved = std::move(tape);
  CHECK(misuse([&] { tape.gradient(y, x); }) == without_tape("gradient"));
  CHECK(moved.gradient(y, x).item() == 4);
  tape = std::move(moved);
  CHECK(tape.gradient(y, x).item() == 4);
}
