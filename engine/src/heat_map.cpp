// Heat maps and bars, drawn.
#include "heat_map.hpp"

#include <algorithm>
#include <cmath>

#include "svg.hpp"

namespace xtape::detail {

namespace {

constexpr int kLine = 18;       // a line of text
constexpr int kGap = 12;        // around the picture and between maps
constexpr int kReadable = 256;  // at most so many cells show their numbers

using Align = Svg::Align;

/// The largest finite magnitude: the end of the scale.
double largest(const std::vector<double>& values) {
  double result = 0;
  for (double v : values)
    if (std::isfinite(v)) result = std::max(result, std::abs(v));
  return result;
}

int widest(const std::vector<std::string>& texts) {
  int result = 0;
  for (const std::string& text : texts) result = std::max(result, Svg::width(text));
  return result;
}

/// A value as a part of the scale's end, in [-1, 1].
double share(double value, double scale) {
  if (std::isinf(value)) return value > 0 ? 1 : -1;
  return scale > 0 ? value / scale : value;  // 0 or NaN where there is no scale
}

/// The sizes of what a map consists of.
struct Layout {
  bool numbers, rotated;
  int cell_width, cell_height;
  int left, top;      // room for labels
  int width, height;  // of one map with its title and labels

  explicit Layout(const HeatMap& map) {
    const int longest = std::max({map.rows, map.columns, 1});
    numbers = static_cast<int>(map.panels.size()) * map.rows * map.columns <= kReadable &&
              map.columns <= 16;
    cell_height = numbers ? 22 : std::clamp((map.panels.size() > 1 ? 160 : 320) / longest, 4, 20);
    cell_width = cell_height;
    if (numbers) {
      cell_width = 28;
      for (const Panel& panel : map.panels)
        for (double v : panel.values)
          cell_width = std::max(cell_width, Svg::width(short_number(v)) + 8);
    }
    const bool room = cell_height >= 12;  // for a line of text
    const int widest_column = widest(map.column_labels);
    rotated = widest_column > cell_width;
    top = map.panels[0].title.empty() ? 0 : kLine;
    if (room && widest_column > 0) top += rotated ? widest_column + 6 : kLine;
    if (!map.column_title.empty()) top += kLine;
    left = room ? widest(map.row_labels) + 6 : 0;
    if (!map.row_title.empty()) left += kLine;
    width = left + std::max(map.columns * cell_width, Svg::width(map.panels[0].title));
    height = top + map.rows * cell_height;
  }
};

void draw_labels(Svg& svg, const HeatMap& map, const Layout& at, int x, int y) {
  const int middle_x = x + map.columns * at.cell_width / 2;
  const int middle_y = y + map.rows * at.cell_height / 2;
  if (!map.column_title.empty())
    svg.text(middle_x, y - at.top + (map.panels[0].title.empty() ? 0 : kLine) + kLine / 2,
             map.column_title, Align::middle, "#666");
  if (!map.row_title.empty())
    svg.text(x - at.left + kLine / 2, middle_y, map.row_title, Align::middle, "#666", true);
  if (at.cell_height < 12) return;
  for (std::size_t i = 0; i < map.row_labels.size(); ++i)
    svg.text(x - 4, y + static_cast<int>(i) * at.cell_height + at.cell_height / 2,
             map.row_labels[i], Align::end);
  for (std::size_t j = 0; j < map.column_labels.size(); ++j)
    svg.text(x + static_cast<int>(j) * at.cell_width + at.cell_width / 2, y - (at.rotated ? 4 : 9),
             map.column_labels[j], at.rotated ? Align::start : Align::middle, "#222", at.rotated);
}

/// How many cells are hidden from the k-th on, of the `rest` of its row.
int hidden_run(const Panel& panel, std::size_t k, int rest) {
  int run = 0;
  while (!panel.hidden.empty() && run < rest && panel.hidden[k + static_cast<std::size_t>(run)])
    ++run;
  return run;
}

void draw_panel(Svg& svg, const HeatMap& map, const Layout& at, const Panel& panel, double scale,
                int x, int y) {
  if (!panel.title.empty()) svg.text(x, y - at.top + kLine / 2, panel.title, Align::start, "#666");
  draw_labels(svg, map, at, x, y);
  for (int i = 0; i < map.rows; ++i)
    for (int j = 0; j < map.columns; ++j) {
      const auto k = static_cast<std::size_t>(i * map.columns + j);
      const int left = x + j * at.cell_width, top = y + i * at.cell_height;
      const int run = hidden_run(panel, k, map.columns - j);
      if (run > 0) {
        svg.hatch(left, top, run * at.cell_width, at.cell_height);
        j += run - 1;
        continue;
      }
      const double part = share(panel.values[k], scale);
      svg.rectangle(left, top, at.cell_width, at.cell_height, colour(part));
      if (at.numbers)
        svg.text(left + at.cell_width / 2, top + at.cell_height / 2, short_number(panel.values[k]),
                 Align::middle, ink(part));
    }
  const int right = x + map.columns * at.cell_width, bottom = y + map.rows * at.cell_height;
  svg.line(x, y, right, y);
  svg.line(x, bottom, right, bottom);
  svg.line(x, y, x, bottom);
  svg.line(right, y, right, bottom);
}

/// The scale from -end (or 0, where nothing is negative) to end; returns its width.
int draw_legend(Svg& svg, int x, int y, double end, bool negative) {
  constexpr int kSteps = 16, kStep = 6, kHeight = 10;
  const std::string low = short_number(negative ? -end : 0), high = short_number(end);
  svg.text(x, y + kHeight / 2, low);
  const int start = x + Svg::width(low) + 6;
  const int first = negative ? -kSteps : 0;
  for (int i = first; i <= kSteps; ++i)
    svg.rectangle(start + (i - first) * kStep, y, kStep, kHeight,
                  colour(static_cast<double>(i) / kSteps));
  const int stop = start + (kSteps - first + 1) * kStep + 6;
  svg.text(stop, y + kHeight / 2, high);
  return stop + Svg::width(high) - x;
}

}  // namespace

std::string draw(const HeatMap& map) {
  Svg svg;
  double scale = 0;
  bool negative = false;
  for (const Panel& panel : map.panels) {
    scale = std::max(scale, largest(panel.values));
    for (double v : panel.values) negative = negative || v < 0;
  }
  int width = 0, y = kGap;
  if (!map.title.empty()) {
    svg.text(kGap, y + kLine / 2, map.title);
    width = Svg::width(map.title);
    y += kLine + 4;
  }
  if (!map.panels.empty()) {
    const Layout at(map);
    const int count = static_cast<int>(map.panels.size()), across = std::min(map.across, count);
    for (int i = 0; i < count; ++i)
      draw_panel(svg, map, at, map.panels[static_cast<std::size_t>(i)], scale,
                 kGap + i % across * (at.width + kGap) + at.left,
                 y + i / across * (at.height + kGap) + at.top);
    width = std::max(width, across * (at.width + kGap) - kGap);
    y += (count + across - 1) / across * (at.height + kGap);
    if (map.rows * map.columns * count > 1) {
      width = std::max(width, draw_legend(svg, kGap, y, scale, negative));
      y += kLine;
    }
  }
  svg.text(kGap, y + kLine / 2, map.caption, Align::start, "#666");
  width = std::max(width, Svg::width(map.caption));
  return svg.finish(width + 2 * kGap, y + kLine + kGap,
                    map.title.empty() ? map.caption : map.title + ": " + map.caption);
}

std::string draw(const Bars& bars) {
  constexpr int kHeight = 120;
  Svg svg;
  const bool numbers = bars.values.size() <= 16;
  double low = 0, high = 0;
  int step = numbers ? 28 : 10;
  for (double v : bars.values) {
    if (numbers) step = std::max(step, Svg::width(short_number(v)) + 8);
    if (!std::isfinite(v)) continue;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  const double range = high > low ? high - low : 1;
  const auto height = [range](double v) {
    return static_cast<int>(std::lround(v / range * kHeight));
  };
  const int zero = kGap + kLine + height(high);
  int x = kGap;
  for (std::size_t i = 0; i < bars.values.size(); ++i, x += step) {
    const double v = bars.values[i];
    const int length = std::isfinite(v) ? height(v) : 0;
    svg.rectangle(x + 2, zero - std::max(length, 0), step - 4, std::abs(length),
                  colour(v < 0 ? -1 : 1));
    if (numbers)
      svg.text(x + step / 2, zero - length + (v < 0 ? 9 : -9), short_number(v), Align::middle);
    if (numbers && !bars.labels.empty())
      svg.text(x + step / 2, kGap + 2 * kLine + kHeight + kLine / 2, bars.labels[i], Align::middle,
               "#666");
  }
  svg.line(kGap, zero, x, zero);
  const int y = kGap + 3 * kLine + kHeight;
  svg.text(kGap, y + kLine / 2, bars.caption, Align::start, "#666");
  return svg.finish(std::max(x, kGap + Svg::width(bars.caption)) + kGap, y + kLine + kGap,
                    bars.caption);
}

}  // namespace xtape::detail
