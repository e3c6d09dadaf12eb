# For the scripts that fetch data, to be sourced before hours of it: sets $skipless, the program, and ends with code 2 when
# a $tokenizer is given and it or the program cannot be used.
# shellcheck shell=bash
skipless=${SKIPLESS:-$root/build/release/skipless}
if [ -n "$tokenizer" ]; then
  if ! command -v "$skipless" >/dev/null; then
    echo "$(basename "$0"): '$skipless' is no program: build it with scripts/build.sh, or name it in SKIPLESS" >&2
    exit 2
  fi
  if ! [ -f "$tokenizer" ] && ! [ -f "$tokenizer/tokenizer.json" ] && ! [ -f "$tokenizer/vocab.json" ]; then
    echo "$(basename "$0"): no tokenizer in '$tokenizer': expected a tokenizer.json, or a folder with one" >&2
    exit 2
  fi
fi
