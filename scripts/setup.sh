#!/usr/bin/env bash
# Installs what skipless needs and is missing: Debian packages, and pinned Python packages in .venv. Safe to run again;
# takes under two seconds when nothing is missing. Usage: scripts/setup.sh
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

packages=(
  build-essential cmake ninja-build pkg-config git python3 python3-venv ccache mold
  libfmt-dev libspdlog-dev libyaml-cpp-dev libcli11-dev nlohmann-json3-dev # text, log, config, arguments, JSON
  libhwy-dev                                                               # SIMD that fits the processor
  libpcre2-dev libutf8proc-dev                                             # what tokenizers need of Unicode
  libxxhash-dev zlib1g-dev libzstd-dev                                     # checksums, .gz, .zst
  clang-16 libclang-rt-16-dev                                              # where it is missing GCC does, slower
  catch2 shellcheck clang-format-14                                        # tests and style
  graphviz                                                                 # draws the blocks
)

say() { printf 'setup: %s\n' "$*"; }

install_debian_packages() {
  local missing=() installed
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null |
    awk '$2 == "installed" {print $1}' || true)
  for package in "${packages[@]}"; do
    grep -qx -- "$package" <<<"$installed" || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
      say "these Debian packages are missing, and there is no sudo to install them with: ${missing[*]}" >&2
      exit 1
    }
    as_root=(sudo)
  fi
  say "installing Debian packages: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

# The stamp is written last: an installation that was cut off is taken up again.
install_python_packages() {
  local stamp=$root/.venv/installed-requirements.txt
  if cmp -s "$root/scripts/requirements.txt" "$stamp" && [ -x "$root/.venv/bin/python" ]; then return; fi
  say "installing pinned Python packages into .venv (about 3 GB for LibTorch; some minutes)"
  # A .venv that was moved with its checkout has paths of the old place in it: anew is the only safe way.
  local place
  place=$(sed -n 's/^command = .* -m venv \(--clear \)\?//p' "$root/.venv/pyvenv.cfg" 2>/dev/null || true)
  if [ "$place" != "$root/.venv" ]; then python3 -m venv --clear "$root/.venv"; fi
  "$root/.venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile -r "$root/scripts/requirements.txt"
  cp "$root/scripts/requirements.txt" "$stamp"
}

# For scripts/check_cuda_kernels.sh: what no CUDA toolkit brings. Without it everything else works, so that a failure is no end.
install_cuda_tools() {
  local missing=() cuda=${CUDA_PATH:-/usr/local/cuda}/bin wheels
  wheels=$(echo "$root"/.venv/lib/python3*/site-packages/nvidia/cu13/bin)
  has() { command -v "$1" >/dev/null || [ -x "$cuda/$1" ] || [ -x "$wheels/$1" ]; }
  has cuobjdump || missing+=(nvidia-cuda-cuobjdump)
  has nvcc || missing+=(nvidia-cuda-nvcc nvidia-cuda-crt nvidia-nvvm nvidia-cuda-cccl nvidia-cuda-runtime)
  [ ${#missing[@]} -eq 0 ] && return
  say "installing CUDA's tools into .venv: ${missing[*]}"
  "$root/.venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --retries 1 --timeout 15 \
    -c "$root/scripts/cuda_constraints.txt" "${missing[@]}" || say "they did not come: the CUDA kernels will not be checked"
}

if command -v dpkg-query >/dev/null; then
  install_debian_packages
else
  say "this is not a Debian system: please install the equivalents of: ${packages[*]}" >&2
fi
install_python_packages
install_cuda_tools
say "everything is installed"
