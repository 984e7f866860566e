// The test program's main. A run in which no case matched is a failure: CTest runs one case at a
// time, and one that is never found must not pass.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <iostream>

namespace {

unsigned cases_run = 0;

struct Count : doctest::IReporter {
  explicit Count(const doctest::ContextOptions&) {}
  void test_run_end(const doctest::TestRunStats& run) override {
    cases_run = run.numTestCasesPassingFilters;
  }
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

REGISTER_LISTENER("count", 1, Count);

}  // namespace

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const int status = context.run();
  if (context.shouldExit()) return status;
  if (cases_run == 0) std::cerr << "no test case matched\n";
  return cases_run == 0 ? 1 : status;
}
