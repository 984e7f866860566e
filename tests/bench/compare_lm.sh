#!/usr/bin/env bash
# Training steps of tiny_lm beside the same model in PyTorch, on this machine, in one run.
#
#   tests/bench/compare.sh --install    PyTorch, once, as for compare.sh
#   tests/bench/compare_lm.sh           both attentions, 1 and 2 threads; writes build/bench/compare_lm.md
#   tests/bench/compare_lm.sh --threads 1 --rounds 100 --kinds ordinary --ways plain,sdpa-compiled
#   tests/bench/compare_lm.sh --out FOLDER writes there;   --help: every option
#
# 2 layers, width 128, 8 heads or 4 differential, context 128, batch 16, float; forward, gradients,
# clipping and AdamW. PyTorch loads the file that xtape writes: logits and loss must agree to 1e-5,
# and the losses of ten steps to 1e-3, else the exit status is 1.
. "$(dirname "${BASH_SOURCE[0]}")/../support/setup.sh"

cache=${XDG_CACHE_HOME:-${HOME:?}/.cache}/xtape-bench
out=$root/build/bench
python=$cache/venv/bin/python
export PYTHONDONTWRITEBYTECODE=1
options=()
while [ $# -gt 0 ]; do
  case $1 in
    --out)
      [ -n "${2-}" ] || fail "--out needs a folder."
      out=$2 && shift
      ;;
    *) options+=("$1") ;;
  esac
  shift
done
"$python" -c 'import torch' 2>/dev/null ||
  fail "There is no PyTorch in $cache: tests/bench/compare.sh --install brings it."
"$python" -c 'import safetensors.torch' 2>/dev/null ||
  stage "pip install safetensors" "$python" -m pip install safetensors || exit
run() {
  "$python" "$root/tests/bench/compare_lm/compare_lm.py" --bin "$root/build/bench/tests/bench" \
    --cache "$cache" --out "$out" "$@"
}
case " ${options[*]-} " in *' --help '* | *' -h '*) run --help; exit ;; esac

install cmake ninja-build g++ libxtensor-dev libxsimd-dev xtl-dev nlohmann-json3-dev
check_tools cmake "${CXX:-c++}"
stage "configure" cmake -G Ninja -S "$root" -B "$root/build/bench" \
  -DCMAKE_BUILD_TYPE=Release -DXTAPE_BUILD_TESTS=OFF -DXTAPE_BUILD_DEMOS=OFF || exit
stage "build" cmake --build "$root/build/bench" -j "$jobs" --target compare_lm_xtape || exit
run "${options[@]}"
status=$?
echo "$out/compare_lm.md"
exit $status
