// Tensors, attention maps, curves and tapes as pictures, and what notebooks are given of them.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <xtape/display.hpp>
#include <xtape/xtape.hpp>

namespace {

using namespace xtape;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++n;
  return n;
}

/// The path of all cells of one colour.
std::string cells(const std::string& svg, const std::string& colour) {
  const std::string start = "<path fill=\"" + colour + "\" d=\"";
  const std::size_t at = svg.find(start);
  if (at == std::string::npos) return {};
  return svg.substr(at + start.size(), svg.find('"', at + start.size()) - at - start.size());
}

const std::string kBlue = "#0072b2", kOrange = "#d55e00", kWhite = "#ffffff";

bool found(const char* program) {
  return std::system((std::string("command -v ") + program + " >/dev/null 2>&1").c_str()) == 0;
}

AttentionMap<double> signed_map() {
  AttentionMap<double> map;
  map.weights = {{0.5, 0}, {-0.25, 0.75}};
  map.queries = {"a<b", " "};
  map.title = "A1 - A2";
  return map;
}

/// y = (w x)^2 at w = 2, x = 3.
Tensor<double> fill(Tape<double>& tape) {
  const auto w = tape.variable(2, "w");
  const auto x = tape.variable(3, "x");
  return square(w * x);
}

}  // namespace

TEST_CASE("a matrix is a heat map with its numbers, blue above and orange below zero") {
  const std::string svg = to_svg(Tensor<double>{{1, -4}, {0, 4}});
  CHECK(svg.substr(0, 5) == "<svg ");
  for (const char* number : {">1<", ">-4<", ">0<", ">4<"}) CHECK(has(svg, number));
  // One cell each, and one step of the legend.
  CHECK(count(cells(svg, kBlue), "M") == 2);
  CHECK(count(cells(svg, kOrange), "M") == 2);
  CHECK(count(cells(svg, kWhite), "M") == 2);
  CHECK(has(svg, "f64[2, 2], from -4 to 4, mean 0.25"));
}

TEST_CASE("a strided tensor has the picture of its contiguous copy") {
  const auto x = Random(1).normal<float>({5, 4});
  CHECK(to_svg(transpose(x)) == to_svg(contiguous(transpose(x))));
  CHECK(to_svg(transpose(x)) != to_svg(x));
}

TEST_CASE("a vector is a bar for each value, in proportion") {
  const std::string svg = to_svg(Tensor<double>{1, -2, 2});
  // The range of 4 is 120 pixels high.
  CHECK(has(cells(svg, kBlue), "v30h"));
  CHECK(has(cells(svg, kBlue), "v60h"));
  CHECK(has(cells(svg, kOrange), "v60h"));
}

TEST_CASE("large tensors are thinned and say so") {
  CHECK(has(to_svg(Tensor<float>::zeros({100, 70})), "; 32 of 100 rows shown; 32 of 70 columns"));
  CHECK(has(to_svg(Tensor<float>::zeros({1000})), "; 64 of 1000 values shown"));
  CHECK(has(to_svg(Tensor<float>::zeros({5, 7, 2, 2})), "; 16 of 35 slices shown"));
  CHECK(!has(to_svg(Tensor<float>::zeros({32, 32})), "shown"));
  // About 20 bytes for each of at most 32 x 32 cells.
  CHECK(to_svg(Random(1).normal<float>({2000, 2000})).size() < 25000);
}

TEST_CASE("a tensor of four axes is a grid of its slices, on one scale") {
  const std::string svg = to_svg(reshape(Tensor<double>::arange(0, 24), {2, 3, 2, 2}));
  for (const char* title : {"[0, 0]", "[0, 2]", "[1, 0]", "[1, 2]"}) CHECK(has(svg, title));
  // Only the last value is at the scale's end; and the legend's last step.
  CHECK(count(cells(svg, kBlue), "M") == 2);
}

TEST_CASE("scalars, masks, indices and empty tensors have pictures too") {
  CHECK(has(to_svg(Tensor<float>(2.5)), ">2.5<"));
  CHECK(has(to_svg(Mask{{true, false}}), "mask[1, 2]"));
  CHECK(has(to_svg(Index{{7, 8}}), "index[1, 2], from 7 to 8"));
  CHECK(has(to_svg(Tensor<float>::zeros({0, 3})), "f32[0, 3], no values"));
  CHECK(has(to_svg(Tensor<float>::zeros({2, 0, 3})), "f32[2, 0, 3], no values"));
  CHECK_THROWS_AS(to_svg(Tensor<float>()), std::invalid_argument);
}

