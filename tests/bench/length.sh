#!/usr/bin/env bash
# Time and peak memory of differential attention, value and six gradients, against the number of
# tokens: fused up to 16384, the composition, whose maps grow with the square, up to 8192.
#
#   tests/bench/length.sh [FOLDER]     writes length.csv and length.svg there (build/bench)
#   OMP_NUM_THREADS=2 tests/bench/length.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/setup.sh"

install cmake ninja-build g++ libxtensor-dev libxsimd-dev xtl-dev nlohmann-json3-dev gnuplot-nox
check_tools cmake "${CXX:-c++}" gnuplot
stage "configure" cmake -G Ninja -S "$root" -B "$root/build/bench" \
  -DCMAKE_BUILD_TYPE=Release -DXTAPE_BUILD_TESTS=OFF -DXTAPE_BUILD_DEMOS=OFF || exit
stage "build" cmake --build "$root/build/bench" -j "$jobs" --target length || exit

out=${1-$root/build/bench}
mkdir -p "$out" && cd "$out" || exit
export OMP_NUM_THREADS=${OMP_NUM_THREADS-1}
{
  echo 'way,"B,H,T,D",mask,threads,median_ms,peak_mib,needed_mib,tokens'
  for way in fused composition; do
    for tokens in 128 256 512 1024 2048 4096 8192 16384; do
      [ $way = composition ] && [ $tokens -gt 8192 ] && continue
      line=$("$root/build/bench/tests/bench/length" $way 1 1 $tokens 64 causal) || exit
      echo "$line,$tokens"
      echo "$line" >&2
    done
  done
} >length.csv.tmp && mv length.csv.tmp length.csv || exit
gnuplot "$root/tests/bench/length/length.gp" >length.svg.tmp && mv length.svg.tmp length.svg &&
  echo "$out/length.svg"
