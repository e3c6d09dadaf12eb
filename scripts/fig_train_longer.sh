#!/usr/bin/env bash
# Pre-LN, SAS and SAS-P on three times the tokens (the paper's Fig. 8).
# Paper: about 2 B tokens (120 K steps) instead of 700 M: SAS and SAS-P still match Pre-LN.
# Cost: paper: 3 runs of 700 M tokens, about 10 hours each on an A5000, and 3 of 2 B. micro: 5 minutes on two cores: 3
#   runs of 0.75 M tokens beside those of 2.2 M of fig_loss_vs_steps.sh.
# Usage: scripts/fig_train_longer.sh [--scale smoke|micro|small|paper] [--out FOLDER] [--jobs N]
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" train_longer "$@"
