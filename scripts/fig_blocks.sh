#!/usr/bin/env bash
# Every block as it is built, drawn by Graphviz: its parts with their shapes and parameters, its gains with their values, its
# sums, its skips (the paper's Figs. 1, 9 and 10). The wiring is that of a forward pass (skipless info CONFIG --graph).
# Paper: Pre-LN has two skips and two norms, the parallel block one of each, V-SkipInit and SAS one skip (that of the feed-forward)
#   and two norms, SAS-P no skip and one norm, or none. SAS and SAS-P have no W_V and W_P: 146 M parameters instead of
#   167 M at 18 x 768, 101 M instead of 120 M in the BERT.
# Cost: seconds at every scale; the blocks are always the paper's, of width 768. Nothing is trained.
# Usage: scripts/fig_blocks.sh [--scale smoke|micro|small|paper] [--out FOLDER] [--jobs N]
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" blocks "$@"
