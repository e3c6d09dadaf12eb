#!/usr/bin/env bash
# Identity start: the attention matrix lambda(t)*I + (1 - lambda(t))*P, with lambda falling from 1 to 0 linearly or as a cosine over a
# part of the run, for Pre-LN and SAS-P: loss, distance of the whole matrix from I, and entropy of attention over training.
# Paper: not in it. (SAS and SAS-P start with P = I by W_Q = 0, and leave it freely.)
# Cost: paper: 8 runs of 700 M tokens, about 10 hours each on an A5000. micro: 7 minutes on two cores: 8 runs of 0.4 M
#   tokens beside those of the grid and of the reference, and 40 analyses.
# Usage: scripts/fig_identity_schedule.sh [--scale smoke|micro|small|paper] [--out FOLDER] [--jobs N]
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" identity_schedule "$@"
