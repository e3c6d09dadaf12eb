#!/usr/bin/env bash
# Pre-LN, SAS and SAS-P with RMSNorm and without norms; block 0 always begins with a LayerNorm (the paper's Fig. 23).
# Paper: without norms SAS-P loses a little per step, 1.245 against 1.155 for Pre-LN. (The others without norms are not in it.)
# Cost: paper: 6 runs of 700 M tokens, about 10 hours each on an A5000. micro: 2 minutes on two cores: 2 runs of 0.4 M
#   tokens beside those of the grid and of the reference.
# Usage: scripts/fig_norms.sh [--scale smoke|micro|small|paper] [--out FOLDER] [--jobs N]
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" norms "$@"
