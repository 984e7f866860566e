// Random programs, as many as wanted, compared with the independent evaluator, or written as code.
//
//   random_programs --programs 100000 --seed 7    compares; the first that fails is shrunk, printed
//   random_programs --code 50                     writes a source file that runs and checks 50
#include <cstdint>
#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "support/program_draw.hpp"
#include "support/program_xtape.hpp"

namespace {

using namespace programs;

int compare_all(Int number, std::uint64_t series) {
  for (Int k = 0; k < number; ++k) {
    const std::string failure = report(seed_of(series, k));
    if (failure.empty()) continue;
    std::cout << "// Program " << k + 1 << " of --seed " << series << "\n" << failure;
    return 1;
  }
  std::cout << number << " programs agree with the evaluator, --seed " << series << "\n";
  return 0;
}

int write_code(Int number, std::uint64_t series) {
  std::vector<Program> programs;
  for (Int k = 0; k < number; ++k) programs.push_back(draw(seed_of(series, k)));
  std::cout << source_file(programs);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::uint64_t> options{{"--seed", 1}};
  try {
    for (int i = 1; i + 1 < argc; i += 2) options[argv[i]] = std::stoull(argv[i + 1]);
    const std::uint64_t seed = options["--seed"];
    if (argc % 2 == 1 && options.size() == 2) {
      const auto& [what, number] = *options.begin();
      const Int n = static_cast<Int>(number);
      if (what == "--programs") return compare_all(n, seed);
      if (what == "--code") return write_code(n, seed);
    }
    std::cerr << "usage: random_programs --programs N [--seed S] | --code N [--seed S]\n";
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
  }
  return 2;
}
