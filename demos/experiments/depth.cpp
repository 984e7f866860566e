// What is left of a shared disturbance and of a signal after layers of differential attention, for
// maps that are identical, nearly identical, or independent.
//
//   O_l = (A1_l - lambda A2_l) O_(l-1),    O_0 = signal + the same vector c at every token
//
// Each layer passes (1 - lambda) of the disturbance, whatever its maps. Of the signal it passes
// what the maps differ in: near lambda = 1 that is a small difference of large numbers, where float
// loses the digits that the maps have in common.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>
#include <xtape/xtape.hpp>

#include "support/chart.hpp"
#include "support/claims.hpp"
#include "support/program.hpp"

using namespace xtape;

namespace {

struct Options {
  std::int64_t layers = 4, seed = 1;
  double difference = 0.01;
  std::string folder = "out";
};

const char* const kIdentical = "identical";
const char* const kNearly = "nearly identical";
const char* const kIndependent = "independent";
constexpr std::int64_t kTokens = 32, kFeatures = 16;

struct Layer {
  Tensor<double> q1, k1, q2, k2;  // [1, 1, T, D]
};

/// Layers of a kind: the second map's queries and keys are the first's, plus a part that is drawn,
/// or, where `difference` is 1, drawn alone.
std::vector<Layer> make_layers(const Options& o, double difference) {
  Random random(static_cast<std::uint64_t>(o.seed));
  const auto draw = [&] { return random.normal<double>({1, 1, kTokens, kFeatures}, 0, 1.5); };
  std::vector<Layer> layers;
  for (std::int64_t i = 0; i < o.layers; ++i) {
    const auto q = draw(), k = draw(), other_q = draw(), other_k = draw();
    const double same = std::sqrt(1 - difference * difference);  // keeps the deviation
    layers.push_back({q, k, same * q + difference * other_q, same * k + difference * other_k});
  }
  return layers;
}

double largest(const Tensor<double>& x) { return max(abs(x)).item(); }
double gain(const Tensor<double>& y, const Tensor<double>& x) { return (norm(y) / norm(x)).item(); }

/// What a stack of layers does to signal and disturbance in T.
struct Response {
  double disturbance, signal;  // |O(s + c) - O(s)| / |c|, |O(s)| / |s|
  double error;                // the largest of |O(s + c) - O(s) - (1 - lambda)^depth c| / max |c|
  Tensor<double> both;         // O(s + c)
};

template <class T>
Response respond(const std::vector<Layer>& layers, double lambda, const Tensor<double>& signal,
                 const Tensor<double>& disturbance) {
  const auto output = [&](const Tensor<double>& input) {
    Tensor<T> x = cast<T>(input);
    for (const Layer& l : layers)
      x = fused::differential_attention(cast<T>(l.q1), cast<T>(l.k1), cast<T>(l.q2), cast<T>(l.k2),
                                        x, lambda, false);
    return cast<double>(x);
  };
  const auto alone = output(signal), both = output(signal + disturbance), change = both - alone;
  const auto expected = std::pow(1 - lambda, layers.size()) * disturbance;
  return {gain(change, disturbance), gain(alone, signal),
          largest(change - expected) / largest(disturbance), both};
}

struct Row {
  std::string maps;
  std::size_t layers;
  double lambda;
  Response in_float, in_double;
  double lost;  // the largest difference of float's O(s + c) from double's, over its largest value
};

std::vector<Row> measure(const Options& o) {
  Random random(static_cast<std::uint64_t>(o.seed) + 1000);
  const Shape shape{1, 1, kTokens, 2 * kFeatures};
  const auto drawn = random.normal<double>(shape);
  const auto signal = drawn - mean(drawn, 2, true);  // shared by the tokens: nothing
  const auto disturbance =
      broadcast_to(random.normal<double>({1, 1, 1, 2 * kFeatures}, 0, 10), shape);
  std::vector<Row> rows;
  const std::pair<const char*, double> kinds[] = {
      {kIdentical, 0}, {kNearly, o.difference}, {kIndependent, 1}};
  for (const auto& [maps, difference] : kinds) {
    const std::vector<Layer> all = make_layers(o, difference);
    for (std::size_t depth : {std::size_t{1}, all.size()})
      for (int i = 0; i <= 14; ++i) {
        const std::vector<Layer> layers(all.begin(),
                                        all.begin() + static_cast<std::ptrdiff_t>(depth));
        Row row{maps, depth, i / 10.0, {}, {}, 0};
        row.in_float = respond<float>(layers, row.lambda, signal, disturbance);
        row.in_double = respond<double>(layers, row.lambda, signal, disturbance);
        const double lost = largest(row.in_float.both - row.in_double.both);
        if (lost > 0) row.lost = lost / largest(row.in_double.both);
        rows.push_back(row);
      }
  }
  return rows;
}

std::string csv(const std::vector<Row>& rows) {
  std::string text =
      "maps,layers,lambda,disturbance_float,disturbance_double,signal_float,signal_double,"
      "lost_float\n";
  for (const Row& r : rows) {
    char line[200];
    std::snprintf(line, sizeof line, "%s,%zu,%.1f,%.6g,%.6g,%.6g,%.6g,%.2g\n", r.maps.c_str(),
                  r.layers, r.lambda, r.in_float.disturbance, r.in_double.disturbance,
                  r.in_float.signal, r.in_double.signal, r.lost);
    text += line;
  }
  return text;
}

const char* const plot = R"gnuplot(# gnuplot depth.gp > depth.svg
set encoding utf8
set terminal svg size 1200,560 font "Helvetica,14" background "white"
set datafile separator ","
set multiplot layout 1,3
set xlabel "λ (dimensionless)"
set xrange [0:1.4]
set xtics 0.2
set logscale y
set format y "10^{%T}"
set grid back linecolor "#e0e0e0"
set border 3
set tics nomirror
set key below left reverse Left maxcols 1 samplen 2 spacing 1.1
set style line 1 linecolor "#d55e00" linewidth 2 pointtype 4 pointsize 1
set style line 2 linecolor "#cc79a7" linewidth 2 pointtype 9 pointsize 0.6
set style line 3 linecolor "#0072b2" linewidth 2 pointtype 7 pointsize 0.5
set style line 4 linecolor "#222222" linewidth 2 dashtype 2
maps = "'identical' 'nearly identical' 'independent'"
is(name, layers) = strcol(1) eq name && column(2) == layers
set ylabel "gain in double: output / input (dimensionless)"
set yrange [1e-9:2]
do for [layers=1:deep:deep-1] {
  set title (layers == 1 ? "One layer" : sprintf("%d layers", layers))
  plot for [i=1:3] "depth.csv" skip 1 \
    using 3:(is(word(maps, i), layers) ? $7 : NaN) with linespoints linestyle i \
    title "signal, " . word(maps, i) . " maps", \
    abs(1 - x) ** layers with lines linestyle 4 title "shared disturbance"
}
set title sprintf("What float loses, %d layers", deep)
set ylabel "error of float, relative to the largest output (dimensionless)"
set yrange [1e-7:1e-3]
plot for [i=1:3] "depth.csv" skip 1 \
  using 3:(is(word(maps, i), deep) && $8 > 0 ? $8 : NaN) with linespoints linestyle i \
  title word(maps, i) . " maps"
)gnuplot";

