#!/usr/bin/env bash
# Builds the device program (tests/device) with nothing but LibTorch, a C++20 compiler and, for a card, nvcc: no CMake, no
# Debian package. Objects are made anew when a source, a header or a flag changed. With CUDA it takes the kernels of
# models/kernels/cuda, for the card's own architecture.
# Usage: scripts/build_device_check.sh --libtorch DIR [--out DIR] [--cpu] [--arch 75] [--jobs N] [--list]
#   --libtorch  a folder with include/ and lib/; of a Python with torch: the package's own folder
#   --out       where to build (default: build/device_check); the program is DIR/device_check
#   --cpu       no CUDA at all
#   --arch      compute capability without its point (default: of nvidia-smi's first card)
#   --list      print the sources, and build nothing
# CXX, NVCC and CUDA_HOME choose the tools. Cost: two minutes on 16 cores. Exit code 2: something is missing.
set -euo pipefail
shopt -s nullglob
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD

refuse() {
  echo "build_device_check: $1" >&2
  exit 2
}
libtorch='' out=build/device_check cpu=false arch='' jobs=$(nproc) list=false
while [ $# -gt 0 ]; do
  case "$1" in
    --cpu) cpu=true ;;
    --list) list=true ;;
    --libtorch | --out | --arch | --jobs)
      [ $# -ge 2 ] || refuse "$1 needs a value"
      case "$1" in
        --libtorch) libtorch=$2 ;;
        --out) out=$2 ;;
        --arch) arch=$2 ;;
        --jobs) jobs=$2 ;;
      esac
      shift
      ;;
    *) refuse "'$1' is not an option" ;;
  esac
  shift
done

# All of models/ but the files of weights, whose headers are JSON, and Highway's kernels; elsewhere what the program reaches.
# scripts/test.sh holds this list to what the linker takes for tests/device_check (tests/device/check_sources.py).
models=(models/*.cpp models/blocks/*.cpp)
models=("${models[@]/#models\/safetensors*/}")
sources=()
for file in "${models[@]}"; do if [ -n "$file" ] && [ "$file" != models/sequence_head.cpp ]; then sources+=("$file"); fi; done
for name in atomic_file key_value nearest numbers printable schema utf8 yaml_text; do sources+=("configs/$name.cpp"); done
for name in chunk_kind masking_config; do sources+=("data/$name.cpp"); done
for name in accumulation adamw attention_backend autocast budget checked_cards clip cuda_driver device learner loss_scaler \
  module_state non_finite out_of_memory parameter_groups peak_memory peak_rates precision quartiles run_config schedule \
  step_times threads; do
  sources+=("train/$name.cpp")
done
for name in bench_figures bench_table child_memory linear_shapes op_times product_floor step_bench; do
  sources+=("train/bench/$name.cpp")
