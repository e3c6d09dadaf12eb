#!/usr/bin/env bash
# SAS without the skip of its feed-forward sub-block, alpha_FF fixed at 0, with ReLU and leaky ReLU of slope 0.2 and 0.8, against
# SAS (the paper's Fig. 22).
# Paper: much slower with each of the three; these blocks need a tenth of the rate, 1e-4.
# Cost: paper: 7 runs of 700 M tokens, about 10 hours each on an A5000. micro: 5 minutes on two cores: 6 runs of 0.4 M
#   tokens (each activation at a tenth and at three tenths of SAS's rate, the better one counting) beside those of the
#   grid and of the reference.
# Usage: scripts/fig_mlp_skip.sh [--scale smoke|micro|small|paper] [--out FOLDER] [--jobs N]
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" mlp_skip "$@"
