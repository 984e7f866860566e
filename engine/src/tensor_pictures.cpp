// Tensors and attention maps as pictures and formulas: which values are shown, under which labels.
#include <xtape/pictures.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "heat_map.hpp"
#include "storage.hpp"
#include "svg.hpp"

namespace xtape {

using namespace detail;

namespace {

constexpr std::int64_t kBars = 64, kCells = 32, kSlices = 16;
constexpr std::int64_t kTerms = 8, kEdge = 3, kDots = -1;  // of a formula's rows and columns

/// Which of n positions are shown: all, or every k-th, so that at most `limit` are left.
struct Picked {
  std::int64_t step, count;
  Picked(std::int64_t n, std::int64_t limit)
      : step(std::max<std::int64_t>((n + limit - 1) / limit, 1)), count((n + step - 1) / step) {}
};

std::string every(const char* what, const Picked& picked) {
  return picked.step == 1 ? "" : text("; one ", what, " in ", picked.step, " shown");
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

std::vector<std::string> positions(const Picked& picked) {
  std::vector<std::string> result;
  for (std::int64_t i = 0; i < picked.count; ++i) result.push_back(std::to_string(i * picked.step));
  return result;
}

/// The picked ones of a label for each position; numbers where no labels are given.
std::vector<std::string> labels(const std::vector<std::string>& given, const Picked& picked) {
  if (given.empty()) return positions(picked);
  std::vector<std::string> result;
  for (std::int64_t i = 0; i < picked.count; ++i) {
    std::string label = given[static_cast<std::size_t>(i * picked.step)];
    if (label == " ") label = "␣";
    if (label == "\n") label = "↵";
    result.push_back(label);
  }
  return result;
}

/// The maps over the last two axes, a panel for each position along those before.
HeatMap maps(const Shape& shape, const std::vector<double>& values) {
  const Shape outer(shape.begin(), shape.end() - std::min(static_cast<std::ptrdiff_t>(shape.size()),
                                                          std::ptrdiff_t{2}));
  const std::int64_t m = shape.size() < 2 ? 1 : shape[shape.size() - 2];
  const std::int64_t n = shape.empty() ? 1 : shape.back();
  const Picked rows(m, kCells), columns(n, kCells);
  std::int64_t slices = 1;
  for (std::int64_t length : outer) slices *= length;

  HeatMap map;
  map.rows = static_cast<int>(rows.count);
  map.columns = static_cast<int>(columns.count);
  map.across = outer.empty() || outer.back() > 8 ? 4 : static_cast<int>(outer.back());
  for (std::int64_t s = 0; s < std::min(slices, kSlices); ++s) {
    Panel panel;
    Shape position(outer.size());
    for (std::size_t axis = outer.size(), rest = static_cast<std::size_t>(s); axis-- > 0;) {
      const auto length = static_cast<std::size_t>(outer[axis]);
      position[axis] = static_cast<std::int64_t>(rest % length);
      rest /= length;
    }
    if (!outer.empty()) panel.title = to_string(position);
    for (std::int64_t i = 0; i < rows.count; ++i)
      for (std::int64_t j = 0; j < columns.count; ++j)
        panel.values.push_back(
            values[static_cast<std::size_t>((s * m + i * rows.step) * n + j * columns.step)]);
    map.panels.push_back(std::move(panel));
  }
  map.caption = every("row", rows) + every("column", columns) +
                (slices > kSlices ? text("; the first ", kSlices, " of ", slices, " slices") : "");
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
    const Picked picked(x.size(), kBars);
    Bars bars;
    for (std::int64_t i = 0; i < picked.count; ++i)
      bars.values.push_back(values[static_cast<std::size_t>(i * picked.step)]);
    bars.labels = positions(picked);
    bars.caption = summary(x, values) + every("value", picked);
    return draw(bars);
  }
  HeatMap map;
  if (!values.empty()) map = maps(x.shape(), values);
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
  const Shape shape = map.weights.shape();
  const std::vector<double> values = numbers(map.weights.values());
  HeatMap picture;
  if (!values.empty()) {
    const std::int64_t queries = shape[shape.size() - 2], keys = shape.back();
    const Picked rows(queries, kCells), columns(keys, kCells);
    picture = maps(shape, values);
    picture.row_labels = labels(map.queries, rows);
    picture.column_labels =
        labels(map.keys.empty() && queries == keys ? map.queries : map.keys, columns);
    picture.row_title = "queries";
    picture.column_title = "keys";
    if (map.allowed.has_value()) {
      std::vector<bool> hidden;
      for (std::int64_t i = 0; i < rows.count; ++i)
        for (std::int64_t j = 0; j < columns.count; ++j)
          hidden.push_back(!map.allowed.at({i * rows.step, j * columns.step}));
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
