#!/usr/bin/env python3
"""Compares a file written by this project with what the reference safetensors library makes of it.

    .venv/bin/python tests/models/check_safetensors.py build/release/tests/test_models

The test program writes a sample of every dtype; the library must load it, and must write the same tensors to the same
bytes.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

from safetensors import safe_open
from safetensors.torch import save


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "sample.safetensors"
        subprocess.run([sys.argv[1], "[.safetensors-sample]"], check=True, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, SKIPLESS_SAFETENSORS_SAMPLE=str(path)))
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}
            metadata = file.metadata()
        same = save(tensors, metadata) == path.read_bytes()
    print(f"{len(tensors)} tensors loaded by the reference library; "
          f"{'the same bytes' if same else 'OTHER BYTES than it writes'}")
    return 0 if same and len(tensors) == 21 else 1


if __name__ == "__main__":
    sys.exit(main())
