#!/usr/bin/env bash
# Fetches the official files of the GLUE tasks, and lays them out as `skipless finetune --glue FOLDER` reads them.
# Usage: scripts/get_glue.sh FOLDER [TASK ...]     needs a network, 375 MB for all tasks, of which 313 are MNLI
# TASK: CoLA, SST-2, MRPC, STS-B, QQP, MNLI, QNLI, RTE, WNLI or AX, all by default. FOLDER/raw holds what is fetched, whose
# sizes and SHA-256 sums are checked; FOLDER/TASK gets the TSV files. Without a network it says which files to put into
# FOLDER/raw by hand. Safe to run again after any interruption. Setting from the environment: GLUE_BASE, a mirror.
#
# The data sets have terms of their own: see the pages of the tasks at gluebenchmark.com. MRPC is for non-commercial use.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
usage() { sed -n '2,/^#$/s/^# //p' "${BASH_SOURCE[0]}"; }
if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
  usage
  exit
fi
if [ $# -lt 1 ] || [ -z "$1" ]; then
  usage >&2
  exit 2
fi
exec python3 "$root/scripts/download_glue.py" "$@"
