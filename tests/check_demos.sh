#!/usr/bin/env bash
# The demos as a user meets them: their figures, files, exit codes and error lines.
# XTAPE_BIN_DIR is the folder with their programs.
demos=$(cd "$(dirname "${BASH_SOURCE[0]}")/../demos" && pwd) || exit
bin=$(cd "${XTAPE_BIN_DIR:?the folder with the demos}" && pwd) || exit
. "$(dirname "${BASH_SOURCE[0]}")/support/programs.sh"

# cancellation
"$bin/cancellation" --out folder/deep >stdout || wrong "cancellation: exit code $?"
[ "$(grep -c ': ok$' stdout)" -eq 2 ] || wrong "cancellation does not say that it checked"
# Columns: lambda; for maps that differ and the same: gain of the offset, of the signal, its slope.
awk -F, '
  function off(a, b) { return a - b > 1e-12 || b - a > 1e-12 }
  BEGIN { kept = 0.807699154254183 }
  NR == 1 { next }
  off($1, (NR - 2) / 10) || off($2, 1 - $1) || off($3, 1 - $1) || off($4, kept - 0.25 * $1) ||
  off($5, kept * (1 - $1)) || off($6, -0.25) || off($7, -kept) { print "wrong: " $0; bad = 1 }
  $1 == "0.0" { gains = sprintf("%.4f %.4f", $4, $5) }
  $1 == "0.5" || $1 == "1.0" { gains = gains sprintf(" %.4f %.4f", $4, $5) }
  END {
    if (gains != "0.8077 0.8077 0.6827 0.4038 0.5577 0.0000") { print "gains " gains; bad = 1 }
    if (NR != 12) { print NR - 1 " rows"; bad = 1 }
    exit bad
  }' folder/deep/cancellation.csv || wrong "cancellation.csv is wrong"
if command -v gnuplot >/dev/null; then
  for words in 'λ, the weight of the second map (dimensionless)' 'gain: output / input (dimensionless)' \
    'signal, maps differ' 'signal, maps the same' 'shared offset' '</svg>'; do
    grep -qF "$words" folder/deep/cancellation.svg || wrong "cancellation.svg has no '$words'"
  done
fi
ls folder/deep | grep -q '\.tmp$' && wrong "cancellation left an unfinished file"

PATH=/nowhere "$bin/cancellation" --out bare >stdout || wrong "without gnuplot: exit code $?"
grep -q 'gnuplot was not found' stdout || wrong "cancellation does not say that gnuplot is missing"
[ -s bare/cancellation.csv ] || wrong "cancellation without gnuplot wrote no table"
touch file
refused 'cannot make file/folder' cancellation --out file/folder
mkdir -p taken/cancellation.csv
refused 'cannot write taken/cancellation.csv' cancellation --out taken
refused '--bogus' cancellation --bogus

# first_steps
"$bin/first_steps" >stdout || wrong "first_steps: exit code $?"
for words in '%2: f64[3] = mul(%1:w, %0:x)' 'dy/dx = [-1, 2, -1]' 'dy/dw = [-2, -4, -6]' \
  'digraph tape {'; do
  grep -qF "$words" stdout || wrong "first_steps does not print '$words'"
done

# own_model
"$bin/own_model" >stdout || wrong "own_model: exit code $?"
awk '/^step/ { loss[$2] = $4 } END { exit !(loss["0:"] > 0.3 && loss["999:"] < 0.01) }' stdout ||
  wrong "own_model does not learn:" "$(cat stdout)"
grep -qx 'own_model.safetensors: 97 numbers after 1000 steps, the same model when loaded again' stdout ||
  wrong "own_model does not say that it loaded what it saved"
[ -s own_model.safetensors ] || wrong "own_model saved nothing"
"$bin/own_model" deep.safetensors >/dev/null && cmp own_model.safetensors deep.safetensors ||
  wrong "own_model saves another model when run again"
refused 'nowhere/x: cannot be created' own_model nowhere/x

