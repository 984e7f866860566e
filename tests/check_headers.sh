#!/usr/bin/env bash
# Every public header compiles alone; all of them do in reverse order, and again in the first order.
# The compiler is $CXX, with $CPPFLAGS.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

headers=$(cd engine/include && find xtape -name '*.hpp' && cd ../../ops/include && find xtape -name '*.hpp')
headers=$(sort <<<"$headers")

compiles() {  # compiles NAME HEADER...
  local name=$1
  shift
  # shellcheck disable=SC2086
  printf '#include <%s>\n' "$@" | "${CXX:-c++}" -std=c++17 ${CPPFLAGS-} -x c++ -fsyntax-only \
    -Wall -Wextra -Wpedantic -Wconversion -Werror -Iengine/include -Iops/include - ||
    { echo "$name does not compile"; failed=1; }
}

failed=0
for header in $headers; do compiles "$header alone" "$header"; done
# shellcheck disable=SC2046,SC2086
compiles "all headers in reverse order" $(sort -r <<<"$headers") $headers
echo "$(wc -l <<<"$headers") public headers checked with ${CXX:-c++}"
exit $failed
