#!/usr/bin/env bash
# SAS-P without norms, alpha_res*SubBlock(X): the gains of its two branches fixed, trained, or adjusted from feedback (alpha <- alpha*
# (target/rms)^(1/2) after every step, target the first step's rms), against SAS-P with norms: loss, stability over learning
# rates, and rms of the stream by depth.
# Paper: trained gains alone, at one rate: 1.245 against 1.155 for Pre-LN; without norms fine-tuning was unstable (NaN).
# Cost: paper: 8 runs of 700 M tokens, about 10 hours each on an A5000. micro: 5 minutes on two cores: 6 runs of 0.4 M
#   tokens beside those of the grid and of the reference.
# Usage: scripts/fig_no_norm.sh [--scale smoke|micro|small|paper] [--out FOLDER] [--jobs N]
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" no_norm "$@"
