#!/usr/bin/env bash
# What the paper removes from the block, one step after another: the attention skip (V-SkipInit, Eq. 4), then with shaped attention,
# W_V and W_P (SAS), the feed-forward skip in sequence, both in parallel instead (SAS-P), the norms: loss, speed and parameters
# of each step (Sections 4.1 to 4.4, Figs. 2, 5, 12 and 22).
# Paper: SAS and SAS-P are at or below Pre-LN per step, with 13 % fewer parameters; V-SkipInit is behind; the feed-forward skip
#   cannot be removed in sequence; without norms 1.245 against 1.155. Speed (BERT, Table 1): V-SkipInit 0.95, SAS 1.09, SAS-P
#   1.16, without norm 1.20 times Pre-LN.
# Cost: paper: 8 runs of 700 M tokens, about 10 hours each on an A5000. micro: a minute and a half on two cores: 3 runs of
#   0.4 M tokens, which fig_mlp_skip.sh and fig_shaped_vs_skipinit.sh have too, beside those of the grid and of the
#   reference.
# Usage: scripts/ablation_ladder.sh [--scale smoke|micro|small|paper] [--out FOLDER] [--jobs N]
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" ablation_ladder "$@"
