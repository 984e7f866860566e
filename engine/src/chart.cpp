// Curves: as a Vega-Lite specification, and drawn by gnuplot.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include <xtape/pictures.hpp>

#include "pipe.hpp"
#include "storage.hpp"

namespace xtape {

using namespace detail;

namespace {

constexpr std::size_t kPoints = 200;
constexpr int kWidth = 560, kHeight = 280;

struct Point {
  double x, y;
};

/// The points that are drawn: every k-th, and the last; only finite ones.
std::vector<Point> points(const Curve& curve) {
  const std::size_t n = curve.y.size();
  if (!curve.x.empty() && curve.x.size() != n)
    fail("chart", "curve '", curve.name, "' has ", curve.x.size(), " x for ", n,
         " y: as many are required, or none.");
  const std::size_t step = std::max<std::size_t>((n + kPoints - 1) / kPoints, 1);
  std::vector<Point> result;
  for (std::size_t i = 0; i < n; ++i) {
    if (i % step != 0 && i + 1 != n) continue;
    const Point point{curve.x.empty() ? static_cast<double>(i) : curve.x[i], curve.y[i]};
    if (std::isfinite(point.x) && std::isfinite(point.y)) result.push_back(point);
  }
  return result;
}

/// A text as gnuplot takes it literally.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (char c : text) {
    if (c == '\'') result += c;
    result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return result + "'";
}

}  // namespace

std::string to_vegalite(const Chart& chart) {
  nlohmann::json values = nlohmann::json::array();
  nlohmann::json names = nlohmann::json::array();
  for (const Curve& curve : chart.curves) {
    names.push_back(curve.name);
    for (const Point& point : points(curve))
      values.push_back({{"curve", curve.name}, {"x", point.x}, {"y", point.y}});
  }
  const auto axis = [](const char* field, const std::string& title) {
    return nlohmann::json{
        {"field", field}, {"type", "quantitative"}, {"title", title}, {"scale", {{"zero", false}}}};
  };
  nlohmann::json colour{
      {"field", "curve"}, {"type", "nominal"}, {"title", nullptr}, {"sort", names}};
  if (chart.curves.size() < 2) colour["legend"] = nullptr;
  colour["scale"] = {{"range", {"#0072b2", "#d55e00", "#009e73", "#cc79a7"}}};
  const nlohmann::json specification{
      {"$schema", "https://vega.github.io/schema/vega-lite/v5.json"},
      {"title", chart.title},
      {"width", kWidth},
      {"height", kHeight},
      {"data", {{"values", values}}},
      {"mark", {{"type", "line"}, {"tooltip", true}}},
      {"encoding",
       {{"x", axis("x", chart.x_title)}, {"y", axis("y", chart.y_title)}, {"color", colour}}}};
  return specification.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string to_svg(const Chart& chart) {
  std::ostringstream script, curves;
  script.precision(12);
  const char* comma = "plot ";
  int drawn = 0;
  for (const Curve& curve : chart.curves) {
    const std::vector<Point> found = points(curve);
    if (found.empty()) continue;
    script << "$curve" << drawn << " << END\n";
    for (const Point& point : found) script << point.x << ' ' << point.y << '\n';
    script << "END\n";
    curves << comma << "$curve" << drawn << " with lines linewidth 2 title " << quoted(curve.name);
    comma = ", ";
    ++drawn;
  }
  if (drawn == 0) return {};
  const std::string setup =
      text("set encoding utf8\nset terminal svg noenhanced size ", kWidth + 80, ",", kHeight + 80,
           " font 'Helvetica,12' background 'white'\nset border 3\n",
           "set linetype 1 linecolor '#0072b2'\nset linetype 2 linecolor '#d55e00'\n",
           "set linetype 3 linecolor '#009e73'\nset linetype 4 linecolor '#cc79a7'\n",
           "set tics nomirror\nset grid back linecolor '#e0e0e0'\nset title ", quoted(chart.title),
           "\nset xlabel ", quoted(chart.x_title), "\nset ylabel ", quoted(chart.y_title), "\n",
           chart.curves.size() < 2 ? "set key off\n" : "");
  return svg_element(output_of("gnuplot", setup + script.str() + curves.str() + "\n"));
}

}  // namespace xtape
