// Random programs: xtape against an evaluator that shares nothing with it.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "support/program_draw.hpp"
#include "support/program_evaluator.hpp"
#include "support/program_shrink.hpp"
#include "support/program_xtape.hpp"

namespace {

using namespace programs;

constexpr std::uint64_t kSeries = 1;
constexpr Int kPrograms = 2000;

}  // namespace

TEST_CASE("2000 random programs have the values and gradients of an independent evaluator") {
  for (Int k = 0; k < kPrograms; ++k) {
    const std::string failure = report(seed_of(kSeries, k));
    if (!failure.empty()) FAIL(failure);
  }
}

TEST_CASE("a program that fails is shrunk to the op at fault") {
  // As if an op were wrong wherever it computes from more than one value.
  for (const std::string& wrong :
       std::vector<std::string>{"tanh", "slice", "matmul", "softmax", "where", "split"}) {
    const auto fails = [&](const Program& program) {
      const std::vector<Plain> values = evaluate(program);
      for (const Step& step : program.steps)
        if (step.op == wrong && at(values, step.from[0]).values.size() > 1) return true;
      return false;
    };
    Int k = 0;
    while (!fails(draw(seed_of(kSeries, k)))) ++k;
    const Program small = shrink(draw(seed_of(kSeries, k)), fails);
    CAPTURE(code(small, wrong));
    CHECK(fails(small));
    CHECK(small.steps.back().op == wrong);
    CHECK(small.steps.size() <= small.steps.back().from.size() + 1);
    CHECK(small.steps[0].input.values.size() <= 2);
    CHECK(compare(small) == "");
  }
}

TEST_CASE("random programs hold every op many times, and sizes 0 and 1, sharing and views") {
  std::map<std::string, int> uses;
  int empty = 0, single = 0, shared = 0, ops = 0;
  for (Int k = 0; k < kPrograms; ++k) {
    const Program program = draw(seed_of(kSeries, k));
    std::map<Int, int> users;
    int own = 0;
    for (const Step& step : program.steps) {
      own += is_input(step) ? 0 : 1;
      ++uses[step.op];
      for (Int value : step.from) ++users[value];
    }
    CHECK((own >= 5 && own <= 30));
    ops += own;
    bool has_empty = false, has_single = false, has_shared = false;
    for (const Plain& x : evaluate(program)) {
      has_empty = has_empty || x.values.empty();
      for (Int length : x.shape) has_single = has_single || length == 1;
    }
    for (const auto& [value, n] : users) has_shared = has_shared || n > 1;
    empty += has_empty ? 1 : 0;
    single += has_single ? 1 : 0;
    shared += has_shared ? 1 : 0;
  }
  MESSAGE(ops << " ops; programs with an empty value: " << empty
              << ", with a length of 1: " << single << ", with a value used twice: " << shared);
  for (const std::string& op : drawn_ops()) {
    CAPTURE(op);
    CHECK(uses[op] >= 100);
  }
  CHECK(empty > 300);
  CHECK(single > 1500);
  CHECK(shared > 1500);
}