TEST_CASE("values that are not finite are shown and leave the scale alone") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const std::string svg = to_svg(Tensor<double>{{1, inf}, {nan, -2}});
  CHECK(has(svg, ">inf<"));
  CHECK(has(svg, ">nan<"));
  CHECK(has(svg, "; 2 not finite"));
  CHECK(count(cells(svg, "#bbbbbb"), "M") == 1);
  CHECK(count(cells(svg, kOrange), "M") == 2);  // -2, the scale's end, and the legend's
  CHECK(has(to_svg(Tensor<double>{1, inf, nan}), ">inf<"));
}

TEST_CASE("an attention map has its tokens, its title and a scale centred at zero") {
  const std::string svg = to_svg(signed_map());
  CHECK(count(svg, ">a&lt;b<") == 2);  // as a query and as a key
  CHECK(count(svg, ">␣<") == 2);
  CHECK(has(svg, ">A1 - A2<"));
  CHECK(has(svg, ">queries<"));
  CHECK(has(svg, ">keys<"));
  CHECK(has(svg, ">-0.75<"));  // the legend's lower end, which no value reaches
}

TEST_CASE("masked places of an attention map are hatched and do not count for the scale") {
  AttentionMap<double> map = signed_map();
  map.weights = Tensor<double>{{0.5, 100}, {-0.25, 0.75}};
  map.allowed = causal_mask(2, 2);
  const std::string svg = to_svg(map);
  CHECK(!has(svg, ">100<"));
  CHECK(!cells(svg, "#eee").empty());
  CHECK(count(cells(svg, kBlue), "M") == 2);  // 0.75 and the legend
  map.allowed = {};
  CHECK(cells(to_svg(map), "#eee").empty());
}

TEST_CASE("masked places at the end of a row and at the start of the next are hatched apart") {
  AttentionMap<double> map = signed_map();
  map.allowed = Mask{{true, false}, {false, true}};
  const std::string path = cells(to_svg(map), "#eee");  // M x y h width v height h -width z, twice
  const std::size_t second = path.find('M', 1);
  const auto size = [&](std::size_t at) {
    return path.substr(path.find('h', at), path.find('z', at) - path.find('h', at));
  };
  CHECK(size(0) == size(second));
}

TEST_CASE("labels and masks that do not fit an attention map are refused") {
  AttentionMap<double> map = signed_map();
  map.keys = {"one"};
  CHECK_THROWS_WITH_AS(to_svg(map),
                       "[to_svg] 2 labels of queries and 1 of keys for weights [2, 2]: one each is "
                       "required, or none.",
                       std::invalid_argument);
  map = signed_map();
  map.allowed = Mask{true, false};
  CHECK_THROWS_WITH_AS(to_svg(map), "[to_svg] a mask [2] for weights [2, 2]: [2, 2] is required.",
                       std::invalid_argument);
  map.weights = Tensor<double>{1, 2};
  CHECK_THROWS_WITH_AS(to_svg(map),
                       "[to_svg] an attention map's weights [2]: [..., Tq, Tk] is required.",
                       std::invalid_argument);
}

TEST_CASE("a matrix in LaTeX is one, and a vector is one row") {
  CHECK(to_latex(Tensor<double>{{1, -0.5}, {2.0 / 3, 1.5e-7}}) ==
        R"(\begin{bmatrix} 1 & -0.5 \\ 0.667 & 1.5 \cdot 10^{-7} \end{bmatrix})");
  CHECK(to_latex(transpose(Tensor<float>{{1, 2}, {3, 4}})) ==
        R"(\begin{bmatrix} 1 & 3 \\ 2 & 4 \end{bmatrix})");
  CHECK(to_latex(Index{7, 8}) == R"(\begin{bmatrix} 7 & 8 \end{bmatrix})");
  CHECK(to_latex(Mask{true, false}) == R"(\begin{bmatrix} 1 & 0 \end{bmatrix})");
  CHECK(to_latex(Tensor<float>(2e30)) == R"(2 \cdot 10^{30})");
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(to_latex(Tensor<double>{inf, -inf, std::nan("")}) ==
        R"(\begin{bmatrix} \infty & -\infty & \mathrm{nan} \end{bmatrix})");
}

