#!/usr/bin/env bash
# 18 against 72 layers, with a feed-forward of twice the width, for Pre-LN, V-SkipInit (Eq. 4), SAS and SAS-P (the paper's Fig. 6).
# Paper: SAS and SAS-P follow Pre-LN at 72 layers, and all three gain by the depth; V-SkipInit gets worse.
# Cost: paper: 8 runs of 700 M tokens, and V-SkipInit at a further rate for each depth; about 10 hours each on an A5000
#   for 18 layers. micro: 15 minutes on two cores: 8 runs of 0.2 M tokens with 18 layers and 8 with 72 (each block at its
#   rate and at 0.3 of it), beside those of the grid and of the reference.
# Usage: scripts/fig_depth.sh [--scale smoke|micro|small|paper] [--out FOLDER] [--jobs N]
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" depth "$@"
