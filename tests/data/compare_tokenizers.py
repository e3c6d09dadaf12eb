#!/usr/bin/env python3
"""Compares skipless' byte-level BPE with the pinned `tokenizers` package, id for id, on whole files.

    .venv/bin/python tests/data/compare_tokenizers.py --tool build/release/tests/tokenize_file \
        --tokenizer data/tokenizers/python_4096 --stdlib [--files DIR_OR_FILE...] [--time]

--stdlib takes the Python files of the interpreter's standard library, its tests included. Every file that is valid UTF-8 is one document (others are counted and left out). Exits with 1 when any id differs. --time
measures both on the same documents held in memory, on one thread, the package through encode_batch.
"""
import argparse
import os
import pathlib
import struct
import subprocess
import sys
import sysconfig
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

import tokenizers  # noqa: E402  (reads the environment when it is imported)
from tokenizers import decoders, models, pre_tokenizers  # noqa: E402


def package_tokenizer(path):
    """The package's tokenizer for a file or folder, with special tokens in text read as ordinary text, as skipless does."""
    if path.is_dir() and (path / "tokenizer.json").exists():
        path = path / "tokenizer.json"
    if path.is_dir():
        model = models.BPE.from_file(str(path / "vocab.json"), str(path / "merges.txt"))
        tokenizer = tokenizers.Tokenizer(model)
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
    else:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.encode_special_tokens = True
    return tokenizer


def find_files(paths, pattern):
    """All files below the paths."""
    for path in paths:
        yield from sorted(path.rglob(pattern)) if path.is_dir() else [path]


def standard_library():
    root = pathlib.Path(sysconfig.get_path("stdlib"))
    for file in sorted(root.rglob("*.py")):
        if not {"site-packages", "dist-packages"} & set(file.relative_to(root).parts):
            yield file


def read_texts(files):
    """Texts of the files, and the number of files that are not UTF-8."""
    texts, invalid = {}, 0
    for file in files:
        if not file.is_file():
            continue
        try:
            texts[file] = file.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            invalid += 1
    return texts, invalid


def skipless_ids(tool, tokenizer, list_file):
    out = subprocess.run([tool, tokenizer, list_file], check=True, stdout=subprocess.PIPE).stdout
    at = 0
    while at < len(out):
        (count,) = struct.unpack_from("<i", out, at)
        yield struct.unpack_from(f"<{count}i", out, at + 4)
        at += 4 + 4 * count


def first_difference(ours, theirs):
    for index, pair in enumerate(zip(ours, theirs)):
        if pair[0] != pair[1]:
            return index
    return min(len(ours), len(theirs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--tokenizer", required=True, type=pathlib.Path)
    parser.add_argument("--files", default=[], nargs="+", type=pathlib.Path)
    parser.add_argument("--stdlib", action="store_true")
    parser.add_argument("--pattern", default="*", help="selects files in folders (default: all)")
    parser.add_argument("--time", action="store_true")
    arguments = parser.parse_args()

    package = package_tokenizer(arguments.tokenizer)
    files = [*find_files(arguments.files, arguments.pattern), *(standard_library() if arguments.stdlib else [])]
    texts, invalid = read_texts(files)
    if not texts:
        parser.error("nothing to compare: give --files or --stdlib")
    size = sum(len(text.encode()) for text in texts.values())
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as list_file:
        list_file.write("".join(f"{file}\n" for file in texts))
        list_file.flush()

        if arguments.time:
            batch = list(texts.values())
            best = float("inf")
            for _ in range(3):
                start = time.perf_counter()
                package.encode_batch(batch)
                best = min(best, time.perf_counter() - start)
            command = [arguments.tool, arguments.tokenizer, list_file.name, "--time"]
            ours = float(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            print(f"{size / 1e6:.1f} MB: tokenizers {size / best / 1e6:.2f} MB/s, skipless {size / ours / 1e6:.2f} MB/s, "
                  f"ratio {best / ours:.2f}")
            return 0

        mismatches, tokens = 0, 0
        for (file, text), ours in zip(texts.items(), skipless_ids(arguments.tool, arguments.tokenizer, list_file.name)):
            theirs = tuple(package.encode(text).ids)
            tokens += len(theirs)
            if ours != theirs:
                mismatches += 1
                at = first_difference(ours, theirs)
                print(f"{file}: differs at token {at}: {ours[at:at + 5]} against {theirs[at:at + 5]}")
        print(f"{arguments.tokenizer}: {len(texts)} files, {size} bytes, {tokens} tokens, {mismatches} files differ "
              f"({invalid} files are not UTF-8 and were left out)")
        return 1 if mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
