#!/usr/bin/env bash
# valgrind.sh ARGS...: the test program, or with doctest's ARGS some of it, under valgrind: values
# that nobody wrote, and leaks. All of it takes a quarter of an hour, so no other script runs it.
. "$(dirname "${BASH_SOURCE[0]}")/support/setup.sh"
install valgrind
tests=$root/build/release/tests/xtape_tests  # at -O1 GCC 12 itself leaks a test's vector<bool>
[ -x "$tests" ] || fail "Not built: $tests" "./tests/run.sh builds it."

# valgrind knows no AVX-512, and its own operator new would hide the program's, by which tests see
# how much is asked for. Cases that compare times are left out: here a time is mostly valgrind's;
# and one that forks: what other threads held counts as lost in the child, whose status it becomes.
export XTAPE_ISA=${XTAPE_ISA:-avx2} OMP_WAIT_POLICY=passive
# Possibly lost is what the OpenMP runtime's threads hold, which wait for work to the end.
exec valgrind --quiet --error-exitcode=1 --leak-check=full --show-leak-kinds=definite \
  --errors-for-leak-kinds=definite \
  --soname-synonyms=somalloc=nouserintercepts \
  "$tests" -tce='*the time of*,*costs what*,a process that forks*' "$@"
