// Curves as an SVG file, by gnuplot.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "../support/program.hpp"

namespace tiny_lm {

struct Curve {
  std::string title;
  std::vector<std::pair<double, double>> points;
};

/// Writes FOLDER/loss.gp, which has the numbers, and draws FOLDER/loss.svg from it. False where
/// there is no gnuplot, or not two points of any curve.
inline bool draw_chart(const std::filesystem::path& folder, const std::string& title,
                       const std::vector<Curve>& curves) {
  std::string text = R"gnuplot(# gnuplot loss.gp > loss.svg
set encoding utf8
set terminal svg size 800,520 font "Helvetica,16" background "white"
set xlabel "steps of training"
set ylabel "loss (bits per byte)"
set grid back linecolor "#e0e0e0"
set border 3
set tics nomirror
set key top right reverse Left samplen 3 spacing 1.2
set linetype 1 linecolor "#0072b2" linewidth 2
set linetype 2 linecolor "#d55e00" linewidth 2
set linetype 3 linecolor "#222222" linewidth 2
)gnuplot";
  text += "set title \"" + title + "\"\n";
  std::string plot;
  char line[100];
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (curves[i].points.size() < 2) continue;
    const std::string name = "$curve" + std::to_string(i);
    text += name + " << end\n";
    for (const auto& [x, y] : curves[i].points) {
      std::snprintf(line, sizeof line, "%g %.5f\n", x, y);
      text += line;
    }
    text += "end\n";
    plot +=
        (plot.empty() ? "plot " : ", ") + name + " with lines title \"" + curves[i].title + "\"";
  }
  demo::write_file(folder / "loss.gp", text + plot + "\n");
  if (plot.empty() || std::system("command -v gnuplot >/dev/null 2>&1") != 0) return false;
  // The folder's name is nobody's command: it is only gone to.
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  const bool drawn = std::system("gnuplot loss.gp >loss.svg.tmp") == 0;
  if (drawn) std::filesystem::rename("loss.svg.tmp", "loss.svg");
  std::filesystem::current_path(here);
  if (!drawn) throw demo::UserError("gnuplot could not draw " + (folder / "loss.svg").string());
  return true;
}

}  // namespace tiny_lm
