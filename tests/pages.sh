#!/usr/bin/env bash
# ./tests/pages.sh    makes the pages, and uses them in Chromium without a window
. "$(dirname "${BASH_SOURCE[0]}")/support/setup.sh"

install chromium nodejs tidy doctest-dev
"$root/demos/run.sh" pages || exit
stage "configure release" cmake -S "$root" --preset release || exit
stage "build long_trace" cmake --build "$root/build/release" -j "$jobs" --target xtape_long_trace || exit

export PAGES=$root/out/pages DEMOS=$root/build/release/demos
"$root/build/release/tests/xtape_long_trace" >"$root/build/long.html" || exit
failed=0
for page in "$PAGES"/*.html; do
  tidy -quiet -errors "$page" || { echo "$page is not valid HTML" && failed=1; }
  [ "$(wc -c <"$page")" -le 2000000 ] || { echo "$page has more than 2 MB" && failed=1; }
done
cd "$root" && LONG=$root/build/long.html node --test tests/pages/*_test.mjs || failed=1
exit $failed