/// The row of a kind of maps.
const Row& find(const std::vector<Row>& rows, const std::string& maps, std::size_t layers,
                double lambda) {
  return *std::find_if(rows.begin(), rows.end(), [&](const Row& r) {
    return r.maps == maps && r.layers == layers && r.lambda == lambda;
  });
}

/// Says what the rows show; returns the exit code.
int read(const std::vector<Row>& rows, std::size_t deep) {
  // The share of ordinary attention's signal that is left at lambda = 1.
  const auto left = [&](const char* maps, std::size_t layers) {
    return find(rows, maps, layers, 1).in_double.signal /
           find(rows, maps, layers, 0).in_double.signal;
  };
  demo::Claims claims;
  double error_float = 0, error_double = 0, unlike = 0;
  for (const Row& r : rows) {
    error_float = std::max(error_float, r.in_float.error);
    error_double = std::max(error_double, r.in_double.error);
    if (r.maps != kIdentical) continue;
    const double ordinary = find(rows, kIdentical, r.layers, 0).in_double.signal;
    const double passed = std::pow(std::abs(1 - r.lambda), r.layers);
    unlike = std::max(unlike, std::abs(r.in_double.signal / ordinary - passed));
  }
  std::printf(
      "A layer passes 1 - lambda of a shared disturbance, whatever its maps: off by %.1e "
      "in float\n(2e-5 allowed) and %.1e in double (1e-12 allowed)",
      error_float, error_double);
  claims.hold_if(error_float <= 2e-5 && error_double <= 1e-12);

  std::printf(
      "Identical maps pass as little of the signal, so nothing is gained: off by %.1e, 1e-12 "
      "allowed",
      unlike);
  claims.hold_if(unlike <= 1e-12);

  std::printf(
      "Nearly identical maps at lambda = 1 pass %.2g of the signal that ordinary attention "
      "passes,\n%.2g after %zu layers: at most 0.1, but not nothing",
      left(kNearly, 1), left(kNearly, deep), deep);
  claims.hold_if(left(kNearly, 1) <= 0.1 && left(kNearly, deep) <= 0.1 && left(kNearly, deep) > 0);

  const double before = find(rows, kNearly, deep, 0).lost,
               after = find(rows, kNearly, deep, 1).lost;
  std::printf(
      "There float is off by %.1e of the result, %.1e at lambda = 0: at least 10 times as "
      "much",
      after, before);
  claims.hold_if(after >= 10 * before);

  std::printf(
      "Independent maps at lambda = 1 pass %.2f of it, %.2f after %zu layers: at least 0.5 and 0.1",
      left(kIndependent, 1), left(kIndependent, deep), deep);
  claims.hold_if(left(kIndependent, 1) >= 0.5 && left(kIndependent, deep) >= 0.1);
  return claims.exit_code();
}

