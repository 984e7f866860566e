#!/usr/bin/env bash
# isa.sh ISA INFO TESTS: the test program TESTS with the kernels that XTAPE_ISA=ISA names, where the
# processor can run them; INFO prints which those are. Exits with 77 where it cannot.
# With the name `unknown`: the error for kernels that there are not.
isa=$1 info=$2 tests=$3
isas=$(env -u XTAPE_ISA "$info" | sed -n 's/^kernels: .*, of //p')
[ -n "$isas" ] || exit 1
if [ "$isa" = unknown ]; then
  found=$(XTAPE_ISA=mmx "$info") && exit 1
  expected="[XTAPE_ISA] 'mmx': one of $isas is required on this processor."
  printf 'found:    %s\nexpected: %s\n' "$found" "$expected"
  [ "$found" = "$expected" ]
  exit
fi
grep -qw "$isa" <<<"$isas" || {
  echo "not run: this processor has no $isa, but $isas"
  exit 77
}
export XTAPE_ISA=$isa
"$info" | grep "^kernels: $isa, " && "$tests"
