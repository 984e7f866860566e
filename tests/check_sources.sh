#!/usr/bin/env bash
# Rules of this repository that a script can check. For each broken one: its first file:line.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

# rule TEXT: reads offenders, "file:line: ..." each, and prints the first under the rule.
rule() {
  awk -v text="$1" 'NR == 1 { print text "\n    " $0 }'
}

# code FILE...: its lines as "file:line: text", without // comments.
code() {
  awk '{ sub(/\/\/.*/, ""); print FILENAME ":" FNR ": " $0 }' "$@" /dev/null
}

library=$(find engine ops -name '*.[ch]pp' | sort)
public=$(find engine/include ops/include -name '*.hpp' | sort)
tests=$(find tests -name '*.cpp' | sort)
builds=$(find . -path ./build -prune -o \
  \( -name CMakeLists.txt -o -name CMakePresets.json -o -name '*.cmake' \) -print)
sources=$(find engine ops tests demos .ci/run -name '*.[ch]pp' -o -name '*.sh' -o -name run)

watched_files() {
  local file
  for file in ops/src/attention.cpp tests/support/reference.hpp; do
    [ -e $file ] || echo "$file:1: is not there"
  done | rule "The files that these rules watch exist."
}

sizes() {
  wc -l $sources $builds | awk '$1 > 400 && $2 != "total" { print $2 ":401: of " $1 " lines" }' |
    rule "No source file is over 400 lines."
}

includes() {
  code $public | grep -E '# *include' |
    grep -vE '# *include +<([a-z_0-9]+|xtape/[a-z_0-9/]+\.hpp)>' |
    grep -vE '/xtape/xtensor\.hpp:.*<xtensor/|/xtape/display\.hpp:.*<nlohmann/' |
    rule "Public headers include the standard library and xtape only."

  code $library | grep -E '# *include *[<"](xtensor|xtl)/' |
    grep -vE '^engine/(src/xt|include/xtape/xtensor)\.hpp:' |
    rule "Only engine/src/xt.hpp and <xtape/xtensor.hpp> include xtensor."

  code $library | grep -E '# *include *[<"]xsimd/' | grep -v '^ops/kernels/simd\.hpp:' |
    rule "Only ops/kernels/simd.hpp includes xsimd."

  code $(find tests/support -name 'reference*') | grep -E '# *include' |
    grep -vE '# *include +(<[a-z_0-9]+>|"([a-z_0-9]+/)*reference[a-z_0-9]*\.hpp")' |
    rule "The reference includes the standard library and itself only."
}

calls() {
  code $(find ops/src -name attention.cpp) |
    grep -E '\brecord(_[a-z]+)? *[<(]|\bmap *[<(]|\bkernels\b|\bxt::' |
    rule "The attention functions are compositions: no record, kernel or xtensor."

  code $library | grep -E -e '\bstd::(cout|cerr|clog)\b' \
    -e '\b([fv]?printf|f?puts|putchar|_?exit|_Exit|quick_exit|abort|terminate|assert) *\(' |
    rule "The library never prints, exits or aborts."

  # A notebook's cell and the library would have one each.
  code $public | grep '\bthread_local\b' |
    rule "Public headers have no thread_local."

  grep -nHE -e '-(ffast-math|Ofast|funsafe-math-optimizations)' $builds |
    rule "Nothing is compiled with -ffast-math."
}

test_cases() {
  code $tests | grep -E '\* *(doctest::)?(skip|may_fail|should_fail|expected_failures) *\(' |
    rule "No test is skipped or may fail."

  local names  # "file:line: name"
  names=$(code $tests | awk '
    / TEST_CASE[A-Z_]*\( *$/ { getline rest; sub(/[^ ]* */, "", rest); $0 = $0 rest }
    match($0, / TEST_CASE[A-Z_]*\( *".*"/) {
      name = substr($0, RSTART, RLENGTH)
      sub(/[^"]*"/, "", name)
      sub(/".*/, "", name)
      print $1, name
    }')
  awk '{ where = $1; $1 = "" } seen[$0]++ { print where $0 }' <<<"$names" |
    rule "No two test cases have one name."
  # doctest takes the first three in a name for patterns, CMake the others for list syntax.
  awk '{ where = $1; $1 = "" }
       /[*?\\;]/ || gsub(/\[/, "[") != gsub(/\]/, "]") { print where $0 }' <<<"$names" |
    rule "A test case's name has none of * ? \\ ; and closes the brackets it opens."
}

# A declared op is a function marked XTAPE_API in ops/include, under its docstring:
#     /// ...
#     template <class T>
#     XTAPE_API Tensor<T> name(
# Overloads share one name: a Formula: above one of them is enough. "/// Not an op:" exempts.
declared_ops() {  # "file:line: name formula", formula is 1 or 0
  awk '
    FNR == 1 { doc = declaration = "" }
    declaration != "" { declaration = declaration " " $0 }
    declaration == "" && /^ *\/\// { doc = doc $0; next }
    declaration == "" && /XTAPE_API/ && !/(class|struct|enum) +XTAPE_API/ {
      declaration = $0
      where = FILENAME ":" FNR
    }
    declaration ~ /\(/ {
      name = declaration
      sub(/ *\(.*/, "", name)
      sub(/.*[^A-Za-z0-9_]/, "", name)
      if (FILENAME ~ /fused\.hpp$/) name = "fused::" name
      if (doc !~ /Not an op:/ && declaration !~ /operator/) {
        if (!(name in first)) { first[name] = where; order[++count] = name }
        if (doc ~ /Formula:/) formula[name] = 1
      }
      declaration = doc = ""
    }
    declaration == "" && !/^ *template/ { doc = "" }
    END { for (i = 1; i <= count; ++i) print first[order[i]] ": " order[i], formula[order[i]] + 0 }
  ' ops/include/xtape/ops/*.hpp
}

ops() {
  local declared rows
  declared=$(declared_ops)
  grep ' 0$' <<<"$declared" | sed 's/ 0$//' | rule "Every op has a Formula: in its docstring."

  # A row of the op table begins {"name" or row("name"; after the identifier a variant may follow.
  rows=$(code $(find tests -name 'op_table*') | sed 's/^[^ ]* //' | tr -s ' \n' ' ' |
    grep -oE '[{(] ?"[a-z_0-9:]+' | sed 's/.*"//')
  awk 'NR == FNR { row[$1] = 1; next } !($2 in row) { print $1, $2 }' \
    <(echo "$rows") <(echo "$declared") |
    rule "Every op has a row in the op table (tests/op_table*)."
}

broken=$(watched_files; sizes; includes; calls; test_cases; ops)
[ -z "$broken" ] && exit
printf '%s\n' "$broken"
exit 1
