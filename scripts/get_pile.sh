#!/usr/bin/env bash
# Fetches a part of the Pile, and prepares it.
# Usage: scripts/get_pile.sh FOLDER [SHARDS [TOKENIZER]]     needs a network and about 11 GB a shard (the script says how many)
# SHARDS: how many of the 30 training shards, 1 by default. FOLDER/raw holds what is fetched, FOLDER/data what `skipless
# prepare` makes of it with TOKENIZER (a tokenizer.json, or a folder with it), if one is given. Safe to run again after any
# interruption. Settings from the environment: HF_ENDPOINT, a mirror of the hub; HF_TOKEN, for a login; SKIPLESS, the
# program, if it is not build/release/skipless.
#
# The set is monology/pile-uncopyrighted: the Pile as it was published is no longer distributed; this is its copy without
# the parts that were withdrawn (Books3 and others), which is what is used in its place. Its files, train/00.jsonl.zst to
# train/29.jsonl.zst, were not verified when this was written (no network there); a name that is gone ends with the list of
# those that are there.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
usage() { sed -n '2,/^#$/s/^# //p' "${BASH_SOURCE[0]}"; }
if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
  usage
  exit
fi
shards=${2:-1}
if [ $# -lt 1 ] || [ $# -gt 3 ] || [ -z "$1" ] || ! [[ $shards =~ ^[0-9]+$ ]] || [ "$((10#$shards))" -lt 1 ] || [ "$((10#$shards))" -gt 30 ]; then
  usage >&2
  exit 2
fi
folder=$1
tokenizer=${3:-}
# shellcheck source=scripts/require_tokenizer.sh
. "$root/scripts/require_tokenizer.sh"
matches=()
for ((i = 0; i < 10#$shards; ++i)); do matches+=(--match "train/$(printf %02d "$i").jsonl.zst"); done
python3 "$root/scripts/download_dataset.py" monology/pile-uncopyrighted "$folder/raw" "${matches[@]}"
if [ -n "$tokenizer" ]; then
  "$skipless" prepare "$folder/raw/train" --field text --tokenizer "$tokenizer" \
    --validation-fraction 0.005 --out "$folder/data"
fi
