#!/usr/bin/env bash
# Writes the C++ header FILE with a hash of the CUDA kernels' sources, models/kernels/device and models/kernels/cuda, and
# touches it only when they changed. Usage: scripts/write_kernel_hash.sh FILE
set -euo pipefail
header=$(realpath -m "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
shopt -s nullglob
export LC_ALL=C
folders=(models/kernels/cuda models/kernels/device)
files=()
for folder in "${folders[@]}"; do
  for file in "$folder"/*; do if [ -f "$file" ]; then files+=("$file"); fi; done
done
hash=none
if [ ${#files[@]} -gt 0 ]; then hash=$(sha256sum "${files[@]}" | sha256sum | cut -c1-16); fi
text="#pragma once
#define SKIPLESS_KERNEL_HASH \"$hash\""
if [ ! -f "$header" ] || [ "$(cat "$header")" != "$text" ]; then
  mkdir -p "$(dirname "$header")"
  printf '%s\n' "$text" >"$header.new.$$"
  mv "$header.new.$$" "$header"
fi
