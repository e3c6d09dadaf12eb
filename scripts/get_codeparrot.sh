#!/usr/bin/env bash
# Fetches the paper's data for language modelling, the Python code of the CodeParrot course sets, and prepares them.
# Usage: scripts/get_codeparrot.sh FOLDER [TOKENIZER]     needs a network, several GB (the script says how many) and hours
# FOLDER/raw holds what is fetched, FOLDER/data what `skipless prepare` makes of it with TOKENIZER (a tokenizer.json, or a
# folder with it), if one is given. Safe to run again after any interruption. Settings from the environment: HF_ENDPOINT, a
# mirror of the hub; HF_TOKEN, for a login; SKIPLESS, the program, if it is not build/release/skipless.
#
# The file names were not verified when this was written (no network there): what the hub lists as *.json.gz, *.jsonl.gz,
# *.jsonl.zst or *.jsonl is taken; where it lists parquet files instead, scripts/export_dataset.py reads them.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
usage() { sed -n '2,/^#$/s/^# //p' "${BASH_SOURCE[0]}"; }
if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
  usage
  exit
fi
if [ $# -lt 1 ] || [ $# -gt 2 ] || [ -z "$1" ]; then
  usage >&2
  exit 2
fi
folder=$1
tokenizer=${2:-}
# shellcheck source=scripts/require_tokenizer.sh
. "$root/scripts/require_tokenizer.sh"
for split in train valid; do
  python3 "$root/scripts/download_dataset.py" "huggingface-course/codeparrot-ds-$split" "$folder/raw/$split" \
    --match '*.json.gz' --match '*.jsonl.gz' --match '*.jsonl.zst' --match '*.jsonl'
done
if [ -n "$tokenizer" ]; then
  "$skipless" prepare "$folder/raw/train" "$folder/raw/valid" --field content \
    --glob '*.json*' --tokenizer "$tokenizer" --out "$folder/data"
fi
