#!/usr/bin/env bash
# The sources are as clang-format 14 would have them; --fix makes them so.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

how=(--dry-run -Werror)
[ "${1-}" = --fix ] && how=(-i)
find engine ops tests demos -name '*.[ch]pp' -print0 | sort -z |
  xargs -0 clang-format-14 --style=file "${how[@]}"
