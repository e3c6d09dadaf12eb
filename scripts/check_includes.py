#!/usr/bin/env python3
"""Checks that includes go one way only: configs <- models, data <- eval <- train <- cli; models and data never meet."""
import pathlib
import re
import sys

ALLOWED = {
    "configs": {"configs"},
    "models": {"configs", "models"},
    "data": {"configs", "data"},
    "eval": {"configs", "models", "data", "eval"},
    "train": {"configs", "models", "data", "eval", "train"},
    "cli": {"configs", "models", "data", "eval", "train", "cli"},
}
ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#include "([a-z]+)/', re.MULTILINE)


def main():
    wrong = []
    for folder, allowed in ALLOWED.items():
        for file in sorted((ROOT / folder).rglob("*.[ch]*")):
            if file.suffix not in {".h", ".cpp", ".cu", ".cuh"}:
                continue
            for included in INCLUDE.findall(file.read_text(encoding="utf-8")):
                if included in ALLOWED and included not in allowed:
                    wrong.append(f"{file.relative_to(ROOT)} includes from {included}/")
    print("\n".join(wrong) if wrong else "includes go one way")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
