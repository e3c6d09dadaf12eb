#!/usr/bin/env bash
# Checks this project on a card and times it there: parity with other code, gradients, this project's kernels against plain
# formulas, fp16 and bf16 training against fp32, the step of every block at the paper's shapes beside PyTorch's, and once
# more in the memory of a 2080 Ti. Where all has passed the card is recorded, and from then on the kernels run on it
# (docs/performance.md). Writes a report.
# Needs a Python with torch 2.11 or a LibTorch, a C++20 compiler, nvcc, and a card. Cost: under 8 minutes.
# Usage: scripts/gpu_check.sh [--python PYTHON | --libtorch DIR] [--out DIR] [--device cuda:N] [--program FILE] [--smoke]
#   --python   whose torch is taken (default: .venv/bin/python, else python3)
#   --libtorch a LibTorch without a Python: no peers
#   --out      folder of the report gpu_check.md and of the program (default: build/gpu_check)
#   --device   cuda (default), cuda:N, or cpu, which needs --smoke
#   --program  a device_check that is built already
#   --cases    other parity cases (default: tests/reference/device)
#   --smoke    tiny models: whether the check itself works
# Codes: 0 all passed, 1 something failed or was not reached in time, 2 a mistake in the arguments, or no compiler, LibTorch or card.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

refuse() {
  echo "gpu_check: $1" >&2
  exit 2
}
python='' libtorch='' out=build/gpu_check device=cuda program='' smoke=false cases=tests/reference/device
while [ $# -gt 0 ]; do
  case "$1" in
    --smoke) smoke=true ;;
    --python | --libtorch | --out | --device | --program | --cases)
      [ $# -ge 2 ] || refuse "$1 needs a value"
      case "$1" in
        --python) python=$2 ;;
        --libtorch) libtorch=$2 ;;
        --out) out=$2 ;;
        --device) device=$2 ;;
        --program) program=$2 ;;
        --cases) cases=$2 ;;
      esac
      shift
      ;;
    *) refuse "'$1' is not an option" ;;
  esac
  shift
done
[ -z "$python" ] || [ -z "$libtorch" ] || refuse "--python and --libtorch exclude each other"
case "$device" in
  cpu) $smoke || refuse "--device cpu is for --smoke alone: a CPU is no card" ;;
  cuda | cuda:[0-9]*) ;;
  *) refuse "--device '$device' is not one of cuda, cuda:N, cpu" ;;
esac
index=${device#cuda}
index=${index#:}
smi() { nvidia-smi --id="${index:-0}" --query-gpu="$1" --format=csv,noheader,nounits; }
if [ "$device" != cpu ]; then
  smi name >/dev/null 2>&1 || refuse "no card: nvidia-smi names none at $device"
fi
if [ -z "$python$libtorch" ]; then
  for python in .venv/bin/python python3 ''; do
    if [ -n "$python" ] && "$python" -c 'import torch' 2>/dev/null; then break; fi
  done
  [ -n "$python" ] || refuse "no LibTorch: neither .venv/bin/python nor python3 has torch; give --python or --libtorch"
fi
if [ -n "$python" ]; then
  libtorch=$("$python" -c 'import os, torch; print(os.path.dirname(torch.__file__))' 2>/dev/null) ||
    refuse "'$python' is no Python with torch"
fi
[ -z "$program" ] || [ -x "$program" ] || refuse "--program '$program' is no program"
mkdir -p "$out" 2>/dev/null || refuse "--out '$out' cannot be made"
report=$out/gpu_check.md
commit=$(git describe --always --abbrev=12 --dirty --exclude='*' 2>/dev/null || echo unknown)

begun=$SECONDS
remaining() { echo $((470 - SECONDS + begun)); }
say() { printf '%s\n' "$@" >>"$report"; }
verdicts=() failed=false complete=true
verdict() { # verdict NAME TEXT SECONDS
  verdicts+=("| $1 | $2 | $3 |")
  printf 'gpu_check: %-22s %s (%s s)\n' "$1" "$2" "$3" >&2
}
# Every section by itself: what hangs or dies takes nothing else with it.
section() { # section NAME MOST_SECONDS required|timed COMMAND ...
  local name=$1 limit=$2 kind=$3 code=0 start=$SECONDS text
  shift 3
  say "" "## $name" ""
  if [ "$limit" -gt "$(remaining)" ]; then limit=$(remaining); fi
  if [ "$limit" -lt 5 ]; then
    say "Not run: no time was left."
    if [ "$kind" = required ]; then complete=false; fi
    verdict "$name" "not run, for want of time" 0
    return
  fi
  timeout -k 5 "$limit" "$@" >>"$report" 2>"$out/errors" || code=$?
  if [ -s "$out/errors" ]; then { echo; sed 's/^/    /' "$out/errors" | tail -20; } >>"$report"; fi
  case "$code" in
    0) text=passed ;;
    77) text=skipped ;;
    124 | 137)
      text="**stopped after $limit s**"
      if [ "$kind" = required ]; then failed=true; fi # figures that took too long are no failure
      ;;
    *) text="**FAILED**" failed=true ;;
  esac
  verdict "$name" "$text" $((SECONDS - start))
}

