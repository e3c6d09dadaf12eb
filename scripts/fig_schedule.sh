#!/usr/bin/env bash
# Linear against cosine decay of the learning rate for Pre-LN and SAS-P (the paper's Fig. 11).
# Paper: linear decay is better.
# Cost: paper: 4 runs of 700 M tokens, about 10 hours each on an A5000. micro: 2 minutes on two cores: 2 runs of 0.4 M
#   tokens beside those of the grid and of the reference.
# Usage: scripts/fig_schedule.sh [--scale smoke|micro|small|paper] [--out FOLDER] [--jobs N]
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" schedule "$@"
