#!/usr/bin/env bash
# Loss of SAS-P by the value at which the gain of the feed-forward branch, beta_FF, starts (the paper's Fig. 13).
# Paper: the loss depends on it; 0.1 is what the paper takes at 18 layers, where Pre-LN has 1.
# Cost: paper: 4 runs of 700 M tokens, about 10 hours each on an A5000. micro: 3 minutes on two cores: 3 runs of 0.4 M
#   tokens beside those of the grid and of the reference.
# Usage: scripts/fig_beta_ff.sh [--scale smoke|micro|small|paper] [--out FOLDER] [--jobs N]
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" beta_ff "$@"
