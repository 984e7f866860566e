# Shared by demos/run.sh, tests/run.sh and .ci/run: installs what is missing and builds a preset.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}

fail() {  # fail LINE...: what is wrong and what to do, on stderr
  printf '%s\n' "$@" >&2
  exit 2
}

# stage NAME COMMAND...: one line with its seconds. The output goes to build/NAME.log: on a terminal
# its last line is shown meanwhile, and after a failure all of it, less the tests that passed.
stage() {
  local name=$1 log="$root/build/${1// /-}.log" start=$SECONDS status=0
  shift
  mkdir -p "$root/build" || exit 2
  printf '%-40s' "$name"
  if [ -t 1 ]; then
    set -o pipefail
    "$@" </dev/null 2>&1 | tee "$log" | last_line "$name" || status=$?
    set +o pipefail
  else
    "$@" </dev/null >"$log" 2>&1 || status=$?
  fi
  if [ $status -eq 0 ]; then
    printf '%5d s\n' $((SECONDS - start))
  else
    printf '%5d s, failed:\n' $((SECONDS - start))
    grep -vE '^ +Start +[0-9]+: | Passed +[0-9.]+ sec' "$log"
  fi
  return $status
}

last_line() {
  local line width
  width=$(tput cols 2>/dev/null || echo 80)
  while IFS= read -r line; do
    printf '\r\033[K%-40s%.*s' "$1" $((width > 41 ? width - 41 : 1)) "$line"
  done
  printf '\r\033[K%-40s' "$1"
}

installed() {  # a package by its program's name (cmake, g++, clang-14), or by dpkg
  command -v "$1" >/dev/null ||
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# install PACKAGE...: Debian's names; asks apt only for those that are not there.
install() {
  local package missing=() sudo=()
  command -v apt-get >/dev/null || return 0
  for package; do installed "$package" || missing+=("$package"); done
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      fail "Not installed: ${missing[*]}" "As root: apt-get install ${missing[*]}"
    sudo=(sudo)
    [ -t 0 ] || sudo=(sudo -n)  # nobody is there to type a password
  fi
  sudo+=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300)
  echo "installing ${missing[*]}"
  stage "apt-get update" "${sudo[@]}" -o Acquire::Retries=3 update || true
  stage "apt-get install" "${sudo[@]}" -o Acquire::Retries=3 install -y --no-install-recommends \
    "${missing[@]}" || fail "apt-get could not install: ${missing[*]}"
}

what_to_install() {
  cat <<'TEXT'
xtape's demos and tests need CMake 3.25, Ninja, a C++17 compiler, xtl, xtensor, xsimd, CLI11,
gnuplot, doctest, nlohmann/json and, for the benchmarks, Google Benchmark:
  conda-forge  conda install cmake ninja cxx-compiler xtl "xtensor<0.27" xsimd cli11 gnuplot \
               doctest nlohmann_json benchmark
  Homebrew     brew install cmake ninja xtl xtensor xsimd cli11 gnuplot doctest nlohmann-json \
               google-benchmark
  vcpkg        vcpkg install xtl xtensor xsimd cli11 doctest nlohmann-json benchmark
               (with CMAKE_TOOLCHAIN_FILE set to vcpkg's; CMake, Ninja and gnuplot from elsewhere)
Then run this again.
TEXT
}

check_tools() {  # check_tools PROGRAM...: what apt could not bring, and CMake's version
  local program version
  for program; do
    command -v "$program" >/dev/null ||
      fail "$program was not found, and neither was apt-get to install it." "$(what_to_install)"
  done
  version=$(cmake --version | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')
  [ "$(printf '%s\n' 3.25 "$version" | sort -V | head -n 1)" = 3.25 ] ||
    fail "cmake $version is too old: xtape needs 3.25 or newer." \
      "'pip install cmake' or 'snap install --classic cmake' brings one; it must come first in PATH."
}

build() {  # build PRESET OPTION...: configures with the options, then builds
  local preset=$1 run=()
  shift
  stage "configure $preset" cmake -S "$root" --preset "$preset" "$@" || {
    command -v apt-get >/dev/null || fail "" "$(what_to_install)"
    exit 1
  }
  stage "build $preset" steady "$preset" cmake --build "$root/build/$preset" -j "$jobs" || exit 1
}

# kernels_tested PRESET: with which kernels its whole test program ran last, and with which not.
kernels_tested() {
  awk '
    match($0, / isa_[a-z0-9]+ \.+/) && !/ isa_unknown / {
      isa = substr($0, RSTART + 5)
      sub(/ .*/, "", isa)
      if (/ Passed /) ran = ran " " isa
      else if (/Skipped/) lacking = lacking " " isa
      else failed = failed " " isa
    }
    END {
      if (!(ran failed lacking)) exit  # sanitizers
      text = "kernels tested:" (ran ? ran : " none")
      if (failed) text = text "; failed:" failed
      if (lacking) text = text "; not run, this processor has none:" lacking
      print text
    }' "$root/build/test-$1.log"
}

# steady PRESET COMMAND...: older sanitizers lose their way in widely randomised address spaces.
steady() {
  local preset=$1
  shift
  case $preset in
    asan | tsan) setarch -R true 2>/dev/null && set -- setarch -R "$@" ;;
  esac
  "$@"
}
