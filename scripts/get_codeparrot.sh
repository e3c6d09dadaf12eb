#!/usr/bin/env bash
# Fetches the paper's data for language modelling, the Python code of the CodeParrot course sets, and prepares them.
# Usage: scripts/get_codeparrot.sh FOLDER [TOKENIZER]     needs a network, several GB (the script says how many) and hours
# FOLDER/raw holds what is fetched, FOLDER/data what `skipless prepare` makes of it with TOKENIZER (a tokenizer.json, or a
# folder with it), if one is given. Safe to run again after any interruption. HF_ENDPOINT: a mirror of the hub.
# The file names were not verified when this was written (no network there): what the hub lists as *.json.gz, *.jsonl.gz,
# *.jsonl.zst or *.jsonl is taken; where it lists parquet files instead, scripts/export_dataset.py reads them.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
  sed -n '2,4s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
folder=$1
tokenizer=${2:-}
for split in train valid; do
  python3 "$root/scripts/download_dataset.py" "huggingface-course/codeparrot-ds-$split" "$folder/raw/$split" \
    --match '*.json.gz' --match '*.jsonl.gz' --match '*.jsonl.zst' --match '*.jsonl'
done
if [ -n "$tokenizer" ]; then
  "${SKIPLESS:-$root/build/release/skipless}" prepare "$folder/raw/train" "$folder/raw/valid" --field content \
    --glob '*.json*' --tokenizer "$tokenizer" --out "$folder/data"
fi
