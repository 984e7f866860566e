#!/usr/bin/env bash
# tests/check_tiny_lm.sh [KILLS]: tiny_lm as a user meets it: what it writes, how it stops, goes on,
# and refuses; and after a kill -9 at KILLS random moments (10) its checkpoint loads and training goes on.
# XTAPE_BIN_DIR is the folder with the demos' programs.
bin=$(cd "${XTAPE_BIN_DIR:?the folder with the demos}/tiny_lm" && pwd) || exit
kills=${1-10}
. "$(dirname "${BASH_SOURCE[0]}")/support/programs.sh"
export OMP_NUM_THREADS=${OMP_NUM_THREADS-1}  # of a model this small, more would only wait

# The same words in another order, again and again: 6 kB of which most can be learned.
awk 'BEGIN { srand(1)
  split("the quick brown fox jumps over a lazy dog and runs away", word, " ")
  for (i = 0; i < 1200; ++i) printf "%s%s", word[1 + int(rand() * 11)], i % 9 ? " " : "\n" }' >text

small=(--layers 2 --heads 4 --width 16 --hidden 24 --context 16 --batch 4 --warmup 5)
train() {  # train DIR ARGS...: a small model
  "$bin/tiny_lm" train --text text --out "$1" "${@:2}"
}
columns() {  # columns DIR: its metrics, without what a clock says
  sed -E 's/,"tokens_per_second":[^,}]*//' "$1/metrics.jsonl"
}
same() {  # same DIR DIR: one model, one history
  cmp "$1/model.safetensors" "$2/model.safetensors" && cmp <(columns "$1") <(columns "$2")
}

# What a run writes and says.
train whole "${small[@]}" --steps 60 --eval-every 20 --save-every 15 >stdout || wrong "train: exit code $?"
[ "$(grep -c '^step .* bits/byte  validation .* tokens/s .* left$' stdout)" -eq 3 ] ||
  wrong "train has not a line for each evaluation:" "$(cat stdout)"
[ "$(wc -l <whole/metrics.jsonl)" -eq 60 ] || wrong "metrics.jsonl has not a line for each step"
grep -q '"step":60,.*"validation_bits_per_byte"' <(sed -E 's/(.*)("step":[0-9]+,)(.*)/\2\1\3/' whole/metrics.jsonl) ||
  wrong "the last step was not evaluated"
if command -v gnuplot >/dev/null; then
  for words in 'loss (bits per byte)' 'steps of training' 'validation' '</svg>'; do
    grep -qF "$words" whole/loss.svg || wrong "loss.svg has no '$words'"
  done
fi
ls whole | grep -q '\.tmp$' && wrong "train left an unfinished file"
awk -F'[:,]' '/"step":1,/ { first = $2 } { last = $2 } END { exit !(last < first - 1) }' whole/metrics.jsonl ||
  wrong "train does not learn"

# A run that is interrupted and goes on has the bits of one that is not, whatever its kind.
for kind in '' '--attention ordinary' '--pairing halves --dtype double' '--composition --tied'; do
  # shellcheck disable=SC2086
  train "full$kind" "${small[@]}" --steps 400 --eval-every 70 --save-every 30 $kind >stdout || wrong "train $kind: exit code $?"
  # shellcheck disable=SC2086
  "$bin/tiny_lm" train --text text --out "parts$kind" "${small[@]}" --steps 400 --eval-every 70 \
    --save-every 30 $kind >stdout &  # not by the function, whose process would be another
  until [ -s "parts$kind/metrics.jsonl" ] || ! kill -0 $! 2>/dev/null; do sleep 0.01; done
  kill -INT $!
  wait $! || wrong "train $kind, interrupted: exit code $?"
  grep -q '^stopped after step [0-9]*: --resume goes on$' stdout || wrong "train $kind was not interrupted:" "$(cat stdout)"
  train "parts$kind" --resume >stdout || wrong "train --resume: exit code $?"
  grep -q ', from step [1-9]' stdout || wrong "--resume begins anew:" "$(cat stdout)"
  same "full$kind" "parts$kind" || wrong "$kind: after --resume the bits are others"
done
train whole --resume >stdout && tail -1 stdout | grep -q '^validation' || wrong "a finished run cannot be resumed"

# Any number of threads gives the same bits.
OMP_NUM_THREADS=2 train threads "${small[@]}" --steps 60 --eval-every 20 --save-every 15 --threads 2 >stdout
same whole threads || wrong "two threads give other bits"

