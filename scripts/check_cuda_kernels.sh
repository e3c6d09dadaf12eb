#!/usr/bin/env bash
# Checks that every CUDA source compiles, without a GPU, to machine code for the cards below; cuobjdump lists them. Objects of
# build/release are looked at where it has them for the default cards, others are compiled in half a minute or so.
# Tools come from a CUDA toolkit or from .venv (scripts/setup.sh); without them it says 'skipped'. Usage: scripts/check_cuda_kernels.sh
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
cards=(75 80 86 89 90) # 2080 Ti and T4, A100, 3090 and A10, 4090 and L4, H100

skip() {
  echo "skipped: CUDA kernels: $*"
  exit 0
}
tool() { # tool NAME: its path, or nothing
  local file
  command -v "$1" && return
  for file in "${CUDA_PATH:-/usr/local/cuda}/bin/$1" .venv/lib/python3*/site-packages/nvidia/cu13/bin/"$1"; do
    if [ -x "$file" ]; then
      echo "$file"
      return
    fi
  done
}

cuobjdump=$(tool cuobjdump)
[ -n "$cuobjdump" ] || skip "no cuobjdump, and scripts/setup.sh could not bring one from PyPI"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

built=build/release/CMakeFiles/skipless_models.dir/models/kernels/cuda
default_cards=$(sed -n 's/^CMAKE_CUDA_ARCHITECTURES:STRING=OFF$/yes/p' build/release/CMakeCache.txt 2>/dev/null || true)
object_of() { # object_of SOURCE: prints the path of its object, compiled anew unless the build's is up to date
  local name object
  name=$(basename "$1")
  object=$built/$name.o
  if [ -n "$default_cards" ] && [ -f "$object" ] && [ -z "$(find models/kernels -newer "$object" \( -name '*.h' -o -name '*.cu*' \))" ]; then
    echo "$object"
    return
  fi
  local nvcc code
  nvcc=$(tool nvcc)
  [ -n "$nvcc" ] || return 1
  code=$(printf ',sm_%s' "${cards[@]}")
  "$nvcc" -std=c++17 -O3 --extended-lambda --fmad=false --Werror=all-warnings "--generate-code=arch=compute_75,code=[${code:1}]" \
    -I. -c "$1" -o "$work/$name.o" >&2
  echo "$work/$name.o"
}

failed=0
for source in models/kernels/cuda/*.cu; do
  object=$(object_of "$source") || {
    [ -n "$(tool nvcc)" ] || skip "no nvcc, and scripts/setup.sh could not bring one from PyPI"
    echo "$source does not compile"
    failed=1
    continue
  }
  found=$("$cuobjdump" --list-elf "$object" | grep -o 'sm_[0-9]*' | sort -u | tr '\n' ' ' || true)
  echo "$source: $found"
  for card in "${cards[@]}"; do
    case " $found" in
      *" sm_$card "*) ;;
      *)
        echo "$source has no machine code for sm_$card"
        failed=1
        ;;
    esac
  done
done
exit "$failed"
