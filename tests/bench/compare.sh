#!/usr/bin/env bash
# xtape beside PyTorch, JAX, OpenBLAS and libtorch, on this machine, in one run.
#
#   tests/bench/compare.sh --install     the peers, once: a virtual environment of about 6 GB in
#                                        ~/.cache/xtape-bench (or $XDG_CACHE_HOME). pip's own
#                                        settings, such as PIP_INDEX_URL, choose smaller wheels.
#   tests/bench/compare.sh               all of it; writes build/bench/compare.md and compare.csv
#   tests/bench/compare.sh --op matmul --dtype f32 --threads 1
#   tests/bench/compare.sh --shapes '1,4,64,32 8,4,128,32' --who xtape,jax --pass fg
#   tests/bench/compare.sh --out FOLDER  writes there
#   tests/bench/compare.sh --help        every option
#
# A peer that is not installed is named in compare.md. One process a library and allocator stays up,
# and each is asked for one timing in turn, nine rounds at least, the machine's peak of fused
# multiply-adds among them: whatever else the machine does, it does to all of them. Everybody
# computes the same from the same numbers, and the results are compared. Exit status 1: some differ.
. "$(dirname "${BASH_SOURCE[0]}")/../support/setup.sh"

here=$root/tests/bench/compare
cache=${XDG_CACHE_HOME:-${HOME:?}/.cache}/xtape-bench
out=$root/build/bench
python=$cache/venv/bin/python
export PYTHONDONTWRITEBYTECODE=1

# libtorch_worker: compiled against the libtorch that pip's PyTorch brings, where there is one.
libtorch_worker() {
  local program=$cache/libtorch_worker source=$here/libtorch_worker.cpp torch abi
  [ -x "$python" ] || return 0
  [ "$program" -nt "$source" ] && [ "$program" -nt "$here/serve.hpp" ] && return 0
  read -r abi torch < <("$python" -c 'import torch
print(int(torch.compiled_with_cxx11_abi()), torch.__path__[0])' 2>/dev/null) || return 0
  stage "build libtorch_worker" "${CXX:-c++}" -std=c++20 -O2 -D_GLIBCXX_USE_CXX11_ABI="$abi" \
    -isystem "$torch/include" -isystem "$torch/include/torch/csrc/api/include" "$source" \
    -L"$torch/lib" -ltorch_cpu -lc10 "-Wl,-rpath,$torch/lib" -o "$program"
}

if [ "${1-}" = --install ]; then
  [ $# -eq 1 ] || fail "--install takes no other option."
  install g++
  python3 -c 'import ensurepip, venv' 2>/dev/null || install python3-venv
  mkdir -p "$cache" || exit
  rm -f "$cache/libtorch_worker"  # it needs the libtorch that it was compiled against
  stage "virtual environment" python3 -m venv "$cache/venv" || exit
  stage "pip install (some minutes)" "$python" -m pip install --upgrade numpy torch jax || exit
  libtorch_worker
  exit
fi

help='' options=()
while [ $# -gt 0 ]; do
  case $1 in
    --out)
      [ -n "${2-}" ] || fail "--out needs a folder."
      out=$2 && shift
      ;;
    -h | --help) help=yes ;;
    --install) fail "--install takes no other option." ;;
    *) options+=("$1") ;;
  esac
  shift
done

if ! [ -x "$python" ]; then
  python=python3
  python3 -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
  "$python" -c 'import numpy' 2>/dev/null || install python3-numpy
fi
run() {
  "$python" "$here/compare.py" --bin "$root/build/bench/tests/bench" --cache "$cache" \
    --out "$out" "$@"
}
[ -z "$help" ] || { run --help; exit; }
run --check-only "${options[@]}" || exit  # what is wrong with the options, before a build

install cmake ninja-build g++ libxtensor-dev libxsimd-dev xtl-dev nlohmann-json3-dev
check_tools cmake "${CXX:-c++}"
stage "configure" cmake -G Ninja -S "$root" -B "$root/build/bench" \
  -DCMAKE_BUILD_TYPE=Release -DXTAPE_BUILD_TESTS=OFF -DXTAPE_BUILD_DEMOS=OFF || exit
stage "build" cmake --build "$root/build/bench" -j "$jobs" \
  --target compare_xtape compare_peak || exit
libtorch_worker
run "${options[@]}"
status=$?
echo "$out/compare.md"
exit $status