# Fused attention and its composition differ by rounding: after 20 steps by at most 1e-4.
for way in '' --composition; do
  "$bin/tiny_lm" train --text text --out "way$way" --steps 20 --eval-every 5 --warmup 5 $way >stdout || wrong "train $way: exit code $?"
  tr ',{}' '\n\n\n' <"way$way/metrics.jsonl" | sed -n 's/"loss":\|"validation_bits_per_byte"://p' >"losses$way"
done
paste losses losses--composition | awk '
  { d = $1 - $2; if (NF != 2 || d > 1e-4 || d < -1e-4) { print "fused and composition: " $0; bad = 1 } }
  END { exit bad || NR != 24 }' || wrong "fused attention is not its composition"

# kill -9
begin=(train --text text --out killed "${small[@]}" --steps 100000 --save-every 1)
"$bin/tiny_lm" "${begin[@]}" >/dev/null &
for ((i = 0; i < kills; ++i)); do
  sleep "0.$((RANDOM % 5))$((RANDOM % 10))"
  kill -9 $!
  wait $! 2>/dev/null
  if [ -e killed/model.safetensors ]; then
    "$bin/tiny_lm" eval --model killed --text text >stdout 2>stderr || wrong "killed, the model does not load:" "$(cat stderr)"
    now=$(sed -E 's/.*after ([0-9]+) steps.*/\1/;q' stdout)
    [ "$now" -ge "${before-0}" ] || wrong "killed, training lost its way: step $now after $before"
    before=$now
    "$bin/tiny_lm" train --text text --out killed --resume >/dev/null 2>stderr &
  else
    "$bin/tiny_lm" "${begin[@]}" >/dev/null 2>stderr &
  fi
done
rm -f killed/metrics.jsonl
until [ -s killed/metrics.jsonl ] || ! kill -0 $! 2>/dev/null; do sleep 0.01; done
kill -INT $! && wait $! || wrong "killed $kills times, training does not go on:" "$(cat stderr)"
[ "${before-0}" -gt 0 ] || wrong "killed, training never made a step"
ls killed | grep -q '\.tmp$' && wrong "killed, training leaves unfinished files"
echo "killed $kills times, the last time at step $before"

# sample and eval
sample() { "$bin/tiny_lm" sample --model whole --prompt 'the ' "$@"; }
[ "$(sample --length 50 | wc -c)" -eq 55 ] || wrong "sample has not its length"
cmp <(sample --length 200) <(sample --length 200) || wrong "the same seed gives another sample"
cmp -s <(sample --seed 2) <(sample --seed 3) && wrong "another seed gives the same sample"
for way in '--temperature 0 --seed 2' '--top-k 1 --seed 3' '--top-p 0 --seed 4'; do
  # shellcheck disable=SC2086
  cmp <(sample --temperature 0) <(sample $way) || wrong "sample $way is not the likeliest text"
done
"$bin/tiny_lm" eval --model whole --text text | grep -q '^text, last tenth: [0-9.]* bits/byte after 60 steps' ||
  wrong "eval does not tell the loss"

# export: the weights alone, which write and measure the same, but training does not go on from them.
"$bin/tiny_lm" export --model whole --out weights || wrong "export: exit code $?"
[ "$(wc -c <weights/model.safetensors)" -lt "$(($(wc -c <whole/model.safetensors) / 2))" ] || wrong "an exported model is large"
cmp <(sample) <("$bin/tiny_lm" sample --model weights --prompt 'the ') || wrong "an exported model writes another text"
refused 'was exported' tiny_lm train --text text --out weights --resume
refused 'is there already' tiny_lm export --model whole --out weights

# --trace: a page of the first step, or of the next after --resume; the run is none the less the same.
for way in '' --composition; do
  train "traced$way" "${small[@]}" --steps 60 --eval-every 20 --save-every 15 --trace page.html $way >stdout || wrong "--trace: exit code $?"
  grep -q '<title>Step 1 of a tiny language model' page.html && grep -q '"label":"layers.1.mlp.down.weight"' page.html ||
    wrong "--trace writes no page of a step"
done
grep -q '"op":"softmax"' page.html || wrong "the page of a composition has no softmax"
same whole traced || wrong "--trace changes the run"
refused 'cannot write no/folder' tiny_lm train --text text --out x "${small[@]}" --trace no/folder

# compare
"$bin/tiny_lm" compare --text text --out both "${small[@]}" --steps 20 --eval-every 10 --seeds 2 >stdout || wrong "compare: exit code $?"
for words in 'attention      parameters' 'ordinary  ' 'differential  ' 'spread'; do
  grep -qF "$words" stdout || wrong "compare does not print '$words'"
done
[ -e both/ordinary-2/model.safetensors ] && [ -e both/differential-1/metrics.jsonl ] || wrong "compare did not keep its runs"

