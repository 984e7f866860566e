// The page of a tape: its data, what it leaves out, and that no name can break it.
#include <doctest/doctest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include <xtape/xtape.hpp>

#include "op_table.hpp"
#include "support/errors.hpp"

namespace {

using namespace xtape;
using Json = nlohmann::json;

/// The text of the script element of this id.
std::string script(const std::string& page, const std::string& id) {
  const std::string head = "<script type=\"application/json\" id=\"" + id + "\">";
  const std::size_t start = page.find(head);
  REQUIRE(start != std::string::npos);
  const std::size_t from = start + head.size();
  return page.substr(from, page.find("</script>", from) - from);
}

template <class T>
Json traced(Tape<T>& tape, In<T> target) {
  return Json::parse(script(trace(tape, target), "tape"));
}

}  // namespace

TEST_CASE("a trace has every line with its op, inputs and shape") {
  Tape<double> tape(Keep::values);
  const auto x = tape.variable(Tensor<double>{{1, 2}, {3, 4}}, "x");
  const auto y = sum(x * 2.5 + Tensor<double>{{5, 6}}, 1);
  const auto z = sum(y);
  const Json page = traced(tape, z);
  CHECK(page["dtype"] == "f64");
  CHECK(page["target"] == 4);
  const Json& lines = page["lines"];
  REQUIRE(lines.size() == 5);
  CHECK(lines[0]["label"] == "x");
  CHECK(lines[1]["op"] == "mul");
  CHECK(lines[1]["inputs"] == Json::parse(R"([0, "2.5"])"));
  CHECK(lines[2]["inputs"] == Json::parse("[1, null]"));
  CHECK(lines[3]["attributes"] == "axes=[1]");
  CHECK(lines[3]["shape"] == Json::parse("[2]"));
}

TEST_CASE("a trace has the values and the cotangents of the sweep, to the last bit") {
  Tape<double> tape(Keep::values);
  const auto x = tape.variable(Tensor<double>{0.1, 0.2}, "x");
  const auto y = exp(x);
  const auto z = sum(y);
  const Json lines = traced(tape, z)["lines"];
  const std::vector<double> expected = y.values();
  CHECK(lines[1]["value"]["values"].get<std::vector<double>>() == expected);
  CHECK(lines[1]["gradient"]["values"] == Json::parse("[1, 1]"));
  CHECK(lines[0]["gradient"]["values"].get<std::vector<double>>() == expected);
  CHECK(lines[0]["gradient"]["low"] == expected[0]);
  CHECK(lines[0]["gradient"]["high"] == expected[1]);
}

TEST_CASE("a trace of floats has no more digits than floats have") {
  Tape<float> tape(Keep::values);
  const auto x = tape.variable(0.1, "x");
  const std::string page = trace(tape, x * 1);
  CHECK(script(page, "tape").find("0.1,") != std::string::npos);
  CHECK(script(page, "tape").find("0.10000000") == std::string::npos);
}

TEST_CASE("a trace tells the paths that a cotangent is the sum of") {
  Tape<double> tape;
  const auto x = tape.variable(3);  // %0
  const auto y = x * x;             // %1: two paths to %0
  const auto z = y + x;             // %2: the third
  const Json lines = traced(tape, z)["lines"];
  CHECK(lines[0]["gradient"]["values"] == Json::parse("[7]"));
  REQUIRE(lines[1]["passed"].size() == 2);
  CHECK(lines[1]["passed"][0]["cotangent"]["values"] == Json::parse("[3]"));
  REQUIRE(lines[2]["passed"].size() == 2);
  CHECK(lines[2]["passed"][0] == Json::parse(R"({"to": 1})"));  // %1's own cotangent says it
  CHECK(lines[2]["passed"][1]["cotangent"]["values"] == Json::parse("[1]"));
}

TEST_CASE("a trace shows no cotangent where none arrives") {
  Tape<double> tape;
  const auto x = tape.variable(2);
  const auto aside = x * 5;  // %1
  const auto z = x * 3;      // %2
  const auto later = z + 1;  // %3
  static_cast<void>(aside + later);
  const Json lines = traced(tape, z)["lines"];
  CHECK(lines[0].contains("gradient"));
  CHECK(!lines[1].contains("gradient"));
  CHECK(lines[2].contains("gradient"));
  CHECK(!lines[3].contains("gradient"));
}

