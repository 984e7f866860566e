# Shared by the checks of the demos' programs, which are in $bin: a folder to work in, which goes
# away, and what a check says. A check ends with: exit $failed
work=$(mktemp -d) || exit
trap 'rm -rf "$work"' EXIT
cd "$work" || exit
failed=0

wrong() {  # wrong TEXT...: a check failed
  printf '%s\n' "$@"
  failed=1
}

# ends CODE PROGRAM ARGS...: the exit code; what is printed goes to stdout and stderr.
ends() {
  local code=$1 status=0
  shift
  "$bin/$1" "${@:2}" >stdout 2>stderr || status=$?
  [ $status -eq "$code" ] || wrong "$*: exit code $status, not $code" "$(cat stdout stderr)"
}

# refused WORDS PROGRAM ARGS...: exit code 2 and exactly one line on stderr that has the words.
refused() {
  local words=$1
  shift
  ends 2 "$@"
  [ "$(wc -l <stderr)" -eq 1 ] || wrong "$*: not one line on stderr:" "$(cat stderr)"
  grep -qF -- "$words" stderr || wrong "$*: no '$words' in: $(cat stderr)"
}
