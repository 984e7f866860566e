#!/usr/bin/env bash
# The README's table of ops is what the headers say, its op from outside is the one that the consumer
# test compiles, and its model is the demo. --fix writes all anew.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

# A row for each docstring with a Formula:, in the order of the headers.
table() {
  printf '| op | value | gradient |\n| --- | --- | --- |\n'
  for group in elementwise compare reduce shape linalg nn layers attention fused; do
    awk -v scope="$([ $group = fused ] && echo fused::)" '
      /^\/\/\/ *Formula: / { sub(/^\/\/\/ *Formula: /, ""); formula = $0; open = 1; next }
      /^\/\/\/ [A-Z][a-z]*:/ { open = 0 }
      /^\/\/\// { if (open) { sub(/^\/\/\/ */, ""); formula = formula " " $0 } next }
      /XTAPE_API/ {
        open = 0
        if (formula == "" || formula == "as above") { formula = ""; next }
        name = $0
        sub(/\(.*/, "", name)
        sub(/.*[^a-z_0-9]/, "", name)
        gsub(/\|/, "\\|", formula)
        split(formula, parts, "; ")
        printf "| `%s%s` | %s | %s |\n", scope, name, parts[1], substr(formula, length(parts[1]) + 3)
        formula = ""
      }' "ops/include/xtape/ops/$group.hpp"
  done
}

# The op from outside, with its docstring.
example() {
  echo '```c++'
  awk '/^\/\/\/ The softsign/ { on = 1 } on { print } /^}/ { on = 0 }' tests/consumer/ops.hpp
  echo '```'
}

model() {
  echo '```c++'
  cat demos/own_model.cpp
  echo '```'
}

new=$(mktemp) && trap 'rm -f "$new"' EXIT
awk -v table="$(table | sed 's/\\/\\\\/g')" -v example="$(example)" -v model="$(model | sed 's/\\/\\\\/g')" '
  /^<!-- ops:/ { print; print table; skip = 1; next }
  /^<!-- op:/ { print; print example; skip = 1; next }
  /^<!-- model:/ { print; print model; skip = 1; next }
  /^<!-- end -->/ { skip = 0 }
  !skip { print }
' README.md >"$new"
if [ "${1-}" = --fix ]; then
  cp "$new" README.md
elif ! diff README.md "$new"; then
  echo "README.md: its ops differ from the sources; tests/check_readme.sh --fix mends it"
  exit 1
fi
