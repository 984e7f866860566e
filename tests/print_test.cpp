// Tensors and tapes as text, and tapes as graphs.
#include <doctest/doctest.h>

#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <xtape/xtape.hpp>

namespace {

using namespace xtape;

template <class X>
std::string streamed(const X& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

/// A tape with a named variable, a number, a keyword and an op of two outputs.
Tensor<double> fill(Tape<double>& tape) {
  const auto x = tape.variable(Tensor<double>({3, 2}, {1, 2, 3, 4, 5, 6}), "x");
  const auto w = tape.variable(Tensor<double>{7, 8});
  const auto y = x * 0.5;
  const auto z = y + Tensor<double>{1, 2};
  const auto parts = split(z, {1, 2}, 0);
  const auto s = sum(parts[1], 0, true);
  return sum(s * w);
}

}  // namespace

TEST_CASE("tensors print as nested lists") {
  CHECK(to_string(Tensor<double>{{1, 2}, {3, 4}}) == "[[1, 2], [3, 4]]");
  CHECK(to_string(Tensor<float>{0.1, -2.5}) == "[0.1, -2.5]");
  CHECK(to_string(Tensor<double>({2, 1, 2}, {1, 2, 3, 4})) == "[[[1, 2]], [[3, 4]]]");
  CHECK(to_string(Index{{1, -2}, {3, 4}}) == "[[1, -2], [3, 4]]");
  CHECK(to_string(Mask{true, false}) == "[true, false]");
  CHECK(streamed(Tensor<double>{{1, 2}, {3, 4}}) == "[[1, 2], [3, 4]]");
}

TEST_CASE("numbers print with six significant digits") {
  CHECK(to_string(Tensor<double>{3.14159265358979, 1e-10, 123456789}) ==
        "[3.14159, 1e-10, 1.23457e+08]");
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(to_string(Tensor<double>{inf, -inf, -0.0}) == "[inf, -inf, -0]");
}

TEST_CASE("a scalar prints without brackets and an empty tensor with nothing in them") {
  CHECK(to_string(Tensor<double>(2.5)) == "2.5");
  CHECK(to_string(Tensor<double>{2.5}) == "[2.5]");
  CHECK(to_string(Tensor<double>::zeros({0})) == "[]");
  CHECK(to_string(Tensor<double>::zeros({2, 0})) == "[[], []]");
  CHECK(to_string(Tensor<double>::zeros({0, 2})) == "[]");
  CHECK(to_string(Mask(true)) == "true");
}

TEST_CASE("shapes print in brackets") {
  CHECK(to_string(Shape{}) == "[]");
  CHECK(to_string(Shape{2, 3}) == "[2, 3]");
}

TEST_CASE("a strided tensor prints its values in its own order") {
  const Tensor<double> x({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(to_string(transpose(x)) == "[[1, 4], [2, 5], [3, 6]]");
  CHECK(to_string(slice(x, 1, 0, 3, 2)) == "[[1, 3], [4, 6]]");
}

TEST_CASE("the middle of a long axis is left out of tensors with more than a thousand values") {
  CHECK(to_string(Tensor<double>::arange(0, 1001)) == "[0, 1, 2, ..., 998, 999, 1000]");
  CHECK(to_string(reshape(Tensor<double>::arange(0, 1400), {7, 200})) ==
        "[[0, 1, 2, ..., 197, 198, 199], [200, 201, 202, ..., 397, 398, 399], "
        "[400, 401, 402, ..., 597, 598, 599], ..., "
        "[800, 801, 802, ..., 997, 998, 999], [1000, 1001, 1002, ..., 1197, 1198, 1199], "
        "[1200, 1201, 1202, ..., 1397, 1398, 1399]]");
  // Short axes stay whole, and so does every tensor of a thousand values.
  CHECK(to_string(reshape(Tensor<double>::arange(0, 2000), {2, 1000})) ==
        "[[0, 1, 2, ..., 997, 998, 999], [1000, 1001, 1002, ..., 1997, 1998, 1999]]");
  CHECK(to_string(Tensor<double>::zeros({1000})).find("...") == std::string::npos);
  const std::string row = "[0, 0, 0, ..., 0, 0, 0]";
  CHECK(to_string(Tensor<double>::zeros({6, 200})) ==
        "[" + row + ", " + row + ", " + row + ", " + row + ", " + row + ", " + row + "]");
}

TEST_CASE("a tape prints as its Wengert list") {
  Tape<double> tape;
  fill(tape);
  CHECK(to_string(tape) ==
        "%0: f64[3, 2] = variable(x)\n"
        "%1: f64[2] = variable()\n"
        "%2: f64[3, 2] = mul(%0:x, 0.5)\n"
        "%3: f64[3, 2] = add(%2, const)\n"
        "%4: f64[1, 2] = split(%3, axis=0, lengths=[1, 2])\n"
        "%5: f64[2, 2] = output 1 of %4\n"
        "%6: f64[1, 2] = sum(%5, axes=[0], keepdims)\n"
        "%7: f64[1, 2] = mul(%6, %1)\n"
        "%8: f64[] = sum(%7, axes=[0, 1])\n");
  CHECK(streamed(tape) == to_string(tape));
}

TEST_CASE("a tape of floats prints its type and an empty tape prints nothing") {
  Tape<float> tape;
  CHECK(to_string(tape).empty());
  exp(tape.variable(1, "q1"));
  CHECK(to_string(tape) == "%0: f32[] = variable(q1)\n%1: f32[] = exp(%0:q1)\n");
}

TEST_CASE("printing a tape changes nothing on it") {
  Tape<double> tape;
  const auto x = tape.variable(3);
  const auto y = x * x;
  const auto text = to_string(tape) + to_dot(tape);
  CHECK(tape.size() == 2);
  CHECK(tape.gradient(y, x).item() == 6);
  CHECK(to_string(tape) + to_dot(tape) == text);
}

TEST_CASE("a recorded gradient prints as the lines that compute it") {
  Tape<double> tape;
  const auto x = tape.variable(3, "x");
  const auto y = exp(x);
  tape.gradient(y, x, Record::yes);
  CHECK(to_string(tape) ==
        "%0: f64[] = variable(x)\n"
        "%1: f64[] = exp(%0:x)\n"
        "%2: f64[] = chain(1, %1)\n");
}

TEST_CASE("a tape as a graph has a node for each line and an edge for each use") {
  Tape<double> tape;
  fill(tape);
  CHECK(to_dot(tape) ==
        "digraph tape {\n"
        "  node [shape=box, fontname=\"monospace\"];\n"
        "  n0 [label=\"%0 x\\nf64[3, 2]\", style=rounded];\n"
        "  n1 [label=\"%1 variable\\nf64[2]\", style=rounded];\n"
        "  n2 [label=\"%2 mul\\nf64[3, 2]\"];\n"
        "  n0 -> n2;\n"
        "  n3 [label=\"%3 add\\nf64[3, 2]\"];\n"
        "  n2 -> n3;\n"
        "  n4 [label=\"%4 split\\naxis=0, lengths=[1, 2]\\nf64[1, 2]\"];\n"
        "  n3 -> n4;\n"
        "  n5 [label=\"%5 split\\nf64[2, 2]\"];\n"
        "  n4 -> n5;\n"
        "  n6 [label=\"%6 sum\\naxes=[0], keepdims\\nf64[1, 2]\"];\n"
        "  n5 -> n6;\n"
        "  n7 [label=\"%7 mul\\nf64[1, 2]\"];\n"
        "  n6 -> n7;\n"
        "  n1 -> n7;\n"
        "  n8 [label=\"%8 sum\\naxes=[0, 1]\\nf64[]\"];\n"
        "  n7 -> n8;\n"
        "}\n");
}

TEST_CASE("a graph has an edge for each of two uses and escapes names") {
  Tape<double> tape;
  const auto x = tape.variable(3, "the \"x\" of a\\b");
  (void)(x * x);
  CHECK(to_dot(tape) ==
        "digraph tape {\n"
        "  node [shape=box, fontname=\"monospace\"];\n"
        "  n0 [label=\"%0 the \\\"x\\\" of a\\\\b\\nf64[]\", style=rounded];\n"
        "  n1 [label=\"%1 mul\\nf64[]\"];\n"
        "  n0 -> n1;\n"
        "  n0 -> n1;\n"
        "}\n");
}
