#!/usr/bin/env bash
# Installs what is missing, builds everything with warnings as errors, and runs every check of the project.
# Usage: scripts/test.sh           all of it, under 15 minutes on two cores
#        scripts/test.sh --quick   the unit tests alone, without what starts programs or reads megabytes of text
# Reference material is read from SKIPLESS_SHARED (default: ../shared); what needs it says 'skipped' where it is absent.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
quick=false
case "${1:-}" in
  "") ;;
  --quick) quick=true ;;
  *)
    echo "test: '$1' is not an option; there is only --quick" >&2
    exit 2
    ;;
esac
log=$(mktemp)
trap 'rm -f "$log"' EXIT

scripts/setup.sh
scripts/build.sh release

passed=0
failed=0
check() { # check NAME COMMAND ...
  local name=$1
  shift
  printf '\n== %s\n' "$name"
  if "$@" 2>&1 | tee -a "$log"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf '%s FAILED\n' "$name"
  fi
}

standard_library() { .venv/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["stdlib"])'; }
compare_tokenizer() { # compare_tokenizer TOKENIZER FILE_OR_FOLDER ...
  .venv/bin/python tests/data/compare_tokenizers.py --tool build/release/tests/tokenize_file --tokenizer "$@"
}

for folder in configs models data eval train; do
  check "unit tests of $folder" "build/release/tests/test_$folder"
done

if ! $quick; then
  check "the program, driven as a user would" build/release/tests/test_cli
  check "parity with other code: the committed cases" scripts/parity.sh tests/reference/parity
  check "tokenizer against the tokenizers package: standard library" \
    compare_tokenizer data/tokenizers/python_4096 --files "$(standard_library)"
  shared=${SKIPLESS_SHARED:-$root/../shared}
  if [ -d "$shared" ]; then
    check "parity with other code: the shared cases" scripts/parity.sh "$shared/parity" --family gpt
    for tokenizer in "$shared"/data/tokenizers/{code-search-net-tokenizer,gpt2}; do
      check "tokenizer against the tokenizers package: $(basename "$tokenizer")" \
        compare_tokenizer "$tokenizer" --files "$shared/data/text" "$shared/cases/text"
    done
  else
    echo "skipped: parity and tokenizers on reference material: no $shared" | tee -a "$log"
  fi
  check "shell scripts" shellcheck scripts/*.sh .ci/run
  check "one-way includes" .venv/bin/python scripts/check_includes.py
  check "formatting" bash -c 'git ls-files "*.cpp" "*.h" | xargs -d "\n" clang-format-14 --dry-run --Werror'
fi

printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$(grep -c '^skipped:' "$log" || true)"
[ "$failed" -eq 0 ]
