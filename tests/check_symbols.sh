#!/usr/bin/env bash
# The shared library exports xtape's names, and no type of the libraries that it is made with: their
# names change with versions and flags. XTAPE_LIBRARY is the library.
symbols=$(nm -DC --defined-only "${XTAPE_LIBRARY:?the shared library}" | cut -d' ' -f3-) || exit

failed=0
wrong() {  # wrong TEXT: standard input should have been empty
  local found
  found=$(head -n 5) && [ -z "$found" ] && return
  printf '%s\n%s\n' "$1" "$found"
  failed=1
}

grep -E '\b(xt|xtl|xsimd|nlohmann)::' <<<"$symbols" | wrong "Exported, with others' types:"
# Of std only templates over types that are xtape's or the language's; sanitizers add names in C.
grep -vE '\b(xtape|std|__gnu_cxx)::|^_[_A-Za-z0-9.]*$' <<<"$symbols" | wrong "Exported, but not xtape's:"
own=$(grep -c '\bxtape::' <<<"$symbols")
[ "$own" -gt 100 ] || wrong "Exported, of xtape's names only:" <<<"$own"
echo "$(wc -l <<<"$symbols") exported symbols checked"
exit $failed
