// What the subtraction in differential attention cancels, on four tokens.
//
//   O = (A1 - lambda A2) V.    A1 looks for token 1, which carries a signal; A2 looks nowhere.
//
// The rows of each map sum to 1, so an offset that all values share comes out (1 - lambda) times as
// large: at lambda = 1 it is gone. The signal is kept where the maps differ; where they are the
// same it goes the way of the offset.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>
#include <xtape/xtape.hpp>

#include "support/chart.hpp"
#include "support/claims.hpp"
#include "support/program.hpp"

using namespace xtape;

namespace {

struct Maps {
  Tensor<double> q1, k1, q2, k2;  // one query [1, 1, 1, 2] and four keys [1, 1, 4, 2] each
};

/// What one lambda does to offset and signal. A gain is how much of a vector comes out along it.
struct Response {
  double offset_gain, offset_error;  // the error: the largest |O(s + c) - O(s) - (1 - lambda) c|
  double signal_gain;
  double slope, slope_formula;  // d signal_gain / d lambda: by the tape and by hand
};

struct Row {
  double lambda;
  Response differ, same;
};

Tensor<double> gain(const Tensor<double>& o, const Tensor<double>& v) {
  return sum(o * v) / sum(v * v);
}

double largest(const Tensor<double>& x) { return std::sqrt(max(square(x)).item()); }

Response respond(const Maps& m, double lambda, const Tensor<double>& signal,
                 const Tensor<double>& offset, const std::string& trace_file = {}) {
  Tape<double> tape(trace_file.empty() ? Keep::needed : Keep::values);
  const auto coefficient = tape.variable(lambda, "lambda");
  const auto output = [&](const Tensor<double>& values) {
    return differential_attention(m.q1, m.k1, m.q2, m.k2, values, coefficient, false);
  };
  const Tensor<double> token_1{{{{0}, {1}, {0}, {0}}}};
  const Tensor<double> values = token_1 * signal;  // [1, 1, 4, 4]
  const Tensor<double> o = output(values);
  const Tensor<double> signal_gain = gain(o, signal);
  const Tensor<double> change = output(values + offset) - o;

  Response r;
  r.offset_gain = gain(change, offset).item();
  r.offset_error = largest(change - (1 - lambda) * offset);
  r.signal_gain = signal_gain.item();
  r.slope = tape.gradient(signal_gain, coefficient).item();
  demo::write_trace(trace_file, tape, signal_gain, "The signal's gain in differential attention");
  // dlambda = -sum(G * (A2 V)), and here G = s / sum(s s).
  r.slope_formula = -gain(attention(m.q2, m.k2, values, false), signal).item();
  return r;
}

std::string csv(const std::vector<Row>& rows) {
  std::string text =
      "lambda,offset_gain_differ,offset_gain_same,signal_gain_differ,signal_gain_same,"
      "signal_slope_differ,signal_slope_same\n";
  char line[200];
  for (const auto& [lambda, differ, same] : rows) {
    std::snprintf(line, sizeof line, "%.1f,%.15g,%.15g,%.15g,%.15g,%.15g,%.15g\n", lambda,
                  differ.offset_gain, same.offset_gain, differ.signal_gain, same.signal_gain,
                  differ.slope, same.slope);
    text += line;
  }
  return text;
}

const char* const plot = R"gnuplot(# gnuplot cancellation.gp > cancellation.svg
set encoding utf8
set terminal svg size 800,520 font "Helvetica,16" background "white"
set datafile separator ","
set title "Differential attention on four tokens: what is kept, and what cancels"
set xlabel "λ, the weight of the second map (dimensionless)"
set ylabel "gain: output / input (dimensionless)"
set xrange [0:1]
set yrange [0:1.05]
set xtics 0.1
set ytics 0.2
set grid back linecolor "#e0e0e0"
set border 3
set tics nomirror
set key top right reverse Left samplen 3 spacing 1.2
set style line 1 linecolor "#0072b2" linewidth 2 pointtype 7 pointsize 0.6
set style line 2 linecolor "#d55e00" linewidth 2 pointtype 5 pointsize 0.6
set style line 3 linecolor "#222222" linewidth 2 pointtype 6 pointsize 0.9
plot "cancellation.csv" skip 1 using 1:4 with linespoints linestyle 1 title "signal, maps differ", \
     "" skip 1 using 1:5 with linespoints linestyle 2 title "signal, maps the same", \
     "" skip 1 using 1:2 with points linestyle 3 title "shared offset", \
     1 - x with lines linecolor "#999999" dashtype 2 title "1 - λ"
)gnuplot";

int compare(const std::string& folder, const std::string& trace_file) {
  const Tensor<double> signal{1, -2, 0.5, 3};  // the value of token 1; the others' are zero
  const Tensor<double> offset{10, -4, 7, 1};   // added to every value

  Maps differ;
  differ.q1 = {{{{2, 0}}}};
  differ.k1 = {{{{0, 1}, {2, 0}, {0, -1}, {0.5, 0}}}};  // token 1 points where the query does
  differ.q2 = {{{{0.5, 0.5}}}};
  differ.k2 = {{{{1, 0}, {0, 1}, {1, 0}, {0, 1}}}};  // all logits are equal
  const Maps same{differ.q1, differ.k1, differ.q1, differ.k1};

  std::vector<Row> rows;
  for (int i = 0; i <= 10; ++i) {
    const double lambda = i / 10.0;
    rows.push_back(
        {lambda, respond(differ, lambda, signal, offset), respond(same, lambda, signal, offset)});
  }

  std::printf("        gain of a shared offset     gain of the signal     its slope in lambda\n");
  std::printf("lambda   maps differ  the same     differ   the same      differ   the same\n");
  if (!trace_file.empty()) respond(differ, 0.5, signal, offset, trace_file);
  double error = 0, slope_error = 0;
  for (const auto& [lambda, d, s] : rows) {
    std::printf("%6.1f   %11.4f  %8.4f    %7.4f    %7.4f     %7.4f    %7.4f\n", lambda,
                d.offset_gain, s.offset_gain, d.signal_gain, s.signal_gain, d.slope, s.slope);
    for (const Response& r : {d, s}) {
      error = std::max(error, r.offset_error);
      slope_error = std::max(slope_error, std::abs(r.slope - r.slope_formula));
    }
  }
  const double allowed = 1e-14 * largest(offset);
  demo::Claims claims;
  std::printf("\noffset's response against (1 - lambda) c: off by at most %.1e, %.0e allowed",
              error, allowed);
  claims.hold_if(error <= allowed);
  std::printf("slope by the tape against -sum(G * (A2 V)): off by at most %.1e, 1e-14 allowed",
              slope_error);
  claims.hold_if(slope_error <= 1e-14);
  std::printf("\n");
  demo::write_table(folder, "cancellation.csv", csv(rows));
  demo::write_chart(folder, "cancellation", plot);
  return claims.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder = "out", trace_file;
  CLI::App app("Shows what the subtraction in differential attention cancels.", "cancellation");
  app.add_option("--out", folder, "Folder for the table and the chart")->capture_default_str();
  demo::add_trace_option(app, trace_file);
  return demo::run(app, argc, argv, [&] { return compare(folder, trace_file); });
}