TEST_CASE("a trace marks the first line with a NaN or an infinity, each way") {
  Tape<double> tape(Keep::values);
  const auto x = tape.variable(Tensor<double>{4, 0, -1});
  const auto y = sqrt(x);  // NaN at [2], and an infinite slope at [1]
  const auto z = sum(y);
  const Json page = traced(tape, z);
  CHECK(page["faults"]["forward"] == 1);
  CHECK(page["faults"]["backward"] == 0);
  CHECK(page["lines"][1]["value"]["bad"] == Json::parse(R"({"what": "nan", "at": [2]})"));
  CHECK(page["lines"][1]["value"]["values"] == Json::parse(R"([2, 0, "nan"])"));
  CHECK(page["lines"][1]["value"]["high"] == 2);
}

TEST_CASE("an infinity that mask writes is no fault") {
  Tape<double> tape(Keep::values);
  const auto x = tape.variable(Tensor<double>{{1, 2}, {3, 4}});
  const auto z = sum(softmax(mask(x, causal_mask(2, 2))));
  const Json page = traced(tape, z);
  CHECK(page["lines"][1]["value"]["bad"]["at"] == Json::parse("[0, 1]"));
  CHECK(page["faults"] == Json::parse(R"({"forward": null, "backward": null})"));
}

TEST_CASE("a trace tells the bytes that each line keeps, views none") {
  Tape<double> tape(Keep::values);
  const auto x = tape.variable(Tensor<double>::full({2, 8}, 1) + 0);  // %0
  const auto y = x * 2;                                               // %1
  const auto z = sum(transpose(y));                                   // %2, %3
  const Json page = traced(tape, z);
  CHECK(page["lines"][1]["bytes"] == 128);
  CHECK(page["lines"][2]["bytes"] == 0);
  CHECK(page["lines"][2]["storage"] == 1);
  CHECK(page["bytes"] == 128 + 128 + 8);
}

TEST_CASE("a trace shows the values that a tape of needed ones keeps, and no others") {
  Tape<double> tape;
  const auto x = tape.variable(0.5);
  const Json lines = traced(tape, exp(x) * 2)["lines"];
  CHECK(!lines[0].contains("value"));
  CHECK(lines[1].contains("value"));
  CHECK(!lines[2].contains("value"));
}

TEST_CASE("tensors of more than 32 x 32 values a slice are thinned evenly in a trace") {
  Tape<double> tape(Keep::values);
  const auto x = tape.variable(reshape(Tensor<double>::arange(0, 20 * 64 * 33), {4, 5, 64, 33}));
  const Json value = traced(tape, sum(x))["lines"][0]["value"];
  CHECK(value["shape"] == Json::parse("[4, 5, 64, 33]"));
  CHECK(value["shown"] == Json::parse("[8, 32, 32]"));
  REQUIRE(value["values"].size() == 8 * 32 * 32);
  CHECK(value["values"][1] == 1);                  // column 33 / 32 = 1
  CHECK(value["values"][31] == 31);                // column 31 * 33 / 32 = 31
  CHECK(value["values"][32] == 2 * 33);            // row 64 / 32 = 2
  CHECK(value["values"][32 * 32] == 2 * 64 * 33);  // slice 20 / 8 = 2
  CHECK(value["high"] == 20 * 64 * 33 - 1);        // of all values
}

TEST_CASE("scalars and empty tensors have their place in a trace") {
  Tape<double> tape(Keep::values);
  const auto x = tape.variable(Tensor<double>::zeros({2, 0}));
  const Json lines = traced(tape, sum(x))["lines"];
  CHECK(lines[0]["value"]["shown"] == Json::parse("[1, 2, 0]"));
  CHECK(lines[0]["value"]["values"].empty());
  CHECK(!lines[0]["value"].contains("low"));
  CHECK(lines[1]["value"]["shown"] == Json::parse("[1, 1, 1]"));
}

