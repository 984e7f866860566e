#!/usr/bin/env bash
# ./tests/fuzz/run.sh [SECONDS [OPTION...]]  the reader of weights under libFuzzer, with the address
# and undefined behaviour sanitizers: 60 seconds unless another number is given, then libFuzzer's
# options. What it finds goes to build/fuzz/found, inputs that reach new code to build/fuzz/corpus.
. "$(dirname "${BASH_SOURCE[0]}")/../support/setup.sh"
seconds=${1:-60}
install clang-14 nlohmann-json3-dev
check_tools clang++-14
[ -e "$(clang++-14 -print-file-name=libclang_rt.fuzzer-"$(uname -m)".a 2>/dev/null)" ] ||
  install libclang-rt-14-dev
cd "$root" || exit
out=build/fuzz
mkdir -p $out/corpus $out/found

# The sources that the reader needs, and no others.
compile() {
  clang++-14 -std=c++17 -O1 -g1 -fno-omit-frame-pointer -fsanitize=fuzzer,address,undefined \
    -fno-sanitize-recover=all -DXTAPE_STATIC -Iengine/include -Iops/include \
    engine/src/{array,files,memory,safetensors,safetensors_header,shape,state}.cpp \
    tests/fuzz/{safetensors,mutator}.cpp -o $out/safetensors
}
stage "build fuzz" compile || exit
[ -d /dev/shm ] && export TMPDIR=/dev/shm  # a file for each input: not on a disk
exec $out/safetensors -max_total_time="$seconds" -max_len=2048 -timeout=20 \
  -dict=tests/fuzz/safetensors.dict -artifact_prefix=$out/found/ -print_final_stats=1 "${@:2}" \
  $out/corpus tests/fuzz/corpus
