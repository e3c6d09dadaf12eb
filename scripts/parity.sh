#!/usr/bin/env bash
# How far the models are from reference values that other code wrote: per case the largest difference of logits, loss,
# hidden states and gradients, and of eight training steps. Exits with 1 if anything is outside its bound.
# Usage: scripts/parity.sh [DIR] [--family all|gpt|encoder] [--markdown]
#   DIR: a folder of cases; default: parity/ of the shared folder ($SKIPLESS_SHARED, else ../shared), else the small set
#   in tests/reference/parity that tests/reference/make_parity.py and make_encoder_parity.py wrote.
# Cost: seconds on a CPU.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

"$root/scripts/setup.sh" >&2
"$root/scripts/build.sh" release parity >&2
"$root/build/release/tests/parity" "$@"
