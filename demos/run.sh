#!/usr/bin/env bash
# ./demos/run.sh              installs what is missing, builds, runs cancellation and char_attention
# ./demos/run.sh NAME ARGS... the same for one demo or experiment, as tiny_lm train --text FILE
# ./demos/run.sh experiments  measures what differential attention does, in minutes, and draws it
# ./demos/run.sh notebooks    opens the notebooks in JupyterLab; arguments are passed on to it
# ./demos/run.sh pages        makes pages to open in a browser, and says where they are
. "$(dirname "${BASH_SOURCE[0]}")/../tests/support/setup.sh"
. "$root/tests/support/notebooks.sh"
demos=$root/build/release/demos

open_notebooks() {
  install_notebooks
  write_kernel "$notebooks/share/jupyter" "$root/build/release"
  [ "$(id -u)" -eq 0 ] && set -- --allow-root "$@"
  exec "$notebooks/bin/jupyter" lab "$@" "$root/demos/notebooks"
}

# Traces of the demos, and the pages with xtape in WebAssembly inside.
make_pages() {
  local out=$root/out/pages
  install emscripten nodejs
  build wasm -DXTAPE_BUILD_TESTS=OFF
  mkdir -p "$out" && cp "$root"/build/wasm/demos/pages/*.html "$out" || exit
  stage "trace first_steps" "$demos/first_steps" --trace "$out/first_steps.html" || exit
  stage "trace cancellation" "$demos/cancellation" --out "$root/out" \
    --trace "$out/cancellation.html" || exit
  stage "trace char_attention" "$demos/char_attention" --width 32 --context 16 --steps 200 \
    --trace "$out/char_attention.html" || exit
  rm -rf "$root/out/one_step"
  stage "trace tiny_lm" "$demos/tiny_lm/tiny_lm" train --text "$root/README.md" --out "$root/out/one_step" \
    --width 32 --heads 4 --context 16 --batch 1 --steps 1 --warmup 0 --composition \
    --trace "$out/tiny_lm.html" || exit
  printf '\nTo be opened in a browser:\n'
  printf '  %s\n' "$out"/*.html
}

run_all() {  # run_all NAME...
  local name status=0
  for name; do
    printf '\n== %s\n' "$name"
    "$demos/$name" || status=$?
  done
  return $status
}

experiments=(depth common_mode controls)
case ${1-} in
  '') run=(run_all cancellation char_attention) ;;
  experiments) run=(run_all "${experiments[@]}") ;;
  notebooks) run=(open_notebooks "${@:2}") ;;
  pages) run=(make_pages) ;;
  tiny_lm) run=("$demos/tiny_lm/tiny_lm" "${@:2}") ;;
  *)
    names=$(cd "$root/demos" && printf '%s ' *.cpp)
    [ -f "$root/demos/$1.cpp" ] || [ -f "$root/demos/experiments/$1.cpp" ] ||
      fail "There is no demo '$1'; the demos: ${names//.cpp/}tiny_lm experiments notebooks pages" \
        "One experiment: ${experiments[*]}"
    run=("$demos/$1" "${@:2}")
    ;;
esac

install cmake ninja-build g++ libxtensor-dev libxsimd-dev xtl-dev nlohmann-json3-dev libcli11-dev \
  gnuplot-nox
check_tools cmake ninja "${CXX:-c++}" gnuplot
build release -DXTAPE_BUILD_TESTS=OFF -DXTAPE_BUILD_BENCH=OFF
"${run[@]}"