TEST_CASE("a trace of many large tensors has at most 10 MB") {
  Tape<double> tape(Keep::values);
  auto x = tape.variable(Random(1).normal<double>({8, 32, 32}));
  for (int i = 0; i < 200; ++i) x = x * 1.01;
  const std::string page = trace(tape, sum(x));
  CHECK(page.size() <= 10'000'000);
  CHECK(page.size() > 1'000'000);
}

TEST_CASE("a trace of 2000 lines has all of them") {
  Tape<double> tape(Keep::values);
  auto x = tape.variable(Random(1).normal<double>({16, 16}));
  for (int i = 0; i < 1998; ++i) x = tanh(x);
  const std::string page = trace(tape, sum(x));
  CHECK(page.size() <= 10'000'000);
  CHECK(Json::parse(script(page, "tape"))["lines"].size() == 2000);
}

TEST_CASE("a tape that fits on no page is refused") {
  Tape<double> tape;
  Tensor<double> x = tape.variable(1);
  for (int i = 0; i < 50'000; ++i) x = x * 1;
  CHECK(test::error_of<std::invalid_argument>([&] { trace(tape, x); }) ==
        "[trace] a tape of 50001 lines: they must fit on a page of at most 10 MB.");
}

TEST_CASE("attributes, names and ops count for what fits on a page") {
  const std::string letters(20'000, 'x');
  for (int which = 0; which < 2; ++which) {
    Tape<double> tape;
    Tensor<double> x = tape.variable(1);
    for (int i = 0; i < 600; ++i)
      x = which == 0 ? record<double>("op", x * 1, {{x, [](In<double> g) { return g; }}}, letters)
                     : x * tape.variable(1, letters);
    CHECK_THROWS_AS(trace(tape, x), std::invalid_argument);
  }
}

TEST_CASE("no name can break a trace's page") {
  const std::string name = "</script><script>alert(1)</script><!-- \"'\\ \n é 😀 \x01 {{title}}";
  Tape<double> tape;
  const auto x = tape.variable(1, name);
  const std::string page = trace(tape, x * 2, "<b>&amp; {{tape}}");
  CHECK(Json::parse(script(page, "tape"))["lines"][0]["label"] == name);
  CHECK(page.find("alert(1)</script>") == std::string::npos);
  CHECK(page.find("<title>&#60;b>&#38;amp; {{tape}}</title>") != std::string::npos);
}

TEST_CASE("a name that is not UTF-8 is shown with replacement characters in a trace") {
  Tape<double> tape;
  const auto x = tape.variable(1,
                               "a\xff"
                               "b");
  CHECK(traced(tape, x * 2)["lines"][0]["label"] == "a\uFFFDb");
}

TEST_CASE("a trace leaves its tape as it was") {
  Tape<double> tape;
  const auto x = tape.variable(3);
  const auto y = x * x;
  const std::string before = to_string(tape);
  trace(tape, y);
  CHECK(to_string(tape) == before);
  CHECK(tape.gradient(y, x).item() == 6);
}

TEST_CASE("a trace needs a target of one element that stands on its tape") {
  Tape<double> tape;
  const auto x = tape.variable(Tensor<double>{1, 2});
  CHECK(test::error_of<std::invalid_argument>([&] { trace(tape, x); }) ==
        "[trace] target f64[2] has 2 elements: one is required.");
  CHECK_THROWS_AS(trace(tape, Tensor<double>(1)), std::logic_error);
}

TEST_CASE("every op that is recorded has its formula in a trace") {
  Tape<double> tape;
  const std::string page = trace(tape, tape.variable(1) * 1);
  const Json formulas = Json::parse(script(page, "formulas"));
  CHECK(formulas["add"] == Json::parse(R"(["y = a + b; da = g, db = g"])"));
  CHECK(formulas["softmax"].size() == 2);
  CHECK(formulas["prod"].size() == 1);  // its Formula: begins within a line

  for (const op_table::Row& row : op_table::rows()) {
    Tape<double> recorded;
    auto x = op_table::tensors<double>(op_table::inputs(row, row.samples[0], 1));
    row.op.of<double>()(recorded.variable(x));
    for (std::int64_t at = 0; at < recorded.size(); ++at)
      if (const std::string op = recorded.node(at).op; op != "variable") {
        CAPTURE(op);
        CHECK(formulas.contains(op));
      }
  }
}
