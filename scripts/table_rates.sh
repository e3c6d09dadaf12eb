#!/usr/bin/env bash
# The learning rate of each block: validation loss after the length of an ablation, over a small grid that is the same for all
# blocks. The other figures take each block's best rate from it.
# Paper: tuned, the best is 1e-3 for Pre-LN, SAS and SAS-P alike (Appendix D.1).
# Cost: paper: none, its rate is taken. micro: 13 minutes on two cores: 18 runs of 0.4 M tokens with 18 layers.
# Usage: scripts/table_rates.sh [--scale smoke|micro|small|paper] [--out FOLDER] [--jobs N]
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" rates "$@"
