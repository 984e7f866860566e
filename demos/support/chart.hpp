// A demo's table and its chart, drawn by gnuplot where that is installed.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "program.hpp"

namespace demo {

/// Writes folder/name; says where.
inline void write_table(const std::filesystem::path& folder, const std::string& name,
                        const std::string& csv) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw UserError("cannot make " + folder.string() + ": " + error.message());
  write_file(folder / name, csv);
  std::printf("table: %s\n", (folder / name).string().c_str());
}

/// Writes folder/NAME.gp and draws folder/NAME.svg from it and the tables there; says where.
inline void write_chart(const std::filesystem::path& folder, const std::string& name,
                        const std::string& plot) {
  write_file(folder / (name + ".gp"), plot);
  if (std::system("command -v gnuplot >/dev/null 2>&1") != 0) {
    std::printf("chart: none, since gnuplot was not found\n");
    return;
  }
  const std::filesystem::path chart = folder / (name + ".svg");
  const std::filesystem::path back = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  const bool drawn = std::system(("gnuplot " + name + ".gp >" + name + ".svg.tmp").c_str()) == 0;
  if (drawn) std::filesystem::rename(name + ".svg.tmp", name + ".svg");
  std::filesystem::current_path(back);
  if (!drawn) throw UserError("gnuplot could not draw " + chart.string());
  std::printf("chart: %s\n", chart.string().c_str());
}

}  // namespace demo
