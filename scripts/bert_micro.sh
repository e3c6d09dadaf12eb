#!/usr/bin/env bash
# Loss against runtime of six blocks as a masked language model, the paper's Fig. 7 at a scale for two CPU cores: Pre-LN,
# parallel, SAS, SAS-P, SAS-P without norm and V-SkipInit (Eq. 4), 8 minutes each, one after the other, by
# configs/bert_micro.yaml. Leaves bert_micro/loss_vs_runtime.png and .md. Run again, it trains only what is missing.
# Cost: 6 runs, about 50 minutes on two CPU cores with nothing else to do.
# Paper: 16 x 768, 24 hours on a 2080 Ti: in that time SAS makes 1.09 and SAS-P 1.16 times the steps of Pre-LN, SAS-P
# without norm 1.20 times, and SAS and SAS-P reach Pre-LN's loss.
# Usage: scripts/bert_micro.sh [--out FOLDER] [TEXT_FOLDER] [key=value ...]
#   TEXT_FOLDER: a folder of .txt files; default: data/text of SKIPLESS_SHARED (../shared), else the docstrings of this
#   machine's Python packages. key=value: overrides of the config, for all six runs.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
out=bert_micro
text=
settings=()
while [ $# -gt 0 ]; do
  case "$1" in
    --out) out=${2:?bert_micro: --out needs a folder} && shift ;;
    *=*) settings+=("$1") ;;
    *) text=$1 ;;
  esac
  shift
done
shared=${SKIPLESS_SHARED:-$root/../shared}
if [ -z "$text" ] && [ -d "$shared/data/text" ]; then text=$shared/data/text; fi
if [ -n "$text" ] && ! [ -d "$text" ]; then
  echo "bert_micro: '$text' is no folder of text files" >&2
  exit 2
fi

scripts/setup.sh
scripts/build.sh release skipless
skipless=build/release/skipless

if [ -n "$text" ]; then source=("$text"); else source=(--docstrings); fi
.venv/bin/python scripts/collect_text.py --out "$out/text.jsonl" "${source[@]}"
if ! [ -f "$out/tokenizer/tokenizer.json" ]; then
  .venv/bin/python scripts/train_wordpiece.py --vocab-size 8192 --field text --out "$out/tokenizer/tokenizer.json" \
    "$out/text.jsonl"
fi
"$skipless" prepare "$out/text.jsonl" --field text --tokenizer "$out/tokenizer" --validation-fraction 0.01 --out "$out/data"

runs=()
for name in pre_ln parallel sas sas_p sas_p_nonorm v_skipinit; do
  printf '\n== %s\n' "$name"
  norm=layer_norm
  if [ "$name" = sas_p_nonorm ]; then norm=none; fi
  "$skipless" train configs/bert_micro.yaml "model.block=${name%_nonorm}" "model.norm=$norm" "data.folder=$out/data" \
    "${settings[@]}" --run "$out/$name"
  runs+=("$out/$name")
done

printf '\n'
.venv/bin/python scripts/figures/loss_vs_runtime.py "${runs[@]}" "$out/loss_vs_runtime.png"
