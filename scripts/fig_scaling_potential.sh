#!/usr/bin/env bash
# (a) A scaling law L(n, d) = E + A/n^a + B/d^b of n parameters and d tokens for Pre-LN and for SAS-P, fitted to a grid of
# runs, with intervals from resampled runs; (b) the mission's scaling potential P(n, d, theta), the recursion in
# scripts/figures/potential.py, whose efficiency e_theta is the number of tokens that Pre-LN would need for the block's loss,
# over those that the block had, by (a) in the middle of the grid. Settings: scripts/figures/scaling_potential.yaml.
# Paper: neither; both go beyond it.
# Cost: paper: 18 runs of up to 700 M tokens at widths 192 to 768. micro: 10 minutes on two cores: 18 runs of 0.4 to 0.9 M
#   tokens, 6 layers, widths 48 to 128.
# Usage: scripts/fig_scaling_potential.sh [--scale smoke|micro|small|paper] [--out FOLDER] [--jobs N]
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" scaling_potential "$@"
