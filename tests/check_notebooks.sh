#!/usr/bin/env bash
# The notebooks run without error in the Cling kernel, in JupyterLab and in clang-repl, their
# exercises' checks tell right from wrong, and the kernel does what notebooks need. XTAPE_LIBRARY is
# the library; --install brings what is missing, without it the test is skipped where something is;
# --fix only writes the notebooks anew from their sources.
. "$(dirname "${BASH_SOURCE[0]}")/support/setup.sh"
. "$root/tests/support/notebooks.sh"
library=$(realpath "${XTAPE_LIBRARY:?the library}") || exit
case ${CXXFLAGS-} in
  *-fsanitize*) echo "Cling does not run under sanitizers" && exit 77 ;;
esac
if [ "${1-}" = --install ]; then
  install_notebooks
  install clang-tools-22 chromium nodejs
elif ! { notebooks_installed && installed clang-repl-22 && installed chromium && installed node; }; then
  echo "skipped: tests/check_notebooks.sh --install brings Jupyter, cppyy, clang-repl-22 and Chromium"
  exit 77
fi
work=$(mktemp -d) || exit
trap 'rm -rf "$work"' EXIT
write_kernel "$work" "$(dirname "$library")"
export JUPYTER_PATH=$work XTAPE_STRICT=1
if [ "${1-}" = --fix ]; then
  "$notebooks_python" "$root/demos/notebooks/make.py"
  exit
fi
failed=0

wrong() {  # wrong TEXT...: a check failed
  printf '%s\n' "$@"
  failed=1
}

"$notebooks_python" "$root/tests/notebooks/kernel_test.py" || wrong "the kernel's tests failed"

mkdir -p "$root/build/notebooks"
JUPYTER=$notebooks/bin/jupyter SCREENSHOTS=$root/build/notebooks \
  node --test "$root/tests/notebooks/lab_test.mjs" || wrong "the tests in JupyterLab failed"

for source in "$root"/demos/notebooks/source/*.md; do
  name=$(basename "$source" .md)
  "$notebooks_python" "$root/demos/notebooks/make.py" --test "$name" || wrong "$name: wrong"

  # The same cells in the interpreter of xeus-cpp, each as a file that it includes.
  cells=$work/$name
  mkdir "$cells"
  "$notebooks_python" "$root/demos/notebooks/make.py" --cells "$name" "$cells"
  for number in $(seq "$(ls "$cells" | wc -l)"); do
    printf '#include "%s/%d.cpp"\n' "$cells" "$number"
  done >"$work/all"
  LD_LIBRARY_PATH=$(dirname "$library") clang-repl-22 --Xcc=-std=c++17 \
    --Xcc="-I$root/engine/include" --Xcc="-I$root/ops/include" \
    --Xcc="-I$root/demos/notebooks/kernel/include" <"$work/all" >"$work/out" 2>"$work/err" &&
    [ ! -s "$work/err" ] || wrong "$name in clang-repl:" "$(cat "$work/err")"
  for words in 'right: ' 'not yet: '; do
    [ "$(grep -ao "$words" "$work/out" | wc -l)" -eq 3 ] || wrong "$name in clang-repl: not 3 '$words'"
  done
done
exit $failed
