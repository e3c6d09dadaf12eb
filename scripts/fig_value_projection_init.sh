#!/usr/bin/env bash
# What W_V and W_P are when they are not trained: in SAS the identity or random orthogonal matrices, whose product is the identity in
# each block, over all blocks, or not at all (the paper's Figs. 3 and 14); the identity in Pre-LN (Fig. 20); and SAS with and
# without the trained W_V of its first layer (Fig. 21).
# Paper: the identity is best, then orthogonal with W_P = W_V^T in every block, then with the last W_P alone undoing all others, then
#   independent. The identity hurts Pre-LN slightly. The first layer's W_V gains very little.
# Cost: paper: 7 runs of 700 M tokens, about 10 hours each on an A5000. micro: 5 minutes on two cores: 5 runs of 0.4 M
#   tokens beside those of the grid and of the reference.
# Usage: scripts/fig_value_projection_init.sh [--scale smoke|micro|small|paper] [--out FOLDER] [--jobs N]
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" value_projection_init "$@"
