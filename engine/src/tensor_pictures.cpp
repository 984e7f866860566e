// Tensors and attention maps as pictures and formulas: which values are shown, under which labels.
#include <xtape/pictures.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "grid.hpp"
#include "heat_map.hpp"
#include "storage.hpp"
#include "svg.hpp"

namespace xtape {

using namespace detail;

namespace {

constexpr std::int64_t kBars = 64, kCells = 32, kSlices = 16;
constexpr std::int64_t kTerms = 8, kEdge = 3, kDots = -1;  // of a formula's rows and columns

std::string part_of(const char* what, const Shown& shown) {
  return shown.count == shown.whole
             ? ""
             : text("; ", shown.count, " of ", shown.whole, " ", what, " shown");
}

template <class E>
const char* type_name(const E&) {
  return std::is_same_v<E, float>    ? "f32"
         : std::is_same_v<E, double> ? "f64"
         : std::is_same_v<E, bool>   ? "mask"
                                     : "index";
}

std::vector<double> numbers(const std::vector<bool>& values) {
  return {values.begin(), values.end()};
}
template <class E>
std::vector<double> numbers(const std::vector<E>& values) {
  std::vector<double> result;
  result.reserve(values.size());
  for (E v : values) result.push_back(static_cast<double>(v));
  return result;
}

/// `f64[2, 3], from -1 to 5, mean 2`
template <class E>
std::string summary(const Array<E>& x, const std::vector<double>& values) {
  const std::string type = type_name(E()) + to_string(x.shape());
  if (values.empty()) return type + ", no values";
  double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0;
  std::int64_t bad = 0;
  for (double v : values) {
    low = std::min(low, v);
    high = std::max(high, v);
    sum += v;
    bad += !std::isfinite(v);
  }
  const double mean = sum / static_cast<double>(values.size());
  if (values.size() == 1) return type;
  return type + ", from " + short_number(low) + " to " + short_number(high) + ", mean " +
         short_number(mean) + (bad == 0 ? "" : text("; ", bad, " not finite"));
}

std::vector<std::string> positions(const Shown& shown) {
  std::vector<std::string> result;
  for (std::int64_t i = 0; i < shown.count; ++i)
    result.push_back(std::to_string(shown.position(i)));
  return result;
}

/// A label for each position that is shown; numbers where no labels are given.
std::vector<std::string> labels(const std::vector<std::string>& given, const Shown& shown) {
  if (given.empty()) return positions(shown);
  std::vector<std::string> result;
  for (std::int64_t i = 0; i < shown.count; ++i) {
    std::string label = given[static_cast<std::size_t>(shown.position(i))];
    if (label == " ") label = "␣";
    if (label == "\n") label = "↵";
    result.push_back(label);
  }
  return result;
}

/// The maps over the last two axes, a panel for each position along those before.
HeatMap maps(const Grid& grid, const std::vector<double>& values) {
  const Shape& outer = grid.outer;
  HeatMap map;
  map.rows = static_cast<int>(grid.rows.count);
  map.columns = static_cast<int>(grid.columns.count);
  map.across = outer.empty() || outer.back() > 8 ? 4 : static_cast<int>(outer.back());
  for (std::int64_t s = 0; s < grid.slices.count; ++s) {
    Panel panel;
    if (!outer.empty()) panel.title = to_string(position(grid.slices.position(s), outer));
    panel.values = grid.slice(values, s);
    map.panels.push_back(std::move(panel));
  }
  map.caption = part_of("rows", grid.rows) + part_of("columns", grid.columns) +
                part_of("slices", grid.slices);
  return map;
}

/// A number as formulas have it: 1.5 \cdot 10^{-7}.
std::string formula_number(double value) {
  if (std::isnan(value)) return "\\mathrm{nan}";
  if (std::isinf(value)) return value > 0 ? "\\infty" : "-\\infty";
  const std::string digits = short_number(value);
  const std::size_t e = digits.find('e');
  if (e == std::string::npos) return digits;
  return text(digits.substr(0, e), " \\cdot 10^{", std::stoi(digits.substr(e + 1)), "}");
}

/// The positions along an axis that a formula writes: all, or those at both ends around dots.
std::vector<std::int64_t> written(std::int64_t n) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < n; ++i) {
    if (n > kTerms && i == kEdge) {
      result.push_back(kDots);
      i = n - kEdge;
    }
    result.push_back(i);
  }
  return result;
}

