#!/usr/bin/env bash
# Singular values and eigenvalues of the attention matrices of every layer and head at the start and through training: A, P =
# alpha*I + beta*A - gamma*C and P without its term of C, of SAS; A of Pre-LN; and the singular values of the value matrix of SAS's
# first block.
# Paper: no figure; Section 4.1: P = I at the start, where beta*A and gamma*C cancel. Theory: a causal matrix is triangular, with the
#   eigenvalues alpha + beta*A_ii - gamma/(i + 1); that of an encoder has alpha + beta - gamma, and alpha + beta*lambda_i with the
#   other eigenvalues of A. Both are checked here on the models, to rounding.
# Cost: paper: 2 runs of 700 M tokens, about 10 hours each on an A5000. micro: 2 minutes on two cores: 2 runs of 0.4 M
#   tokens, which keep their checkpoints, and a minute of analysis.
# Usage: scripts/fig_spectrum.sh [--scale smoke|micro|small|paper] [--out FOLDER] [--jobs N]
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" spectrum "$@"
