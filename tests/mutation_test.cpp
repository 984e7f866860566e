// Wrong ops must be rejected by the checks that all ops pass: else these would check nothing.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "op_table.hpp"
#include "support/checks.hpp"

namespace {

using checks::Case;
using op_table::Row;
using op_table::Sample;

constexpr std::uint64_t kSeed = 20240608;

/// The names of rows with an input whose gradient is empty or 0 at all samples, so that no factor
/// shows in it.
std::set<std::string> rows_without_gradient() {
  return {
      "where with an empty condition",  // the result is empty
      "broadcast_to an empty shape",    // so it is here
      "slice of nothing",               // and here
      "gather of nothing",              // and here
      "scatter_add of nothing",         // the input is empty
      "take_along_axis of nothing",     // the result is
      "take_along_axis, no rows",       // both are
      "where with one condition",       // b is never taken
  };
}

}  // namespace

TEST_CASE("an op whose value is one percent off is rejected by the scalar loop") {
  int rejected = 0, tried = 0;
  for (const Row& row : op_table::rows())
    for (const Sample& sample : row.samples) {
      Case c(row, sample, kSeed);
      const auto expected = row.value(op_table::inputs(row, sample, kSeed)).values;
      // No factor changes an empty value, 0 or -inf.
      if (std::none_of(expected.begin(), expected.end(), [](double v) { return v * 1.01 != v; }))
        continue;
      c.op = checks::with_value_times(row.op, 1.01);
      ++tried;
      const std::string where = checks::describe(c);
      INFO(where);
      const bool in_float = checks::value<float>(c) != "",
                 in_double = checks::value<double>(c) != "";
      CHECK(in_float);
      CHECK(in_double);
      rejected += in_float && in_double ? 1 : 0;
    }
  MESSAGE(rejected << " of " << tried << " rejected, seed " << kSeed);
  CHECK(rejected == tried);
  CHECK(tried > 400);
}

TEST_CASE("an op whose pullback is one percent off is rejected by every check of gradients") {
  int mutants = 0, rejected = 0, samples = 0;
  std::set<std::string> untried;
  for (const Row& row : op_table::rows())
    for (std::size_t input = 0; input < row.samples[0].size(); ++input) {
      bool tried = false, found = true;
      for (const Sample& sample : row.samples) {
        Case c(row, sample, kSeed);
        if (checks::largest_gradient(c, input) < 1e-3) continue;
        tried = true;
        ++samples;
        const std::string where = checks::describe(c) + ", input " + std::to_string(input);
        INFO(where);
        c.op = checks::with_pullback_times(row.op, input, 1.01);
        const std::string culprit = "input " + std::to_string(input) + " ";
        for (const std::string& failure :
             {checks::vjp<float>(c), checks::vjp<double>(c), checks::differences(c, 1)}) {
          CAPTURE(failure);
          CHECK(failure.find(culprit) != std::string::npos);
          found = found && failure != "";
        }
      }
      if (!tried) untried.insert(row.name);
      mutants += tried ? 1 : 0;
      rejected += tried && found ? 1 : 0;
    }
  MESSAGE(rejected << " of " << mutants << " mutants rejected, at " << samples << " samples, seed "
                   << kSeed);
  CHECK(untried == rows_without_gradient());
  CHECK(rejected == mutants);
  CHECK(mutants > 150);
}

TEST_CASE("a mutation by the factor one is accepted by every check") {
  for (const Row& row : op_table::rows())
    for (std::size_t input = 0; input < row.samples[0].size(); ++input)
      for (const Sample& sample : row.samples) {
        Case c(row, sample, kSeed);
        c.op = checks::with_pullback_times(row.op, input, 1);
        const std::string where = checks::describe(c) + ", input " + std::to_string(input);
        INFO(where);
        CHECK(checks::value<double>(c) == "");
        CHECK(checks::vjp<double>(c) == "");
        CHECK(checks::differences(c, 2) == "");
      }
}

TEST_CASE("an op whose pullback cannot be differentiated is rejected at second order only") {
  // Those with a second derivative.
  const std::set<std::string> names{"mul",
                                    "div",
                                    "chain",
                                    "pow",
                                    "exp",
                                    "exp2",
                                    "log",
                                    "sqrt",
                                    "square",
                                    "tanh",
                                    "sigmoid",
                                    "sin",
                                    "cos",
                                    "erf",
                                    "gelu",
                                    "silu",
                                    "softplus",
                                    "softmax",
                                    "softmax with a mask",
                                    "mse",
                                    "prod",
                                    "var",
                                    "norm",
                                    "outer",
                                    "logsumexp",
                                    "dot",
                                    "log_softmax",
                                    "cross_entropy",
                                    "matmul of matrices",
                                    "rms_norm",
                                    "rms_norm with a gain",
                                    "linear",
                                    "swiglu",
                                    "attention",
                                    "differential_attention",
                                    "differential_lambda"};
  std::size_t tried = 0;
  for (const Row& row : op_table::rows()) {
    if (names.count(row.name) == 0) continue;
    ++tried;
    for (std::size_t input = 0; input < row.samples[0].size(); ++input) {
      Case c(row, row.samples[0], kSeed);
      c.op = checks::with_constant_pullback(row.op, input);
      const std::string where = checks::describe(c) + ", input " + std::to_string(input);
      INFO(where);
      CHECK(checks::vjp<double>(c) == "");
      CHECK(checks::differences(c, 1) == "");
      CHECK(checks::differences(c, 2).rfind("second order, ", 0) == 0);
    }
  }
  CHECK(tried == names.size());
}
