#!/usr/bin/env bash
# Installs what is missing, builds everything with warnings as errors, and runs every check of the project.
# Usage: scripts/test.sh           all of it: a quarter of an hour on two cores from nothing, a third of that when all is built
#        scripts/test.sh --quick   the unit tests alone, without what starts programs or reads megabytes of text
# Reference material is read from SKIPLESS_SHARED (default: ../shared), parity cases from SKIPLESS_PARITY (default: parity/
# in it); what needs them says 'skipped' where they are absent.
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
# As the program itself does: threads that wait for work sleep, or they would take the cores from each other.
export OMP_WAIT_POLICY=passive
results=$(mktemp -d)
end_checks() {
  for group in $(jobs -rp); do kill -- "-$group" 2>/dev/null || true; done
  rm -rf "$results"
}
trap end_checks EXIT

scripts/setup.sh
scripts/build.sh release

tests=build/release/tests

# Checks run side by side, as many as there are cores; each is printed whole when it ends.
begun=0
check() { # check NAME COMMAND ...
  while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n || true; done
  begun=$((begun + 1))
  set -m # a process group for each, so that none outlives an interrupted test.sh
  run_check "$results/$begun" "$@" </dev/null &
  set +m
}
run_check() {
  local result=$1 name=$2 verdict=passed
  shift 2
  exec 3>"$result.output"
  printf '\n== %s\n' "$name" >&3
  { time "$@" >&3 2>&1; } 2>"$result.time" || verdict=FAILED
  printf -- '-- %s, %s\n' "$verdict" "$(cat "$result.time")" >&3
  flock "$results" cat "$result.output"
  echo "$verdict" >"$result.verdict"
}
TIMEFORMAT='%R s, %U s of processor time'
skip() { # skip NAME REASON
  printf '\nskipped: %s: %s\n' "$1" "$2" | tee -a "$results/skipped.output"
}
count() { # count PATTERN FILE ...: how many lines begin with it
  cat "${@:2}" 2>/dev/null | grep -c "^$1" || true
}

compare_tokenizer() { # compare_tokenizer TOKENIZER --files FILE_OR_FOLDER ... | --stdlib
  .venv/bin/python tests/data/compare_tokenizers.py --tool "$tests/tokenize_file" --tokenizer "$@"
}
check_format() {
  git ls-files -z '*.cpp' '*.h' '*.cu' '*.cuh' | xargs -0 clang-format-14 --dry-run --Werror && echo "formatted"
}

check_plain_cases() {
  mkdir "$results/plain" && "$tests/parity" tests/reference/parity --plain "$results/plain" >/dev/null &&
    diff -r "$results/plain" tests/reference/device && echo "the same bytes"
}
check_figures() { # the cheapest ones, and the page of them
  for name in blocks rates schedule; do
    .venv/bin/python "scripts/figures/$name.py" --scale smoke --out "$results/figures" || return 1
  done
  .venv/bin/python scripts/figures/report.py --scale smoke --out "$results/figures"
}
check_broken_files() {
  scripts/build.sh release sanitized_readers && "$tests/sanitized_readers"
}

if ! $quick; then # the longest first
  check "broken files, under the address and undefined-behaviour sanitizers" check_broken_files
  check "the program, driven as a user would" "$tests/test_cli"
fi
for folder in models train data configs eval; do
  check "unit tests of $folder" "$tests/test_$folder"
done

