#!/usr/bin/env bash
# One HTML page of all figures and tables of a scale that were drawn: OUT/SCALE/report.html, which needs no other file and no
# network. What was not drawn is named.
# Cost: seconds.
# Usage: scripts/report.sh [--scale smoke|micro|small|paper] [--out FOLDER]
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" report "$@"
