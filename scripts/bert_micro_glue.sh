#!/usr/bin/env bash
# Fine-tunes the masked language models of scripts/bert_micro.sh on GLUE, two untrained ones of the same shape, and SAS-P
# without norm once more under feedback: MRPC, STS-B, RTE and CoLA with 3 seeds, SST-2 on its first 20,000 rows with one,
# 3 epochs each.
# Leaves OUT/glue.md: the scores beside those of always predicting the commonest label. Run again, it trains only what is
# missing.
# Cost: 9 models of 1.6 M parameters in their blocks, about an hour on two CPU cores.
# Usage: scripts/bert_micro_glue.sh [--out FOLDER] GLUE_FOLDER     FOLDER: that of bert_micro.sh, default bert_micro
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=bert_micro
if [ "${1:-}" = --out ]; then
  out=${2:?bert_micro_glue: --out needs a folder}
  shift 2
fi
if [ $# -ne 1 ] || ! [ -d "$1" ]; then
  echo "bert_micro_glue: one argument is needed, the folder of GLUE with MRPC, STS-B, RTE, CoLA and SST-2" >&2
  exit 2
fi
glue=$(cd "$1" && pwd)
cd "$root"
scripts/setup.sh
scripts/build.sh release skipless

blocks=(pre_ln parallel v_skipinit sas sas_p sas_p_nonorm)
untrained=(pre_ln sas_p)
feedback=(model.sas_p.{beta_sa,beta_ff}.{trainable=false,feedback.power=0.5}) # docs/finetuning.md
for block in "${blocks[@]}"; do
  if ! [ -d "$out/$block" ]; then
    echo "bert_micro_glue: there is no $out/$block; scripts/bert_micro.sh --out $out makes it" >&2
    exit 2
  fi
done
mkdir -p "$out/glue/SST-2" "$out/logs"
for task in MRPC STS-B RTE CoLA; do ln -sfn "$glue/$task" "$out/glue/$task"; done
ln -sf "$glue/SST-2/dev.tsv" "$out/glue/SST-2/dev.tsv"
head -n 20001 "$glue/SST-2/train.tsv" >"$out/glue/SST-2/train.tsv" # the first line has the names

models() { # NAME BLOCK [OPTION ...] of each, NUL-terminated
  for block in "${blocks[@]}"; do printf '%s %s\0' "$block" "$block"; done
  for block in "${untrained[@]}"; do printf '%s_untrained %s --untrained\0' "$block" "$block"; done
  printf 'sas_p_nonorm_feedback sas_p_nonorm %s\0' "${feedback[*]}"
}
# shellcheck disable=SC2016
models | xargs -0 -P 2 -I {} bash -c '
  set -euo pipefail
  read -r name block options <<<"$2"
  echo "$name"
  for set in "mrpc,stsb,rte,cola 3" "sst2 1"; do
    read -r tasks seeds <<<"$set"
    # shellcheck disable=SC2086
    build/release/skipless finetune "$1/$block" --task "$tasks" --seeds "$seeds" --glue "$1/glue" $options \
      --out "$1/scores/$name/$tasks" train.epochs=3 train.threads=1 >"$1/logs/glue_$name.log" 2>&1 ||
      { echo "$name failed:"; tail -n 5 "$1/logs/glue_$name.log"; exit 1; }
  done
' _ "$out" {}

.venv/bin/python scripts/glue_table.py "$out/glue.md" "$out/scores"
