// What holds for every row of the op table, at every sample of its shapes.
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

constexpr std::uint64_t kSeed = 20240607;

/// Calls check(case) for each sample of each row; returns their number.
template <class Check>
int for_each_case(const Check& check) {
  int count = 0;
  for (const Row& row : op_table::rows())
    for (const Sample& sample : row.samples) {
      const Case c(row, sample, kSeed);
      const std::string where = checks::describe(c);
      INFO(where);
      std::string failure;
      try {
        failure = check(c);
      } catch (const std::exception& e) {
        failure = std::string("it throws ") + e.what();
      }
      CHECK(failure == "");
      ++count;
    }
  return count;
}

bool has_zero(const Sample& sample) {
  return std::any_of(sample.begin(), sample.end(),
                     [](const plain::Shape& s) { return plain::size(s) == 0; });
}

bool has_one(const Sample& sample) {
  return std::any_of(sample.begin(), sample.end(), [](const plain::Shape& s) {
    return plain::size(s) == 1 || std::count(s.begin(), s.end(), 1) > 0;
  });
}

}  // namespace

TEST_CASE("no two rows of the op table have one name") {
  std::set<std::string> names;
  for (const Row& row : op_table::rows()) {
    CAPTURE(row.name);
    CHECK(names.insert(row.name).second);
    CHECK(!row.samples.empty());
  }
}

TEST_CASE("the op table holds samples of many sizes for nearly every row") {
  int rows = 0, empty = 0, single = 0, full = 0;
  for (const Row& row : op_table::rows()) {
    ++rows;
    empty += std::any_of(row.samples.begin(), row.samples.end(), has_zero) ? 1 : 0;
    single += std::any_of(row.samples.begin(), row.samples.end(), has_one) ? 1 : 0;
    full += std::all_of(row.samples.begin(), row.samples.end(), has_zero) ? 0 : 1;
  }
  MESSAGE(rows << " rows, " << empty << " with an empty sample, " << single
               << " with a length of 1, seed " << kSeed);
  // Where nothing is allowed to be empty (cross_entropy, squeeze, ...) there is no such sample.
  CHECK(5 * empty >= 4 * rows - 5 * 8);
  CHECK(5 * single >= 4 * rows);
  CHECK(full >= rows - 4);
}

TEST_CASE_TEMPLATE("every op's value is the scalar loop's", T, float, double) {
  CHECK(for_each_case([](const Case& c) { return checks::value<T>(c); }) > 300);
}

TEST_CASE_TEMPLATE("every op's gradients are the hand-derived ones, in its inputs' shapes", T,
                   float, double) {
  CHECK(for_each_case([](const Case& c) { return checks::vjp<T>(c); }) > 300);
}

TEST_CASE("every op's gradients are central differences") {
  CHECK(for_each_case([](const Case& c) { return checks::differences(c, 1); }) > 300);
}

TEST_CASE("every op's second derivatives are central differences of its gradients") {
  CHECK(for_each_case([](const Case& c) { return checks::differences(c, 2); }) > 300);
}

TEST_CASE_TEMPLATE(
    "every op gives on strided inputs and cotangents the bits that it gives on copies", T, float,
    double) {
  int strided = 0;
  for_each_case([&](const Case& c) { return checks::layouts<T>(c, strided); });
  CHECK(strided > 1000);
}

TEST_CASE_TEMPLATE("no op changes its inputs or the cotangent", T, float, double) {
  for_each_case([](const Case& c) { return checks::inputs_unchanged<T>(c); });
}

TEST_CASE_TEMPLATE("an input that is a constant gets no line and changes no other gradient", T,
                   float, double) {
  for_each_case([](const Case& c) { return checks::constants<T>(c); });
}

TEST_CASE_TEMPLATE("a gradient asked again has the same bits", T, float, double) {
  for_each_case([](const Case& c) { return checks::repeated<T>(c); });
}

TEST_CASE_TEMPLATE("no op reads memory that it did not write", T, float, double) {
  CHECK(for_each_case([](const Case& c) { return checks::unwritten<T>(c); }) > 300);
}

TEST_CASE_TEMPLATE("every line of an op has the dtype of its inputs", T, float, double) {
  for_each_case([](const Case& c) { return checks::dtypes<T>(c); });
}