done
for name in batch_run comparison plain_case plain_config; do sources+=("tests/parity/$name.cpp"); done
sources+=(tests/device/*.cpp tests/device/bare/*.cpp)
if $list; then
  printf '%s\n' "${sources[@]}"
  exit
fi

[ -n "$libtorch" ] || refuse "--libtorch DIR is needed"
for file in include/torch/csrc/api/include/torch/types.h lib/libtorch_cpu.so; do
  [ -f "$libtorch/$file" ] || refuse "no LibTorch in '$libtorch': it has no $file"
done
libtorch=$(cd "$libtorch" && pwd)
compiler=${CXX:-}
if [ -z "$compiler" ]; then
  for name in g++ clang++; do if command -v "$name" >/dev/null; then compiler=${compiler:-$name}; fi; done
fi
[ -n "$compiler" ] || refuse "no C++ compiler: neither g++ nor clang++ is here (CXX names another one)"
echo 'int main() { auto f = []<class T>(T x) requires(sizeof(T) > 0) { return x; }; return f(0); }' |
  "$compiler" -std=c++20 -fsyntax-only -x c++ - 2>/dev/null || refuse "$compiler knows no C++20: g++ 11 or newer, or clang"

mkdir -p "$out/objects"
out=$(cd "$out" && pwd)
flags=(-std=c++20 -O2 -DNDEBUG -DFMT_HEADER_ONLY -I"$root" -I"$out/generated" -isystem "$libtorch/include"
  -isystem "$libtorch/include/torch/csrc/api/include")
link=("$libtorch/lib/libtorch_cpu.so" "$libtorch/lib/libc10.so")
kernels=()
if ! $cpu; then
  nvcc=${NVCC:-$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")}
  [ -x "$nvcc" ] || refuse "no nvcc: neither in PATH nor in ${CUDA_HOME:-/usr/local/cuda}/bin (NVCC names another one)"
  [ -f "$libtorch/lib/libtorch_cuda.so" ] || refuse "the LibTorch in '$libtorch' has no CUDA (lib/libtorch_cuda.so)"
  cuda=$(cd "$(dirname "$(readlink -f "$nvcc")")/.." && pwd)
  flags+=(-isystem "$cuda/include")
  # Nothing of ours names a symbol of libtorch_cuda, which registers itself when it is loaded.
  link=("-Wl,--no-as-needed" "${link[@]}" "$libtorch/lib/libtorch_cuda.so" "$libtorch/lib/libc10_cuda.so")
  kernels=(models/kernels/cuda/*.cu)
  if [ ${#kernels[@]} -gt 0 ]; then
    flags+=(-DSKIPLESS_CUDA_KERNELS)
    if [ -z "$arch" ]; then
      arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -d '. ' || true)
      [ -n "$arch" ] || refuse "nvidia-smi names no card to build for; give --arch, such as 75 for a 2080 Ti"
    fi
    # The shared runtime: LibTorch's own is the same library then, and is there once.
    runtime=("$cuda"/lib64/libcudart.so* "$cuda"/lib/libcudart.so* "$cuda"/targets/x86_64-linux/lib/libcudart.so*)
    link+=("${runtime[0]:--lcudart}")
    if [ ${#runtime[@]} -gt 0 ]; then link+=("-Wl,-rpath,$(dirname "${runtime[0]}")"); fi
  fi
fi

scripts/write_kernel_hash.sh "$out/generated/kernel_hash.h"
# As in cmake/CudaKernels.cmake, so that what passes here is what runs there.
nvcc_flags=(-std=c++17 -O3 -DNDEBUG --extended-lambda --fmad=false -I"$root"
  --generate-code="arch=compute_75,code=sm_$arch" -ccbin "$compiler")
told="$compiler ${flags[*]} ${nvcc_flags[*]}"
if [ "$(cat "$out/flags" 2>/dev/null)" != "$told" ]; then
  rm -rf "$out/objects" "$out/prefix.h.gch"
  mkdir "$out/objects"
fi
printf '%s' "$told" >"$out/flags"

# As in CMakeLists.txt: the headers that cost most, parsed once. GCC and Clang both look for the .gch beside the header.
prefix=$out/prefix.h
if [ ! -f "$prefix.gch" ]; then
  printf '#include <torch/nn/module.h>\n#include <torch/nn/pimpl.h>\n' >"$prefix"
  "$compiler" "${flags[@]}" -x c++-header "$prefix" -o "$prefix.gch.new"
  mv "$prefix.gch.new" "$prefix.gch"
fi

object_of() {
  local name=${1%.*}
  echo "$out/objects/${name//\//_}.o"
}
# An object is as new as what it was made from: its own list of headers says what that is.
is_current() { # is_current OBJECT
  [ -f "$1" ] && [ -f "$1.d" ] || return 1
  local files file
  read -r -d '' -a files < <(sed -e 's/^[^:]*://' -e 's/\\$//' "$1.d") || true
  for file in "${files[@]}"; do [ "$1" -nt "$file" ] || return 1; done
}
compile() { # compile SOURCE
  local object
  object=$(object_of "$1")
  if is_current "$object"; then return; fi
  case "$1" in
    *.cu) "$nvcc" "${nvcc_flags[@]}" -MD -MF "$object.d" -c "$1" -o "$object.new" ;;
    configs/* | data/*) "$compiler" "${flags[@]}" -MD -MF "$object.d" -c "$1" -o "$object.new" ;;
    *) "$compiler" -include "$prefix" "${flags[@]}" -MD -MF "$object.d" -c "$1" -o "$object.new" ;;
  esac
  mv "$object.new" "$object"
}

running=0 failed=false
for source in "${kernels[@]}" "${sources[@]}"; do
  compile "$source" &
  running=$((running + 1))
  if [ "$running" -ge "$jobs" ]; then
    wait -n || failed=true
    running=$((running - 1))
  fi
done
while [ "$running" -gt 0 ]; do
  wait -n || failed=true
  running=$((running - 1))
done
if $failed; then
  echo "build_device_check: some sources did not compile" >&2
  exit 1
fi
objects=()
for source in "${kernels[@]}" "${sources[@]}"; do objects+=("$(object_of "$source")"); done
"$compiler" "${objects[@]}" -o "$out/device_check.new" "${link[@]}" -Wl,-rpath,"$libtorch/lib" -ldl -lpthread
mv "$out/device_check.new" "$out/device_check"
echo "$out/device_check"
