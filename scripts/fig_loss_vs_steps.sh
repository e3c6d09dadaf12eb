#!/usr/bin/env bash
# Loss against steps and against time of six blocks at the paper's depth (its Figs. 2 and 5): Pre-LN, parallel, V-SkipInit
# (Eq. 4), SAS, SAS-P and SAS-P without norm, 18 layers. The rate of each block is the best of one grid.
# Paper: 18 x 768, 700 M tokens of code: Pre-LN 1.155 after 40 K steps, SAS and SAS-P at or below it per step, V-SkipInit
#   behind; SAS-P without norm 1.245.
# Cost: paper: 6 runs of 700 M tokens, about 10 hours each on an A5000. micro: 25 minutes on two cores: 18 x 128, 6 runs
#   of 2.2 M tokens of the Python standard library beside the 18 of the grid (scripts/table_rates.sh).
# Usage: scripts/fig_loss_vs_steps.sh [--scale smoke|micro|small|paper] [--out FOLDER] [--jobs N]
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" loss_vs_steps "$@"
