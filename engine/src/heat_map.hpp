// Heat maps, one or a grid of them, and bars: numbers in, SVG out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace xtape::detail {

/// One map. `hidden` cells are hatched; empty for none.
struct Panel {
  std::string title;
  std::vector<double> values;
  std::vector<bool> hidden;
};

/// Maps of one size on one scale, in rows of `across`.
struct HeatMap {
  std::vector<Panel> panels;
  int across = 1;
  int rows = 0, columns = 0;
  std::vector<std::string> row_labels, column_labels;  // empty for none
  std::string row_title, column_title;
  std::string title, caption;
};
std::string draw(const HeatMap& map);

/// A row of bars above and below zero.
struct Bars {
  std::vector<double> values;
  std::vector<std::string> labels;
  std::string caption;
};
std::string draw(const Bars& bars);

}  // namespace xtape::detail