# char_attention
for _ in {1..40}; do echo 'Grüße, 10 € für dich 😀!'; done >text
short=(--text text --steps 4 --every 2 --context 8 --batch 2 --width 16 --sample 30)
run() {  # run ARGS...: its output, without what a clock says
  "$bin/char_attention" "${short[@]}" "$@" | sed -E 's/[0-9]+ tokens\/s//; s/in [0-9]+ s$//'
  return "${PIPESTATUS[0]}"
}
run --seed 1 >one || wrong "char_attention: exit code $?"
run --seed 1 >again && run --seed 2 >other || wrong "char_attention: exit code $?"
cmp one again || wrong "char_attention: the same seed gives other numbers"
cmp -s one other && wrong "char_attention: another seed gives the same numbers"
for words in 'step     2 of 4' 'step     4 of 4' 'unigram entropy' 'validation' 'lambda'; do
  grep -qF "$words" one || wrong "char_attention does not print '$words'"
done
# Fused attention and its composition differ by rounding: after 20 steps by at most 1e-4.
for way in '' --composition; do
  "$bin/char_attention" --steps 20 --every 5 --sample 1 $way >"losses$way" ||
    wrong "char_attention $way: exit code $?"
done
# Columns: step, training and validation loss.
for way in '' --composition; do
  sed -nE 's/^step +([0-9]+) of .*training ([0-9.]+) +validation ([0-9.]+) .*/\1 \2 \3/p' \
    "losses$way" >"columns$way"
done
paste -d ' ' columns columns--composition | awk '
  function off(a, b) { return a - b > 9e-5 || b - a > 9e-5 }  # of figures rounded to 1e-5
  NF != 6 || off($2, $5) || off($3, $6) { print "fused and composition: " $0; bad = 1 }
  END { exit bad || NR != 4 }' || wrong "char_attention: fused attention is not its composition"

iconv -f UTF-8 -t UTF-8 one >/dev/null || wrong "char_attention's sample is not UTF-8"

: >empty
echo short >few
mkdir folder.txt
refused 'cannot open missing.txt' char_attention --text missing.txt
refused 'empty is empty' char_attention --text empty
refused 'few is too short' char_attention --text few
refused 'folder.txt is a directory' char_attention --text folder.txt
[ -e /proc/self/mem ] && refused 'cannot read /proc/self/mem' char_attention --text /proc/self/mem
chmod 000 few
[ -r few ] || refused 'cannot open few' char_attention --text few
for bytes in 'good\xff' '\xc0\x80' '\xed\xa0\x80' 'cut\xe2\x82'; do
  printf "$bytes" >bytes
  refused 'bytes is not UTF-8 text' char_attention --text bytes
done
refused '--bogus' char_attention --bogus
refused '--seed' char_attention --seed -1
refused '--steps' char_attention --steps many
refused 'not nan' char_attention --rate nan
refused '3 heads' char_attention --heads 3
if [ -w /dev/full ]; then
  "$bin/char_attention" "${short[@]}" >/dev/full 2>stderr
  [ $? -eq 2 ] && [ "$(wc -l <stderr)" -eq 1 ] || wrong "char_attention to a full disk"
fi
"$bin/char_attention" --text text --context 8 --width 16 --rate 10 --decay 10 >stdout 2>stderr
[ $? -eq 1 ] && grep -q 'no longer finite' stderr || wrong "char_attention trains on NaN"

# Every demo writes a page that steps through a tape of it.
traces() {  # traces PROGRAM ARGS...
  "$bin/$1" "${@:2}" --trace "$1.html" >stdout || wrong "$1 --trace: exit code $?"
  grep -q '<html' "$1.html" && grep -q '"gradient"' "$1.html" || wrong "$1 --trace: no page of a tape"
}
traces first_steps
traces cancellation
traces char_attention "${short[@]}"
refused 'cannot write no/folder' first_steps --trace no/folder
# own_model, the shortest program that trains and saves, takes no options.
for source in "$demos"/*.cpp; do
  name=$(basename "$source" .cpp)
  [ $name = own_model ] || [ -e "$name.html" ] || wrong "no test of $name --trace"
done

exit $failed
