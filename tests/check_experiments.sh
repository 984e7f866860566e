#!/usr/bin/env bash
# The experiments as a user meets them: figures, files, exit codes. controls takes minutes, so only its
# options are tried. XTAPE_BIN_DIR is the folder with the programs.
bin=$(cd "${XTAPE_BIN_DIR:?the folder with the demos}" && pwd) || exit
. "$(dirname "${BASH_SOURCE[0]}")/support/programs.sh"

# drawn FILE WORDS...: a chart that has the words
drawn() {
  local words
  command -v gnuplot >/dev/null || return
  for words in "${@:2}" '</svg>'; do grep -qF "$words" "$1" || wrong "$1 has no '$words'"; done
}

# depth
ends 0 depth --out deep
[ "$(grep -c ': ok$' stdout)" -eq 5 ] || wrong "depth does not say that it checked"
drawn deep/depth.svg 'signal, independent maps' 'shared disturbance' 'What float loses, 4 layers'
# Columns: maps, layers, lambda; of disturbance and signal the gain in float and double; float's loss.
awk -F, '
  function off(a, b, allowed) { return a - b > allowed || b - a > allowed }
  NR == 1 { next }
  { passed = 1; for (i = 0; i < $2; ++i) passed *= $3 < 1 ? 1 - $3 : $3 - 1 }
  $3 == "0.0" { ordinary[$2] = $7 }
  NF != 8 || off($4, passed, 2e-5) || off($5, passed, 1e-6) || off($6, $7, 2e-5) ||
  $1 == "identical" && off($7, passed * ordinary[$2], 1e-6) ||
  $1 != "identical" && $3 == "1.0" && $7 <= 0 { print "wrong: " $0; bad = 1 }
  $1 == "nearly identical" && $3 == "1.0" && $8 > 1e-5 { ++drowned }
  END {
    if (drowned != 2 || NR != 91) { print NR " lines, " drowned " drowned"; bad = 1 }
    exit bad
  }' deep/depth.csv || wrong "depth.csv is wrong"
ends 1 depth --difference 1 --out broken
grep -q 'at most 0.1, but not nothing: WRONG$' stdout ||
  wrong "depth does not say which claim is wrong:" "$(cat stdout)"
PATH=/nowhere ends 0 depth --layers 2 --out bare
grep -q 'gnuplot was not found' stdout || wrong "depth does not say that gnuplot is missing"
refused '--layers' depth --layers 1
touch file
refused 'cannot make file/folder' depth --out file/folder

# common_mode: a seed that bears the claims out, and a task without the disturbance, which does not.
for folder in one again; do ends 1 common_mode --seeds 1 --steps 50 --out $folder; done
cmp one/common_mode.csv again/common_mode.csv || wrong "common_mode: other numbers for a seed"
refused '--seeds' common_mode --seeds one
refused '--steps' common_mode --steps 0
refused '--bogus' controls --bogus

ends 0 common_mode --seeds 1 --out common
[ "$(grep -c ': ok$' stdout)" -eq 3 ] || wrong "common_mode does not say that it checked"
drawn common/common_mode.svg 'Right answers' 'training step' 'Where queries look, by seed'
# Columns: task, model, seed, step, accuracy, a lambda for each layer.
awk -F, '
  NR == 1 { good = $0 == "task,model,seed,step,accuracy,lambda_1,lambda_2"; next }
  $2 ~ /ordinary/ { ++rows["ordinary"]; if ($5 >= 0.5 || $6 != "") good = 0 }
  $2 ~ /differential/ { ++rows["differential"]; if ($4 >= 400 && $5 < 0.9) good = 0 }
  $2 ~ /differential/ && $4 == 600 && ($6 < 0.85 || $6 > 1.15) { good = 0 }
  END { exit !good || rows["ordinary"] != 24 || rows["differential"] != 24 }' \
  common/common_mode.csv || wrong "common_mode.csv is wrong:" "$(cat common/common_mode.csv)"
# A map's weights sum to 1, the signed map's to 1 - lambda.
awk -F, '
  function off(a, b) { return a - b > 3e-4 || b - a > 3e-4 }  # of figures rounded to 1e-4
  FILENAME != last { last = FILENAME; line = 0 }
  ++line == 1 { next }
  FILENAME ~ /mode\.csv/ { if ($6 != "") lambda = $6; next }
  { ++maps; sum = $4 + $5 + $6 }
  off(sum, $3 == "A1 - lambda A2" ? 1 - lambda : 1) { print "wrong: " $0; bad = 1 }
  END { exit bad || maps != 4 }' common/common_mode.csv common/common_mode_attention.csv ||
  wrong "common_mode_attention.csv is wrong"
ends 1 common_mode --seeds 1 --sigma 0 --steps 200 --out none
grep -q '^Ordinary .*: WRONG$' stdout || wrong "common_mode does not say which claim is wrong"

ls ./* | grep '\.tmp$' && wrong "an experiment left an unfinished file"
exit $failed
