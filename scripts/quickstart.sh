#!/usr/bin/env bash
# From a fresh clone to a comparison of three blocks: installs what is missing, builds, prepares the Python standard
# library as a corpus, trains Pre-LN, SAS and SAS-P with the same seed, data and steps (at most 5 minutes on two CPU
# cores), and leaves a table and quickstart/quickstart.png. Run again, it resumes or says that it is done.
# Usage: scripts/quickstart.sh [key=value ...]     e.g. scripts/quickstart.sh train.steps=100
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
out=quickstart
blocks=(pre_ln sas sas_p)

scripts/setup.sh
scripts/build.sh release skipless
skipless=build/release/skipless

standard_library=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["stdlib"])')
"$skipless" prepare "$standard_library" --glob '*.py' --exclude site-packages --exclude dist-packages \
  --tokenizer data/tokenizers/python_4096 --out "$out/data"

runs=()
for block in "${blocks[@]}"; do
  printf '\n== %s\n' "$block"
  "$skipless" train configs/quickstart.yaml "model.block=$block" "data.folder=$out/data" "$@" --run "$out/$block"
  runs+=("$out/$block")
done

printf '\n'
.venv/bin/python scripts/compare_runs.py "${runs[@]}" --picture "$out/quickstart.png" --table "$out/quickstart.md"
printf '\nThe picture is %s. To go on: %s train --help\n' "$out/quickstart.png" "$skipless"
