#!/usr/bin/env bash
# The library as users have it: tests/consumer's ops pass their checks in a project that contains
# xtape, in one that finds it installed, and in a program compiled by pkg-config; shared and static.
# XTAPE_BUILD is the build tree with the library; the compiler is $CXX, with $CXXFLAGS and $LDFLAGS,
# which CMake takes from the environment too, as it does $CMAKE_GENERATOR.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P) || exit
consumer=$root/tests/consumer
build=$(cd "${XTAPE_BUILD:?the build tree}" && pwd) || exit
export CXXFLAGS="${CXXFLAGS-} -O0"  # the library is built once more: quickly
work=$(mktemp -d) || exit
trap 'rm -rf "$work"' EXIT
cd "$work" || exit
failed=0

quietly() {  # quietly COMMAND...: its output is shown only when it fails
  "$@" >log 2>&1 || { echo "failed: $*"; cat log; return 1; }
}

# project FOLDER TREE OPTION...: configures, builds and runs a project of tests/consumer.
project() {
  quietly cmake -S "$consumer/$1" -B "$2" -DCMAKE_BUILD_TYPE= "${@:3}" &&
    quietly cmake --build "$2" && quietly "$2/ops_test"
}

# installed KIND TREE: what TREE installs works for users, also moved and without what it is made of.
installed() {
  local config flags
  quietly cmake --install "$2" --prefix made && mv made "$1" &&
    project find_package "tree-$1" -DCMAKE_PREFIX_PATH="$work/$1" \
      -DCMAKE_DISABLE_FIND_PACKAGE_{xtl,xtensor,xsimd,nlohmann_json}=ON || return
  command -v pkg-config >/dev/null || return 0
  config=$(dirname "$(find "$work/$1" -name xtape.pc)")
  flags=$(PKG_CONFIG_PATH=$config pkg-config --cflags --libs xtape) || return
  # shellcheck disable=SC2086
  quietly "${CXX:-c++}" -std=c++17 ${CXXFLAGS-} "$consumer/ops_test.cpp" $flags ${LDFLAGS-} \
    "-Wl,-rpath,${config%/*}" -o "$1/program" && quietly "$1/program"
}

installed shared "$build" || failed=1
project add_subdirectory inside -DXTAPE_SOURCE="$root" -DBUILD_SHARED_LIBS=OFF &&
  installed static inside || failed=1
exit $failed
