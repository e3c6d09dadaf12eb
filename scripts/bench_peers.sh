#!/usr/bin/env bash
# The training step of skipless beside Hugging Face's GPT-2 and plain PyTorch, eager and compiled, in turn in one run.
# Usage: scripts/bench_peers.sh [OPTION ...]     options: those of scripts/bench_peers.py, by default sas_p at 6 x 384, fp32
# Cost: about five minutes on two CPU cores with nothing else to do, most of it torch.compile; --no-compile: one minute.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup.sh >&2
scripts/build.sh release skipless >&2
exec .venv/bin/python scripts/bench_peers.py build/release/skipless "$@"
