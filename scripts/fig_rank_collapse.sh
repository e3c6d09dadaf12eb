#!/usr/bin/env bash
# How much of the tokens' differences is left, layer by layer, at the start and after training: similarity of tokens, rank of the
# representation, of A, of P = alpha*I + beta*A - gamma*C and of their products over depth. Pre-LN, Pre-LN without its attention
# skip, V-SkipInit (Eq. 4), SAS and SAS-P. The picture has effective ranks, the CSV stable ranks too.
# Paper: Section 2 and 4.1: without attention skips signal propagation fails, and tokens become alike (rank collapse); V-SkipInit,
#   SAS and SAS-P begin with P = I, which mixes no tokens.
# Cost: paper: 5 runs of 700 M tokens, about 10 hours each on an A5000. micro: 2 minutes on two cores: 1 run of 0.4 M
#   tokens (Pre-LN without the skip) beside those of fig_loss_vs_steps.sh, and a minute of analysis.
# Usage: scripts/fig_rank_collapse.sh [--scale smoke|micro|small|paper] [--out FOLDER] [--jobs N]
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" rank_collapse "$@"
