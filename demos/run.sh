#!/usr/bin/env bash
# ./demos/run.sh              installs what is missing, builds, runs cancellation and char_attention
# ./demos/run.sh NAME ARGS... the same for one demo and its arguments
. "$(dirname "${BASH_SOURCE[0]}")/../tests/support/setup.sh"

if [ $# -gt 0 ] && [ ! -f "$root/demos/$1.cpp" ]; then
  names=$(cd "$root/demos" && printf '%s ' *.cpp)
  fail "There is no demo '$1'; the demos: ${names//.cpp/}"
fi

install cmake ninja-build g++ libxtensor-dev libxsimd-dev xtl-dev nlohmann-json3-dev libcli11-dev \
  gnuplot-nox
install cmake ninja-build g++ libxtensor-dev libxsimd-dev xtl-dev nlohmann-json3-dev \
  libcli11-dev gnuplot-nox
check_tools cmake ninja "${CXX:-c++}" gnuplot
build release -DXTAPE_BUILD_TESTS=OFF -DXTAPE_BUILD_BENCH=OFF

if [ $# -gt 0 ]; then
  name=$1
  shift
  exec "$root/build/release/demos/$name" "$@"
fi
for name in cancellation char_attention; do
  printf '\n== %s\n' "$name"
  "$root/build/release/demos/$name" || exit
done