TEST_CASE("a large matrix in LaTeX is its corners, dots and its shape") {
  const auto x = Tensor<double>::arange(0, 900);
  CHECK(to_latex(reshape(x, {100, 9})) ==
        R"(\begin{bmatrix} 0 & 1 & 2 & \cdots & 6 & 7 & 8)"
        R"( \\ 9 & 10 & 11 & \cdots & 15 & 16 & 17)"
        R"( \\ 18 & 19 & 20 & \cdots & 24 & 25 & 26)"
        R"( \\ \vdots & \vdots & \vdots & \ddots & \vdots & \vdots & \vdots)"
        R"( \\ 873 & 874 & 875 & \cdots & 879 & 880 & 881)"
        R"( \\ 882 & 883 & 884 & \cdots & 888 & 889 & 890)"
        R"( \\ 891 & 892 & 893 & \cdots & 897 & 898 & 899 \end{bmatrix}_{100 \times 9})");
  CHECK(!has(to_latex(Tensor<float>::zeros({8, 8})), "dots"));
  CHECK(to_latex(x) ==
        R"(\begin{bmatrix} 0 & 1 & 2 & \cdots & 897 & 898 & 899 \end{bmatrix}_{1 \times 900})");
}

TEST_CASE("tensors of more than two axes, and of none, are named in LaTeX") {
  CHECK(to_latex(reshape(Tensor<float>::arange(0, 8), {2, 2, 2})) ==
        R"(\text{f32[2, 2, 2], from 0 to 7, mean 3.5})");
  CHECK(to_latex(Tensor<float>::zeros({0, 3})) == R"(\text{f32[0, 3], no values})");
  CHECK_THROWS_AS(to_latex(Tensor<float>()), std::invalid_argument);
}

TEST_CASE("a chart's specification has the finite points of each curve by name") {
  Chart chart;
  chart.title = "a \"loss\"";
  chart.curves.resize(2);
  chart.curves[0] = {"train", {3, 2, std::nan("")}, {}};
  chart.curves[1] = {"rest", {1, 4}, {0.5, 1.5}};
  const auto json = nlohmann::json::parse(to_vegalite(chart));
  CHECK(json["title"] == "a \"loss\"");
  CHECK(json["data"]["values"] == nlohmann::json::parse(R"([
    {"curve": "train", "x": 0, "y": 3}, {"curve": "train", "x": 1, "y": 2},
    {"curve": "rest", "x": 0.5, "y": 1}, {"curve": "rest", "x": 1.5, "y": 4}])"));
  chart.curves[1].x = {1};
  CHECK_THROWS_WITH_AS(to_vegalite(chart),
                       "[chart] curve 'rest' has 1 x for 2 y: as many are required, or none.",
                       std::invalid_argument);
}

TEST_CASE("a long curve is thinned and keeps its ends") {
  Chart chart;
  chart.curves.push_back({"loss", std::vector<double>(12345, 1), {}});
  const auto values = nlohmann::json::parse(to_vegalite(chart))["data"]["values"];
  CHECK(values.size() <= 201);
  CHECK(values.front()["x"] == 0);
  CHECK(values.back()["x"] == 12344);
}

TEST_CASE("gnuplot draws a chart whatever its names, where it is found") {
  Chart chart;
  chart.title = "it's `touch /nowhere` \"$x\"\nset output";
  chart.curves.push_back({"a'b", {1, 2}, {}});
  chart.curves.push_back({"nothing", {}, {}});
  const std::string svg = to_svg(chart);
  if (!found("gnuplot")) {
    CHECK(svg.empty());
    return;
  }
  CHECK(svg.substr(0, 4) == "<svg");
  CHECK(has(svg, "touch /nowhere"));
  chart.curves.clear();
  CHECK(to_svg(chart).empty());
}

TEST_CASE("a tape's table has each line's value and, for a target, its adjoint") {
  Tape<double> tape(Keep::values);
  const auto y = fill(tape);
  CHECK(to_string(tape_table(tape)) ==
        "line  type   op               value\n"
        "%0:w  f64[]  variable(w)      2\n"
        "%1:x  f64[]  variable(x)      3\n"
        "%2    f64[]  mul(%0:w, %1:x)  6\n"
        "%3    f64[]  square(%2)       36\n");
  // y = m^2 with m = w x: dy/dm = 2 m = 12, dy/dw = 12 x, dy/dx = 12 w.
  const TapeTable table = tape_table(tape, y);
  CHECK(table.target == "%3");
  CHECK(table.rows[0].adjoint == "36");
  CHECK(table.rows[1].adjoint == "24");
  CHECK(table.rows[2].adjoint == "12");
  CHECK(table.rows[3].adjoint == "1");
  CHECK(tape.size() == 4);
}

