#!/usr/bin/env bash
# Every gain of SAS over training, with W_V = alpha_V*I + beta_V*dW and W_P alike in all layers, alpha from 1, beta from 0.2, both
# trained (the paper's Figs. 4 and 15 to 19).
# Paper: beta_V/alpha_V and beta_P/alpha_P go to 0, except that of the first layer's values; the other gains (alpha, beta, gamma
#   of each head, alpha_FF, beta_FF) do not. Loss 1.194, against 1.178 with W_V = W_P = I.
# Cost: paper: 2 runs of 700 M tokens, about 10 hours each on an A5000. micro: 9 minutes on two cores: 1 run of 2.2 M
#   tokens beside the SAS run of fig_loss_vs_steps.sh.
# Usage: scripts/fig_gains.sh [--scale smoke|micro|small|paper] [--out FOLDER] [--jobs N]
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" gains "$@"
