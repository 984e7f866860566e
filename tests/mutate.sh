#!/usr/bin/env bash
# mutate.sh [COUNT] [SEED] [WORKERS]: would the tests notice? Flips one operator, sign or comparison
# of engine/ and ops/ at a time, in a copy of the tree, and runs the tests on it.
# Writes build/mutants/table.txt: caught, missed, uncompilable or equal (the library has the same
# bytes: code for another system, say), file:line, the change and its line, and the case that caught
# it. All is built at -O1, where the tests take seconds. What they do not notice is tried again with
# the library under GCC's address sanitizer and assertions.
count=${1:-150} seed=${2:-1} workers=${3:-2}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
work=$root/build/mutants
mkdir -p "$work" && cd "$root" || exit

# candidates: "file line column length replacement", one a place that could be flipped. clang-format
# puts spaces around binary operators and around no other use of these signs.
candidates() {
  awk '
    BEGIN {
      n = split("+ - * / < <= > >= == != && || += -=", from, " ")
      split("- + / * <= < >= > != == || && -= +=", to, " ")
      for (i = 1; i <= n; ++i) other[from[i]] = to[i]
    }
    /^ *#|^ *static_assert|\\$/ { next }
    {
      text = $0
      sub(/\/\/.*/, "", text)
      gsub(/operator(<<|<=|>=|<|>|\+|-|\*|\/|!|&|\|)/, "", text)
      quoted = 0
      for (at = 1; at <= length(text); ++at) {
        sign = substr(text, at, 1)
        if (sign == "\"" && substr(text, at - 1, 1) != "\\") quoted = !quoted
        if (quoted || sign != " ") continue
        token = substr(text, at + 1)
        sub(/ .*/, "", token)
        if (token == "+" && $0 ~ /"|_text|to_string|escaped/) continue;  # joins strings
        if (token in other && substr(text, at + 1 + length(token), 1) == " ")
          print FILENAME, FNR, at + 1, length(token), other[token]
        else if (token ~ /^-[a-z(]/ && substr(text, at - 1, 1) ~ /[,(=nf?:]/)
          print FILENAME, FNR, at + 1, 1, "+"
      }
    }' engine/src/*.cpp engine/src/*.hpp ops/src/*.cpp ops/src/*.hpp ops/kernels/*.cpp
}

# shuffle SEED: by awk, so that a seed chooses the same places on every machine with one awk.
shuffle() { awk -v seed="$1" 'BEGIN { srand(seed) } { print rand(), $0 }' | sort -k1,1g | cut -d' ' -f2-; }

# tests FOLDER [FILE]: up to the first failure, with all kernels of this processor when one of theirs
# is changed; first the cases of FILE's own test program, if there is one. Cases that measure time
# come last: a busy machine fails them.
times='*the time of*,*costs what*'
tests() {
  local run=("$1/build/tests/xtape_tests" -aa=1) own isa
  own=tests/$(basename "${2%.*}")_test.cpp
  (ulimit -v 8000000
    for isa in $(isas_for "$1" "${2-}"); do
      export XTAPE_ISA=$isa
      { [ ! -e "$own" ] || timeout 60 "${run[@]}" -tce="$times" -sf="*/$own"; } &&
        timeout 60 "${run[@]}" -tce="$times" && "${run[@]}" -tc="$times" &&
        OMP_NUM_THREADS=2 "$1/build/tests/xtape_woken_threads" || exit
    done) >"$1/log" 2>&1
}

# isas_for FOLDER FILE: the names of the kernels to run, the best first
isas_for() {
  local all
  all=$(<"$1/isas")
  case $2 in
    ops/kernels/*) tr -d , <<<"$all" ;;
    *) echo "${all%%,*}" ;;
  esac
}

# sanitized FOLDER [FILE]: the same program with another library, without what takes long, and
# without the cases of memory: with the sanitizer, of which this program knows nothing, none is
# recycled
sanitized() {
  local isa
  cmake --build "$1/asan" -j 1 >"$1/log" 2>&1 || return
  for isa in $(isas_for "$1" "${2-}"); do
    XTAPE_ISA=$isa ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD=$(c++ -print-file-name=libasan.so) \
      LD_LIBRARY_PATH=$1/asan timeout 300 "$1/build/tests/xtape_tests" -aa=1 \
      -sfe='*memory_test.cpp' -tce="$times,2000 random*" >"$1/log" 2>&1 || return
  done
}

# try FOLDER FILE LINE COLUMN LENGTH REPLACEMENT: one line for the table
try() {
  local folder=$1 file=$2 line=$3 column=$4 length=$5 to=$6 from result=missed by=
  from=$(sed -n "${line}p" "$file" | cut -c "$column-$((column + length - 1))")
  awk -v line="$line" -v column="$column" -v length_="$length" -v to="$to" '
    FNR == line { $0 = substr($0, 1, column - 1) to substr($0, column + length_) } { print }
  ' "$file" >"$folder/source/$file"
  if ! cmake --build "$folder/build" --target xtape -j 1 >"$folder/log" 2>&1; then
    result=uncompilable
  elif cmp -s "$folder/build/libxtape.so" "$folder/unchanged.so"; then
    result=equal
  elif ! tests "$folder" "$file"; then
    result=caught
    by=$(sed -n 's/^TEST CASE: *//p' "$folder/log" | tail -n 1)
    by="  by: ${by:-an early crash or the time limit}"
  elif ! sanitized "$folder" "$file"; then
    result=caught by="  by: the sanitizer or an assertion"
  fi
  cp "$file" "$folder/source/$file"
  printf '%-13s %s:%s  %s -> %s  %s%s\n' $result "$file" "$line" "$from" "$to" \
    "$(sed -n "${line}s/^ *//p" "$file")" "$by"
}

# worker K: builds its copy once, then tries every WORKERS-th place of the list
worker() {
  local folder=$work/$1 file line column length to
  mkdir -p "$folder/source"
  # What differs becomes new, so that a mutant which an interrupted run left is compiled over.
  git ls-files -co --exclude-standard | while read -r file; do
    cmp -s "$file" "$folder/source/$file" ||
      { mkdir -p "$folder/source/$(dirname "$file")" && cp "$file" "$folder/source/$file"; }
  done
  local configure=(cmake -S "$folder/source" -G Ninja -DCMAKE_BUILD_TYPE=Debug
    -DXTAPE_BUILD_DEMOS=OFF -DXTAPE_BUILD_BENCH=OFF)
  "${configure[@]}" -B "$folder/build" -DCMAKE_CXX_FLAGS_DEBUG=-O1 >"$folder/log" &&
    "${configure[@]}" -B "$folder/asan" -DXTAPE_BUILD_TESTS=OFF \
      -DCMAKE_CXX_FLAGS_DEBUG='-O1 -D_GLIBCXX_ASSERTIONS -fsanitize=address' >>"$folder/log" &&
    cmake --build "$folder/build" -j 1 \
      --target xtape_tests xtape_woken_threads xtape_build_info >>"$folder/log" 2>&1 &&
    env -u XTAPE_ISA "$folder/build/tests/xtape_build_info" |
    sed -n 's/^kernels: .*, of //p' >"$folder/isas" &&
    cp "$folder/build/libxtape.so" "$folder/unchanged.so" &&
    tests "$folder" && sanitized "$folder" ||
    { echo "without a mutant: see $folder/log" >&2; return 1; }
  # Sorted: a file that has been put back is compiled again only with its next mutant.
  awk -v k="$1" -v n="$workers" 'NR % n == k' "$work/places" | sort |
    while read -r file line column length to; do
      try "$folder" "$file" "$line" "$column" "$length" "$to"
    done >"$work/table.$1"
}

candidates | shuffle "$seed" | head -n "$count" >"$work/places"
pids=()
for ((k = 0; k < workers; ++k)); do worker $k & pids+=($!); done
for pid in "${pids[@]}"; do wait "$pid" || exit 1; done
cat "$work"/table.[0-9]* | sort >"$work/table.txt" && rm -f "$work"/table.[0-9]*
cat "$work/table.txt"
awk '{ ++n[$1] } END {
  printf "%d caught, %d missed, %d uncompilable, %d equal (seed '"$seed"'): %.1f%% of those that differ\n",
    n["caught"], n["missed"], n["uncompilable"], n["equal"],
    100 * n["caught"] / (n["caught"] + n["missed"])
}' "$work/table.txt"