template <class T>
void check(const AttentionMap<T>& map) {
  const Shape shape = map.weights.shape();
  if (shape.size() < 2)
    fail("to_svg", "an attention map's weights ", shape, ": [..., Tq, Tk] is required.");
  const std::int64_t queries = shape[shape.size() - 2], keys = shape.back();
  const auto fits = [](const std::vector<std::string>& names, std::int64_t n) {
    return names.empty() || static_cast<std::int64_t>(names.size()) == n;
  };
  if (!fits(map.queries, queries) || !fits(map.keys, keys))
    fail("to_svg", map.queries.size(), " labels of queries and ", map.keys.size(),
         " of keys for weights ", shape, ": one each is required, or none.");
  if (map.allowed.has_value() && map.allowed.shape() != Shape{queries, keys})
    fail("to_svg", "a mask ", map.allowed.shape(), " for weights ", shape, ": ",
         Shape{queries, keys}, " is required.");
}

}  // namespace

template <class E>
std::string to_svg(const Array<E>& x) {
  const std::vector<double> values = numbers(x.values());
  if (x.rank() == 1 && !values.empty()) {
    const Grid grid(x.shape(), 1, kBars);
    Bars bars;
    bars.values = grid.slice(values, 0);
    bars.labels = positions(grid.columns);
    bars.caption = summary(x, values) + part_of("values", grid.columns);
    return draw(bars);
  }
  HeatMap map;
  if (!values.empty()) map = maps(Grid(x.shape(), kSlices, kCells), values);
  map.caption = summary(x, values) + map.caption;
  return draw(map);
}

template <class E>
std::string to_latex(const Array<E>& x) {
  const std::vector<double> values = numbers(x.values());
  if (x.rank() > 2 || values.empty()) return "\\text{" + summary(x, values) + "}";
  if (x.rank() == 0) return formula_number(values[0]);
  const std::int64_t m = x.rank() == 1 ? 1 : x.dim(0), n = x.dim(-1);
  std::string latex = "\\begin{bmatrix}";
  const char* before = " ";
  for (std::int64_t i : written(m)) {
    for (std::int64_t j : written(n)) {
      latex += before;
      if (i == kDots)
        latex += j == kDots ? "\\ddots" : "\\vdots";
      else
        latex +=
            j == kDots ? "\\cdots" : formula_number(values[static_cast<std::size_t>(i * n + j)]);
      before = " & ";
    }
    before = " \\\\ ";
  }
  latex += " \\end{bmatrix}";
  return std::max(m, n) > kTerms ? text(latex, "_{", m, " \\times ", n, "}") : latex;
}

template <class T>
std::string to_svg(const AttentionMap<T>& map) {
  check(map);
  const std::vector<double> values = numbers(map.weights.values());
  HeatMap picture;
  if (!values.empty()) {
    const Grid grid(map.weights.shape(), kSlices, kCells);
    const bool square = grid.rows.whole == grid.columns.whole;
    picture = maps(grid, values);
    picture.row_labels = labels(map.queries, grid.rows);
    picture.column_labels =
        labels(map.keys.empty() && square ? map.queries : map.keys, grid.columns);
    picture.row_title = "queries";
    picture.column_title = "keys";
    if (map.allowed.has_value()) {
      std::vector<bool> hidden =
          Grid(map.allowed.shape(), 1, kCells).slice(map.allowed.values(), 0);
      hidden.flip();
      for (Panel& panel : picture.panels) {
        panel.hidden = hidden;
        for (std::size_t i = 0; i < hidden.size(); ++i)
          if (hidden[i]) panel.values[i] = 0;  // the scale is that of what is seen
      }
    }
  }
  picture.title = map.title;
  picture.caption = summary<T>(map.weights, values) + picture.caption;
  return draw(picture);
}

#define XTAPE_INSTANTIATE(E)                    \
  template std::string to_svg(const Array<E>&); \
  template std::string to_latex(const Array<E>&);
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
XTAPE_INSTANTIATE(bool)
XTAPE_INSTANTIATE(std::int64_t)
#undef XTAPE_INSTANTIATE

template std::string to_svg(const AttentionMap<float>&);
template std::string to_svg(const AttentionMap<double>&);

}  // namespace xtape
