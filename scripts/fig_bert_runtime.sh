#!/usr/bin/env bash
# Loss against runtime of six blocks as masked language models under a wall-clock budget (the paper's Fig. 7): Pre-LN,
# parallel, V-SkipInit (Eq. 4), SAS, SAS-P and SAS-P without norm, trained one after another.
# Paper: 16 x 768, 24 hours on a 2080 Ti: in that time parallel makes 1.05, V-SkipInit 0.95, SAS 1.09, SAS-P 1.16 and SAS-P
#   without norm 1.20 times the micro-steps of Pre-LN; SAS and SAS-P reach Pre-LN's loss.
# Cost: paper: 6 runs of 24 hours on one card, on the Pile (scripts/get_pile.sh). micro: 16 minutes on two cores: 6 x 128,
#   6 runs of 144 seconds with nothing else to do, on English text (scripts/figures/data.py); evaluations come on top.
# Usage: scripts/fig_bert_runtime.sh [--scale smoke|micro|small|paper] [--out FOLDER] [--jobs N]
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" bert_runtime "$@"
