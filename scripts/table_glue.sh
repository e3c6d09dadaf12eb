#!/usr/bin/env bash
# Fine-tunes the masked language models of fig_bert_runtime.sh on GLUE (the paper's Tables 1 and 2): six blocks, and untrained
# Pre-LN and SAS-P of the same shape. Trains first what of them is missing; uses the tasks that are there.
# Paper: GLUE average over nine numbers, parameters, speed: Pre-LN 78.9 ± 0.7, 120 M, 1; parallel 78.5 ± 0.6, 120 M, 1.05;
#   V-SkipInit 78.0 ± 0.3, 120 M, 0.95; SAS 78.4 ± 0.8, 101 M, 1.09; SAS-P 78.3 ± 0.4, 101 M, 1.16. SAS-P without norm: none,
#   for it is unstable in fine-tuning. Table 2 is in scripts/figures/glue.py.
# Cost, beside that of fig_bert_runtime.sh: paper: 8 models, 8 tasks, 3 seeds, 5 epochs: 114 M sequences, more than a day
#   of one card. micro: 10 minutes on two cores: SST-2, STS-B and RTE, of each training set the first 3,000 rows, 2 seeds,
#   2 epochs.
# Usage: scripts/table_glue.sh [--glue FOLDER] [--scale smoke|micro|small|paper] [--out FOLDER] [--jobs N]
#   FOLDER: GLUE as scripts/get_glue.sh lays it out; default: data/glue of SKIPLESS_SHARED (../shared), else data/glue
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" glue "$@"
