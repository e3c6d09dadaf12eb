#!/usr/bin/env bash
# The attention matrix alpha*I + beta*A from 1 and 0 (V-SkipInit, Eq. 4) against shaped attention, alpha*I + beta*A - gamma*C
# from 1, 1 and 1 (Eq. 5), with trained W_V and W_P (V-SkipInit's block) and with W_V = W_P = I (SAS) (the paper's Fig. 12).
# Paper: shaped attention is slightly better.
# Cost: paper: 4 runs of 700 M tokens, about 10 hours each on an A5000. micro: 2 minutes on two cores: 2 runs of 0.4 M
#   tokens beside those of the grid and of the reference.
# Usage: scripts/fig_shaped_vs_skipinit.sh [--scale smoke|micro|small|paper] [--out FOLDER] [--jobs N]
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" shaped_vs_skipinit "$@"
