#!/usr/bin/env bash
# ./tests/run.sh                    installs what is missing, builds, runs the whole suite (release)
# ./tests/run.sh PRESET             the same for debug, asan, tsan or clang; for wasm the op table under node
# ./tests/run.sh PRESET ARGS...     with arguments for ctest: ./tests/run.sh release -R softmax
. "$(dirname "${BASH_SOURCE[0]}")/support/setup.sh"

preset=release
case ${1-} in
  release | debug | asan | tsan | clang | wasm) preset=$1 && shift ;;
  '' | -*) ;;
  *) fail "There is no preset '$1'; the presets: release debug asan tsan clang wasm" ;;
esac

install cmake ninja-build g++ libxtensor-dev libxsimd-dev xtl-dev libcli11-dev gnuplot-nox \
  doctest-dev nlohmann-json3-dev libbenchmark-dev pkg-config
python3 -c 'import numpy' 2>/dev/null || install python3-numpy
# The Python package safetensors, in an environment of its own; where pip cannot bring it, its test is
# skipped.
has_safetensors() { "$1" -c 'import numpy, safetensors.numpy' 2>/dev/null; }
bring_safetensors() {
  python3 -m venv "$root/build/python" &&
    "$root/build/python/bin/python" -m pip install numpy safetensors
}
if ! has_safetensors python3 && ! has_safetensors "$root/build/python/bin/python"; then
  python3 -c 'import ensurepip, venv' 2>/dev/null || install python3-venv
  stage "pip install safetensors" bring_safetensors || true
fi
compiler=${CXX:-c++}
case $preset in
  clang | tsan)
    compiler=clang++-14
    install clang-14 libomp-14-dev
    # In a package of its own on Debian, with the compiler on some Ubuntus.
    [ -e "$("$compiler" -print-file-name=libclang_rt.tsan-"$(uname -m)".a 2>/dev/null)" ] ||
      install libclang-rt-14-dev
    ;;
  wasm)
    compiler=em++
    install emscripten nodejs
    ;;
esac
check_tools cmake ninja "$compiler"
build $preset

cd "$root" || exit
if [ $# -gt 0 ]; then
  steady $preset ctest --preset $preset -j "$jobs" "$@"
  exit
fi
stage "test $preset" steady $preset ctest --preset $preset -j "$jobs" || exit
grep -E '^[0-9]+% tests passed' "build/test-$preset.log"
kernels_tested $preset
