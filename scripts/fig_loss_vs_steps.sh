#!/usr/bin/env bash
# Loss against steps of six blocks at the paper's depth (its Fig. 5): Pre-LN, parallel, V-SkipInit (Eq. 4), SAS, SAS-P and
# SAS-P without norm, 18 layers, 128 wide, 3 M tokens of the Python standard library. The rate of each block is the best
# of one grid of three on 0.5 M tokens; Pre-LN, SAS-P and V-SkipInit then run with three seeds, the others with one.
# Leaves micro/loss_vs_steps.md and .png. Run again, it trains only what is missing.
# Cost: 30 runs, 45 M tokens, about 3 hours on two CPU cores.
# Paper: 18 x 768, 700 M tokens: Pre-LN 1.155 after 40 K steps, SAS-P at or below it per step, V-SkipInit behind.
# Usage: scripts/fig_loss_vs_steps.sh [--jobs N]     runs side by side, of one thread each; default 2
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
jobs=2
if [ "${1:-}" = --jobs ] && [[ "${2:-}" =~ ^[1-9][0-9]*$ ]] && [ $# -eq 2 ]; then
  jobs=$2
elif [ $# -gt 0 ]; then
  echo "fig_loss_vs_steps: the only option is --jobs N, with N of at least 1" >&2
  exit 2
fi
out=micro
rates=(3.0e-4 1.0e-3 3.0e-3)
blocks=(pre_ln parallel v_skipinit sas sas_p sas_p_nonorm)
grid_steps=244 # 0.5 M tokens

scripts/setup.sh
scripts/build.sh release skipless
skipless=$root/build/release/skipless
mkdir -p "$out/logs"

standard_library=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["stdlib"])')
"$skipless" prepare "$standard_library" --glob '*.py' --exclude site-packages --exclude dist-packages \
  --tokenizer data/tokenizers/python_4096 --out "$out/data"

# line NAME BLOCK RATE SEED [key=value ...]: the arguments of one run, NUL-terminated
line() {
  local name=$1 block=$2 rate=$3 seed=$4 norm=rms_norm
  shift 4
  if [ "$block" = sas_p_nonorm ]; then norm=none; fi
  printf '%s\0' "$name model.block=${block%_nonorm} model.norm=$norm train.lr=$rate train.seed=$seed train.data_seed=$seed $*"
}
run_all() { # runs what it reads, $jobs at a time
  # shellcheck disable=SC2016
  xargs -0 -P "$jobs" -I {} bash -c '
    set -euo pipefail
    read -r name settings <<<"$3"
    echo "$name"
    # shellcheck disable=SC2086
    "$1" train configs/micro_18x128.yaml data.folder="$2/data" $settings --run "$2/$name" >"$2/logs/${name//\//_}.log" 2>&1 ||
      { echo "$name failed:"; tail -n 5 "$2/logs/${name//\//_}.log"; exit 1; }
  ' _ "$skipless" "$out" {}
}

for rate in "${rates[@]}"; do
  for block in "${blocks[@]}"; do
    line "grid/$block/$rate" "$block" "$rate" 0 "train.steps=$grid_steps"
  done
done | run_all

for seed in 0 1 2; do
  for block in "${blocks[@]}"; do
    case "$seed $block" in 0\ * | *\ pre_ln | *\ sas_p | *\ v_skipinit) ;; *) continue ;; esac
    rate=$(.venv/bin/python scripts/loss_vs_steps.py best-rate "$out/grid/$block")
    line "runs/$block/$seed" "$block" "$rate" "$seed"
  done
done | run_all

.venv/bin/python scripts/loss_vs_steps.py report "$out"
