#!/usr/bin/env bash
# Configures and builds one preset. Usage: scripts/build.sh [PRESET] [TARGET ...]   (release by default)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$root"
preset=${1:-release}
shift || true
# A checkout that was moved has the old place in its cache.
configured=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "build/$preset/CMakeCache.txt" 2>/dev/null || true)
if [ "$configured" != "$root" ] || [ ! -f "build/$preset/build.ninja" ]; then cmake --fresh --preset "$preset"; fi
targets=()
for target in "$@"; do targets+=(--target "$target"); done
cmake --build --preset "$preset" "${targets[@]}"
