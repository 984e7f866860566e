#!/usr/bin/env bash
# The object file of each kind of processor shows the linker its one function, and templates over
# that processor's own type. Any other inline function in it would be compiled for that processor,
# and the linker might take it for code that runs on all. XTAPE_BUILD is a build tree, or
# XTAPE_KERNELS a folder with the object files.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
objects=${XTAPE_KERNELS:-${XTAPE_BUILD:?a build tree}/CMakeFiles/xtape.dir/ops/kernels}
failed=0
checked=()

shown() {  # shown NAME: the symbols of its object file that other files can see
  "${NM:-nm}" -C --defined-only "$objects/$1.cpp.o" | grep -E '^[0-9a-f]* *[A-TV-Zivwu] '
}

shown scalar | grep -q ' T xtape::detail::scalar_tables()$' || {
  echo "$objects holds no kernels"
  exit 1
}
for isa in $(grep -lE 'tables<xsimd::' ops/kernels/*.cpp | sed 's|.*/||; s|\.cpp$||'); do
  [ -e "$objects/$isa.cpp.o" ] || { echo "ops/kernels/$isa.cpp is not compiled"; failed=1; }
  symbols=$(shown "$isa") || continue  # nothing: for another family of processors
  type=$(grep -oE 'tables<[a-z0-9_:<]+' "ops/kernels/$isa.cpp" | sed 's/.*<//')  # xsimd::avx2
  # Compiled as everything else is for ARM; xsimd takes the addresses of inline functions there.
  [ "$isa" = neon64 ] && type=xsimd
  others=$(grep -vE " T xtape::detail::${isa}_tables\(\)$| V DW\.ref\.__g(cc|xx)_personality_v0$|\b$type\b" \
    <<<"$symbols") && {
    printf 'ops/kernels/%s.cpp: %d symbols that must be local, such as\n%s\n' "$isa" \
      "$(wc -l <<<"$others")" "$(head -n 5 <<<"$others")"
    failed=1
  }
  checked+=("$isa")
done
echo "symbols checked of: ${checked[*]}"
exit $failed
