#!/usr/bin/env bash
# The kernels of 64-bit ARM against the plain ones (tests/kernels.cpp), cross-compiled and run by
# qemu's emulator. The rest of the library needs no other compiler to be seen on ARM.
. "$(dirname "${BASH_SOURCE[0]}")/support/setup.sh"
install g++-aarch64-linux-gnu qemu-user libxsimd-dev doctest-dev
cxx=${CXX_AARCH64:-aarch64-linux-gnu-g++}
check_tools "$cxx" qemu-aarch64

work=$(mktemp -d) || exit
trap 'rm -rf "$work"' EXIT
# Only these: /usr/include as a whole belongs to the machine that compiles.
for library in xsimd doctest; do
  folder=$(for at in /usr/local/include /usr/include; do
    [ -d "$at/$library" ] && echo "$at/$library" && break
  done)
  ln -s "${folder:?where $library is}" "$work/$library"
done

compile() {  # the flags of CMakeLists.txt
  local source objects=()
  for source in "$root"/ops/kernels/*.cpp "$root"/tests/{,attention_,layer_}kernels.cpp; do
    "$cxx" -std=c++17 -O3 -ffp-contract=off -Wall -Wextra -Wpedantic -Wconversion -Werror \
      -isystem "$work" -I "$root/ops/kernels" -c "$source" -o "$work/$(basename "$source").o" || return
    objects+=("$work/$(basename "$source").o")
  done
  "$cxx" "${objects[@]}" -o "$work/kernels"
}
# What tests/check_kernels.sh asks of a build tree.
leaks() (XTAPE_KERNELS=$work NM=aarch64-linux-gnu-nm bash "$root/tests/check_kernels.sh")
run() {
  local log
  log=$(qemu-aarch64 -L /usr/aarch64-linux-gnu "$work/kernels" --abort-after=20) || {
    echo "$log"
    return 1
  }
  echo "$log"
  grep -q 'compared with the plain kernels: neon64' <<<"$log"
}

stage "compile neon64" compile || exit
stage "check neon64" leaks || exit
stage "test neon64" run || exit
grep -E '^\[doctest\] test cases' "$root/build/test-neon64.log"
