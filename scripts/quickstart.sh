#!/usr/bin/env bash
# From a fresh clone to a comparison of blocks: installs what is missing, builds, and trains on text that every machine has,
# on two CPU cores. Run again, it resumes or says that it is done.
# Usage: scripts/quickstart.sh [--bert] [key=value ...]     e.g. scripts/quickstart.sh train.steps=100
#   without --bert: Pre-LN, SAS and SAS-P as causal language models of the Python standard library, with the same seed,
#     data and steps (at most 5 minutes); leaves a table and quickstart/quickstart.png
#   --bert: Pre-LN and SAS-P as masked language models of the docstrings of the machine's Python packages, one minute each
#     (3 minutes in all); fills a masked word, leaves a table and quickstart/bert/loss_vs_runtime.png
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
bert=false
if [ "${1:-}" = --bert ]; then
  bert=true
  shift
fi

scripts/setup.sh
scripts/build.sh release skipless
skipless=build/release/skipless

train_blocks() { # train_blocks CONFIG FOLDER BLOCK ... -- [key=value ...]: leaves the runs in $runs
  local config=$1 out=$2 block blocks=()
  shift 2
  while [ "$1" != -- ]; do
    blocks+=("$1")
    shift
  done
  shift
  runs=()
  for block in "${blocks[@]}"; do
    printf '\n== %s\n' "$block"
    "$skipless" train "$config" "model.block=$block" "data.folder=$out/data" "$@" --run "$out/$block"
    runs+=("$out/$block")
  done
  printf '\n'
}

if $bert; then
  out=quickstart/bert
  .venv/bin/python scripts/collect_text.py --docstrings --out "$out/text.jsonl"
  "$skipless" prepare "$out/text.jsonl" --field text --tokenizer data/tokenizers/english_8192 --validation-fraction 0.02 \
    --out "$out/data"
  # The settings of 8 minutes, but for the minute and for more looks at what it brings.
  settings=("$@")
  for setting in train.hours=0.0167 train.eval_every=50 train.eval_tokens=16384; do
    if [[ " $* " != *" ${setting%%=*}="* ]]; then settings+=("$setting"); fi
  done
  train_blocks configs/bert_micro.yaml "$out" pre_ln sas_p -- "${settings[@]}"
  .venv/bin/python scripts/figures/loss_vs_runtime.py "${runs[@]}" "$out/loss_vs_runtime.png"
  sentence='Returns a new [MASK] with the same values as the input tensor.'
  printf '\n%s\n' "$sentence"
  "$skipless" fill "$out/sas_p" "$sentence"
  printf '\nThe picture is %s. To go on: scripts/fig_bert_runtime.sh, six blocks in 18 minutes\n' "$out/loss_vs_runtime.png"
  exit
fi

out=quickstart
standard_library=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["stdlib"])')
"$skipless" prepare "$standard_library" --glob '*.py' --exclude site-packages --exclude dist-packages \
  --tokenizer data/tokenizers/python_4096 --out "$out/data"
train_blocks configs/quickstart.yaml "$out" pre_ln sas sas_p -- "$@"
.venv/bin/python scripts/figures/compare_runs.py "${runs[@]}" --picture "$out/quickstart.png" --table "$out/quickstart.md"
printf '\nThe picture is %s. To go on: %s train --help\n' "$out/quickstart.png" "$skipless"