if ! $quick; then
  check "a token shard of 5 GiB" "$tests/test_data" '[huge]'
  check "parity with other code: the committed cases" "$tests/parity" tests/reference/parity
  check "the parity program notices what is wrong" .venv/bin/python tests/parity/check_parity.py "$tests/parity"
  check "safetensors against the reference library" .venv/bin/python tests/models/check_safetensors.py "$tests/test_models"
  check "metrics against scikit-learn and SciPy" .venv/bin/python tests/eval/compare_metrics.py "$tests/metric_values"
  check "ranks, spectra and entropies against NumPy" \
    .venv/bin/python tests/eval/compare_analysis.py "$tests/analysis_values"
  check "fine-tuning against a plain loop around transformers" \
    .venv/bin/python tests/train/compare_finetuning.py build/release/skipless "$tests/finetune_trace"
  check "hidden states of a converted BERT in transformers" \
    .venv/bin/python tests/train/compare_hidden_states.py build/release/skipless "$tests/hidden_states"
  check "datasets through the datasets package" .venv/bin/python tests/scripts/export_test.py build/release/skipless
  check "exported models in transformers" .venv/bin/python tests/cli/check_transformers.py build/release/skipless
  check "events of a killed and resumed run in tensorboard" .venv/bin/python tests/train/check_events.py build/release/skipless
  check "tokenizer of the quickstart on the standard library" compare_tokenizer data/tokenizers/python_4096 --stdlib
  check "tokenizer on every code point, and on fuzzed texts" \
    compare_tokenizer data/tokenizers/python_4096 --code-points --neighbours assigned --fuzz 10000
  check "WordPiece on the standard library" compare_tokenizer data/tokenizers/english_8192 --stdlib
  check "WordPiece on every code point, and on fuzzed texts" \
    .venv/bin/python tests/data/compare_tokenizers.py --tool "$tests/tokenize_file" \
    --characters clean_text,handle_chinese_chars,lowercase --code-points --neighbours assigned --fuzz 10000
  check "cased WordPiece on fuzzed texts" \
    .venv/bin/python tests/data/compare_tokenizers.py --tool "$tests/tokenize_file" \
    --characters clean_text,handle_chinese_chars --fuzz 10000

  shared=${SKIPLESS_SHARED:-$root/../shared}
  parity=${SKIPLESS_PARITY:-$shared/parity}
  if [ -d "$parity" ]; then
    check "parity with other code: $parity" "$tests/parity" "$parity"
  else
    skip "parity with other code" "no $parity"
  fi
  tokenizers=$shared/data/tokenizers # each on other text; docs/results.md has both on all of it
  if [ -d "$tokenizers" ]; then
    check "tokenizer code-search-net-tokenizer on English text" \
      compare_tokenizer "$tokenizers/code-search-net-tokenizer" --files "$shared/data/text" "$shared/cases/text"
    check "tokenizer gpt2 on the standard library" compare_tokenizer "$tokenizers/gpt2" --stdlib
  else
    skip "tokenizers" "no $tokenizers"
  fi

  if [ -d "$shared/data/tokenizers/bert-base-uncased" ]; then
    check "tokenizer bert-base-uncased on English text and GLUE" compare_tokenizer \
      "$shared/data/tokenizers/bert-base-uncased" --files "$shared/data/text" "$shared/data/glue" "$shared/cases/text"
    for vocabulary in data/tokenizers/bert-base-uncased/vocab.txt cases/text/wordpiece_vocab.txt; do
      check "WordPiece of $vocabulary" compare_tokenizer "$shared/$vocabulary" \
        --files "$shared/data/text/wikitext-2" "$shared/cases/text"
    done
  else
    skip "tokenizer bert-base-uncased" "no $shared/data/tokenizers/bert-base-uncased"
  fi

  check "datasets from a server at fault" .venv/bin/python tests/scripts/download_test.py
  check "GLUE from a server at fault" .venv/bin/python tests/scripts/glue_test.py
  check "the device program, from LibTorch alone: its sources" .venv/bin/python tests/device/check_sources.py build/release
  check "the check of a card, without one" .venv/bin/python tests/device/check_gpu_check.py "$tests/device_check"
  check "parity cases of the device program are those of tests/reference/parity" check_plain_cases
  check "the training step beside peers" .venv/bin/python scripts/bench_peers.py build/release/skipless --layers 1 --width 32 \
    --heads 2 --vocabulary 64 --tokens 256 --rounds 1 --steps 1 --no-compile
  check "texts and pictures of the scripts" .venv/bin/python tests/scripts/text_and_curves_test.py
  check "scaling law and scaling potential" .venv/bin/python tests/scripts/scaling_test.py
  check "eigenvalues that the figures find" .venv/bin/python tests/scripts/spectrum_test.py
  check "CUDA kernels for five kinds of cards" scripts/check_cuda_kernels.sh
  check "figures' scripts" .venv/bin/python tests/scripts/figures_test.py build/release/skipless
  check "three figures at scale smoke" check_figures
  check "shell scripts" shellcheck scripts/*.sh scripts/figures/*.sh .ci/run
  check "one-way includes" .venv/bin/python scripts/check_includes.py
  check "formatting" check_format
fi

wait
passed=$(count passed "$results"/*.verdict)
failed=$((begun - passed)) # what ended without a verdict has failed too
printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$(count skipped: "$results"/*.output)"
for verdict in "$results"/*.verdict; do
  if [ "$(cat "$verdict")" != passed ]; then sed -n 's/^== /failed: /p' "${verdict%.verdict}.output"; fi
done
[ "$failed" -eq 0 ]