: >"$report"
say "# skipless on a device" "" "- date: $(date -u +%FT%TZ), commit $commit"
say "- compiler: $("${CXX:-c++}" --version 2>/dev/null | head -1 || true)"
if [ "$device" != cpu ]; then
  say "- driver, clocks now and at most (SM, memory; MHz), power limit (W), memory (MiB): $(smi \
    driver_version,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem,power.limit,memory.total)"
fi

if [ -z "$program" ]; then
  build=(--libtorch "$libtorch" --out "$out/build")
  if [ "$device" = cpu ]; then build+=(--cpu); else build+=(--arch "$(smi compute_cap | tr -d '. ')"); fi
  code=0
  scripts/build_device_check.sh "${build[@]}" >"$out/build.log" 2>&1 || code=$?
  if [ "$code" -eq 2 ]; then refuse "$(tail -1 "$out/build.log")"; fi
  if [ "$code" -ne 0 ]; then
    echo "gpu_check: the device program did not compile: $out/build.log" >&2
    exit 1
  fi
  program=$out/build/device_check
  verdict build passed $((SECONDS - begun))
fi

small=() shapes=(--layers 18 --width 768 --heads 12 --vocabulary 50000 --context 128) batch=32 rounds=3 steps=5
peers=(pre_ln sas sas_p)
if $smoke; then
  small=(--small)
  shapes=(--layers 1 --width 32 --heads 2 --vocabulary 64 --context 16)
  batch=4 rounds=1 steps=1
  peers=(sas_p)
fi
check() { section "$1" "$2" required "$program" "$1" --device "$device" "${small[@]}" "${@:3}"; }
check card 60
check parity 60 --cases "$cases"
check gradients 120
check kernels 120
check training 120
check host 60

bench=("$program" bench --device "$device" "${shapes[@]}" --batch "$batch" --rounds "$rounds" --steps "$steps")
section bench 130 timed "${bench[@]}" --seconds 50
precision=fp32 capability=0
if [ "$device" != cpu ]; then
  capability=$(smi compute_cap | tr -d '. ')
  if [ "$capability" -ge 80 ]; then precision=bf16; elif [ "$capability" -ge 70 ]; then precision=fp16; fi
fi
if [ -n "$python" ]; then
  for block in "${peers[@]}"; do
    section "peers of $block" 60 timed "$python" scripts/bench_peers.py - --device "$device" --block "$block" --precision \
      "$precision" "${shapes[@]}" --tokens "$((batch * ${shapes[-1]}))" --rounds "$rounds" --steps "$steps" --no-compile
  done
else
  say "" "## peers" "" "Not run: they need a Python with torch, and only a LibTorch was given."
  verdict peers "skipped: no Python" 0
fi

# A 2080 Ti has 11,264 MiB, of which driver and context take some hundred.
limit_mib=10600
limited=(env)
say "" "## in the memory of a 2080 Ti" ""
if [ "$device" = cpu ]; then
  say "No limit: on a CPU there is none."
elif [ "$(smi memory.total)" -le "$limit_mib" ]; then
  say "No limit: the card itself has $(smi memory.total) MiB."
else
  fraction=$(awk -v part="$limit_mib" -v whole="$(smi memory.total)" 'BEGIN { printf "%.5f", part / whole }')
  limited=(env "PYTORCH_CUDA_ALLOC_CONF=per_process_memory_fraction:$fraction")
  say "LibTorch may take $limit_mib MiB (per_process_memory_fraction:$fraction)."
fi
section "limited bench" 90 timed "${limited[@]}" "${bench[@]}" --seconds 30
section "limited fits" 90 timed "${limited[@]}" "$program" fits --device "$device" "${shapes[@]}" --batch "$batch" \
  --most "$((16 * batch))" --seconds 60

result=1
if $failed; then
  recorded="Not recorded: something failed."
elif ! $complete; then
  recorded="Not recorded: there was no time for all of it; the program is built now, and the same command goes on from there."
elif recorded=$("$program" record --device "$device" --commit "$commit" 2>&1); then
  recorded="Recorded: $recorded." result=0
else
  recorded="**FAILED**: $recorded"
fi
{
  echo
  echo "## Result"
  echo
  echo "| section | result | seconds |"
  echo "|---|---|---:|"
  printf '%s\n' "${verdicts[@]}"
  echo
  echo "$recorded $((SECONDS - begun)) s in all. Not in this check: CUDA graphs, several cards, torch.compile of the peers."
} >>"$report"
echo "gpu_check: $recorded Report: $report"
exit "$result"
