#!/usr/bin/env bash
# Every figure and table of the paper at one scale, one after another, and then a page of them all (report.sh). One that fails
# does not stop the others: it is named at the end, with code 1. Stop it and call it again: it trains only what is missing.
# OUT/SCALE/times.csv has the time of every call of every script. table_glue needs GLUE: scripts/get_glue.sh, once.
# Cost: smoke: 6 minutes; micro: two hours and a half on two cores; small: nights; paper: weeks of one card.
# Usage: scripts/reproduce_all.sh --scale smoke|micro|small|paper [--out FOLDER]
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" reproduce_all "$@"
