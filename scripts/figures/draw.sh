#!/usr/bin/env bash
# Draws one figure: installs and builds what is missing, then runs scripts/figures/NAME.py. The fig_*.sh and table_*.sh call it.
# Usage: scripts/figures/draw.sh NAME [--scale smoke|micro|small|paper] [--out FOLDER] [--jobs N]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
name=$1
shift
scripts/setup.sh
scripts/build.sh release skipless
exec .venv/bin/python "scripts/figures/$name.py" "$@"