TEST_CASE("a tape's table leaves out what the tape did not keep and what is not reached") {
  Tape<double> tape;
  const auto x = tape.variable(3, "x");
  const auto late = x + 1;
  const auto y = late + 1;
  (void)y;
  const TapeTable table = tape_table(tape, late);
  CHECK(table.rows[1].value.empty());
  CHECK(table.rows[1].adjoint == "1");
  CHECK(table.rows[2].adjoint.empty());
}

TEST_CASE("a tape's table needs a target of one element on that tape") {
  Tape<double> tape, other;
  const auto x = tape.variable(Tensor<double>{1, 2});
  CHECK_THROWS_AS(tape_table(tape, x), std::invalid_argument);
  CHECK_THROWS_AS(tape_table(tape, Tensor<double>(1)), std::logic_error);
  CHECK_THROWS_AS(tape_table(tape, other.variable(1)), std::logic_error);
}

TEST_CASE("a tape's table in HTML escapes names and leaves out the middle of long tapes") {
  Tape<double> tape;
  auto x = tape.variable(1, "<b>&");
  CHECK(has(to_html(tape_table(tape)), "variable(&lt;b&gt;&amp;)"));
  CHECK(count(to_html(tape_table(tape)), "<tr>") == 2);
  for (int i = 0; i < 100; ++i) x = x + 1;
  const std::string html = to_html(tape_table(tape));
  CHECK(has(html, "41 lines left out"));
  CHECK(count(html, "<tr>") == 62);
  CHECK(has(html, ">%29<"));
  CHECK(!has(html, ">%30<"));
  CHECK(has(html, ">%100<"));
  CHECK(has(to_string(tape_table(tape)), "41 lines left out\n"));
}

TEST_CASE("large values of a tape's table are summarised") {
  Tape<double> tape(Keep::values);
  tape.variable(Tensor<double>::arange(0, 1000));
  CHECK(tape_table(tape).rows[0].value == "0 to 999");
}

TEST_CASE("a tape is a graph by Graphviz, where it is found, and in Mermaid") {
  Tape<double> tape;
  (void)fill(tape);
  const std::string svg = to_svg(tape);
  if (found("dot")) {
    CHECK(svg.substr(0, 4) == "<svg");
    CHECK(has(svg, "square"));
  } else {
    CHECK(svg.empty());
  }
  CHECK(to_mermaid(tape) ==
        "flowchart TD\n"
        "  n0([\"%0 w<br>f64[]\"])\n"
        "  n1([\"%1 x<br>f64[]\"])\n"
        "  n2[\"%2 mul<br>f64[]\"]\n"
        "  n0 --> n2\n"
        "  n1 --> n2\n"
        "  n3[\"%3 square<br>f64[]\"]\n"
        "  n2 --> n3\n");
}

TEST_CASE("each type has one picture for notebooks, and text") {
  Tape<double> tape;
  (void)fill(tape);
  Chart chart;
  chart.curves.push_back({"loss", {1, 2}, {}});
  const auto keys = [](const nlohmann::json& bundle) {
    std::string text;
    for (const auto& item : bundle.items()) text += item.key() + " ";
    return text;
  };
  CHECK(keys(mime_bundle_repr(Tensor<float>{1, 2})) == "image/svg+xml text/plain ");
  CHECK(keys(mime_bundle_repr(Mask{true})) == "image/svg+xml text/plain ");
  CHECK(keys(mime_bundle_repr(signed_map())) == "image/svg+xml text/plain ");
  CHECK(mime_bundle_repr(Formula{"x = 1"}) ==
        nlohmann::json{{"text/latex", "$$x = 1$$"}, {"text/plain", "x = 1"}});
  CHECK(keys(mime_bundle_repr(tape_table(tape))) == "text/html text/plain ");
  CHECK(keys(mime_bundle_repr(tape)) ==
        (found("dot") ? "image/svg+xml text/plain " : "text/plain text/vnd.mermaid "));
  const auto bundle = mime_bundle_repr(chart);
  CHECK(bundle["application/vnd.vegalite.v5+json"]["encoding"]["y"]["title"] == "loss");
  CHECK(bundle.contains("image/svg+xml") == found("gnuplot"));
  CHECK(!bundle.contains("text/html"));
  while (tape.size() < 200) tape.variable(1);
  CHECK(keys(mime_bundle_repr(tape)) == "text/html text/plain ");
}
