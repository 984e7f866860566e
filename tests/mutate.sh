#!/usr/bin/env bash
# mutate.sh [COUNT] [SEED] [WORKERS]: would the tests notice? Flips one operator, sign or comparison
# of engine/ and ops/ at a time, in a copy of the tree, and runs the tests on it.
# Writes build/mutants/table.txt: file:line, the change, and caught, missed or uncompilable.
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

# try FOLDER FILE LINE COLUMN LENGTH REPLACEMENT: one line for the table
try() {
  local folder=$1 file=$2 line=$3 column=$4 length=$5 to=$6 from result=missed
  from=$(sed -n "${line}p" "$file" | cut -c "$column-$((column + length - 1))")
  awk -v line="$line" -v column="$column" -v length_="$length" -v to="$to" '
    FNR == line { $0 = substr($0, 1, column - 1) to substr($0, column + length_) } { print }
  ' "$file" >"$folder/source/$file"
  if ! cmake --build "$folder/build" --target xtape -j 1 >"$folder/log" 2>&1; then
    result=uncompilable
  elif ! timeout 120 "$folder/build/tests/xtape_tests" -aa=1 >"$folder/log" 2>&1; then
    result=caught
  fi
  cp "$file" "$folder/source/$file"
  printf '%-13s %s:%s  %s -> %s  %s\n' $result "$file" "$line" "$from" "$to" \
    "$(sed -n "${line}s/^ *//p" "$file")"
}

# worker K: builds its copy once, then tries every WORKERS-th place of the list
worker() {
  local folder=$work/$1 place
  mkdir -p "$folder/source"
  git ls-files -co --exclude-standard | tar cf - -T - | tar xf - -C "$folder/source"
  cmake -S "$folder/source" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DXTAPE_BUILD_DEMOS=OFF -DXTAPE_BUILD_BENCH=OFF >"$folder/log" &&
    cmake --build "$folder/build" --target xtape_tests -j 1 >>"$folder/log" 2>&1 &&
    "$folder/build/tests/xtape_tests" >>"$folder/log" 2>&1 ||
    { echo "without a mutant: see $folder/log" >&2; return 1; }
  awk -v k="$1" -v n="$workers" 'NR % n == k' "$work/places" | while read -r place; do
    # shellcheck disable=SC2086
    try "$folder" $place
  done >"$work/table.$1"
}

candidates | shuffle "$seed" | head -n "$count" >"$work/places"
pids=()
for ((k = 0; k < workers; ++k)); do worker $k & pids+=($!); done
for pid in "${pids[@]}"; do wait "$pid" || exit 1; done
cat "$work"/table.[0-9]* | sort >"$work/table.txt" && rm -f "$work"/table.[0-9]*
cat "$work/table.txt"
awk '{ ++n[$1] } END {
  printf "%d caught, %d missed, %d uncompilable (seed '"$seed"'): %.1f%% of those that compile\n",
    n["caught"], n["missed"], n["uncompilable"], 100 * n["caught"] / (n["caught"] + n["missed"])
}' "$work/table.txt"
