#!/usr/bin/env bash
# Parameters, FLOPs per token, throughput of the training step and energy per token of six blocks, over the length of the
# sequences and the size of the batch (the paper's Table 1 and its 15 %). Each measured point is kept; another program, machine
# or setting is measured anew. Nothing else should run meanwhile.
# Paper: SAS-P: 15 % fewer parameters (BERT: 101 M for 120 M; GPT at 18 layers: 146 M for 167 M) and 1.15 to 1.16 times the
#   throughput of Pre-LN.
# Cost: paper: minutes on one card with 24 GB. micro: 6 minutes on two cores: 6 x 384, six points.
# Usage: scripts/table_efficiency.sh [--scale smoke|micro|small|paper] [--out FOLDER]
exec "$(dirname "${BASH_SOURCE[0]}")/figures/draw.sh" efficiency "$@"