# A loss or gradient that is not finite stops at its step, and names the op.
train nan "${small[@]}" --lr 1e6 --steps 50 --dtype float >stdout 2>stderr
[ $? -eq 1 ] && grep -qE 'step [0-9]+: the (loss|gradient) is not finite, first in .*%[0-9]+: f32' stderr ||
  wrong "train goes on with NaN:" "$(cat stderr)"
"$bin/tiny_lm" eval --model nan --text text >stdout || wrong "what NaN stopped does not load"

# What is refused.
: >empty
head -c 100 text >few
printf 'caf\xc3\xa9' >other
head -c 5000 whole/model.safetensors >cut
mkdir cutdir strange
cp cut cutdir/model.safetensors
printf '\2\0\0\0\0\0\0\0{}' >strange/model.safetensors
refused 'cannot open missing' tiny_lm train --text missing
refused 'is too short' tiny_lm train --text few
refused 'a size of 0' tiny_lm train --text empty
refused 'is there already: --resume' tiny_lm train --text text --out whole
refused 'nowhere/model.safetensors' tiny_lm train --text text --out nowhere --resume
refused 'is not the text' tiny_lm train --text few --out whole --resume
refused '--lr' tiny_lm train --text text --out whole --resume --lr 1
refused '--text' tiny_lm train
refused '--bogus' tiny_lm train --text text --bogus
refused 'width 20 and 8 heads' tiny_lm train --text text --out x --width 20
refused '3 heads' tiny_lm train --text text --out x --heads 3 --width 12
refused '--attention' tiny_lm train --text text --attention cubic
refused '--pairing' tiny_lm train --text text --pairing none
refused '--steps' tiny_lm train --text text --steps 0
refused '--dtype' tiny_lm train --text text --dtype half
refused 'a warm-up of 100' tiny_lm train --text text --out x --steps 50
refused '--temperature' tiny_lm sample --model whole --prompt a --temperature nan
refused '--top-p' tiny_lm sample --model whole --prompt a --top-p 2
refused 'byte 195 at place 3' tiny_lm sample --model whole --prompt "$(cat other)"
refused '--prompt' tiny_lm sample --model whole --prompt ''
refused 'missing/model.safetensors' tiny_lm sample --model missing --prompt a
refused 'cutdir/model.safetensors' tiny_lm sample --model cutdir --prompt a
refused 'strange/model.safetensors is no model: no "config" is in its metadata' tiny_lm eval --model strange --text text
touch file
refused 'cannot make file/folder' tiny_lm train --text text --out file/folder

# N processes train as one does with N times the batch.
if command -v mpirun >/dev/null && ldd "$bin/tiny_lm" | grep -q libmpi; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  ranks=(mpirun --oversubscribe -n)
  # Every rank but the first waits for its text: nothing may depend on who is first.
  cat >late <<'END'
#!/bin/sh
text=text
if [ "$OMPI_COMM_WORLD_RANK" != 0 ]; then
  text=pipe && rm -f pipe && mkfifo pipe
  { sleep 0.5 && cat text >pipe; } &
fi
exec "$@" --text $text
END
  chmod +x late
  double=(--layers 2 --heads 4 --width 16 --context 16 --warmup 5 --dtype double --steps 30)
  for n in 1 2; do
    "${ranks[@]}" $n ./late "$bin/tiny_lm" train --out ranks$n "${double[@]}" --batch 4 >stdout 2>stderr ||
      wrong "$n ranks: exit code $?" "$(cat stderr)"
    train one$n "${double[@]}" --batch $((4 * n)) >stdout
    for folder in ranks$n one$n; do sed -E 's/.*"loss":([^,]*).*/\1/' $folder/metrics.jsonl >$folder/losses; done
    paste ranks$n/losses one$n/losses | awk '
      { d = ($1 - $2) / $2; if (NF != 2 || d > 1e-6 || d < -1e-6) { print; bad = 1 } }
      END { exit bad || NR != 30 }' || wrong "$n ranks have not the losses of one process"
  done
  "${ranks[@]}" 2 "$bin/tiny_lm" train --text text --out dead "${double[@]/30/1000000}" >stdout 2>stderr &
  run=$!
  until [ -s dead/metrics.jsonl ] || ! kill -0 $run 2>/dev/null; do sleep 0.05; done
  kill -9 "$(pgrep -P $run tiny_lm | tail -1)"
  wait $run && wrong "a rank was killed, and mpirun tells nobody"
  grep -qE 'rank 1.*(signal 9|Killed)|signal 9' stderr || wrong "a dead rank is not named:" "$(cat stderr)"
else
  echo "skipped: tiny_lm was built without MPI"
fi

exit $failed
