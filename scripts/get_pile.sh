#!/usr/bin/env bash
# Fetches a part of the Pile, and prepares it.
# Usage: scripts/get_pile.sh FOLDER [SHARDS [TOKENIZER]]     needs a network and about 11 GB a shard (the script says how many)
# SHARDS: how many of the 30 training shards, 1 by default. FOLDER/raw holds what is fetched, FOLDER/data what `skipless
# prepare` makes of it with TOKENIZER, if one is given. Safe to run again after any interruption. HF_ENDPOINT: a mirror.
# The set is monology/pile-uncopyrighted: the Pile as it was published is no longer distributed; this is its copy without
# the parts that were withdrawn (Books3 and others), which is what is used in its place. Its files, train/00.jsonl.zst to
# train/29.jsonl.zst, were not verified when this was written (no network there); a name that is gone ends with the list of
# those that are there.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
shards=${2:-1}
if [ $# -lt 1 ] || [ $# -gt 3 ] || ! [[ $shards =~ ^[0-9]+$ ]] || [ "$((10#$shards))" -lt 1 ] || [ "$((10#$shards))" -gt 30 ]; then
  sed -n '2,5s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
folder=$1
tokenizer=${3:-}
matches=()
for ((i = 0; i < 10#$shards; ++i)); do matches+=(--match "train/$(printf %02d "$i").jsonl.zst"); done
python3 "$root/scripts/download_dataset.py" monology/pile-uncopyrighted "$folder/raw" "${matches[@]}"
if [ -n "$tokenizer" ]; then
  "${SKIPLESS:-$root/build/release/skipless}" prepare "$folder/raw/train" --field text --tokenizer "$tokenizer" \
    --validation-fraction 0.005 --out "$folder/data"
fi