int compare(const Options& o) {
  const std::vector<Row> rows = measure(o);
  const auto deep = static_cast<std::size_t>(o.layers);
  std::printf("                              at lambda = 1                    at lambda = 0\n");
  std::printf("maps              layers      disturbance     signal           signal\n");
  for (const char* maps : {kIdentical, kNearly, kIndependent})
    for (std::size_t layers : {std::size_t{1}, deep}) {
      const Row &here = find(rows, maps, layers, 1), &ordinary = find(rows, maps, layers, 0);
      std::printf("%-16s  %6zu      %11.2g  %9.2g        %9.2g\n", maps, layers,
                  here.in_double.disturbance, here.in_double.signal, ordinary.in_double.signal);
    }
  std::printf("\n");
  const int code = read(rows, deep);
  std::printf("\n");
  demo::write_table(o.folder, "depth.csv", csv(rows));
  demo::write_chart(o.folder, "depth", "deep = " + std::to_string(deep) + "\n" + plot);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Shows what layers of differential attention leave of a shared disturbance.",
               "depth");
  app.option_defaults()->always_capture_default();
  app.add_option("--layers", o.layers, "Layers of the deeper stack")->check(CLI::Range(2, 100));
  app.add_option("--difference", o.difference, "Of nearly identical maps")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--seed", o.seed, "Of all random numbers")->check(CLI::NonNegativeNumber);
  app.add_option("--out", o.folder, "Folder for the table and the chart");
  return demo::run(app, argc, argv, [&] { return compare(o); });
}
