#!/usr/bin/env python3
"""Trains a byte-level BPE tokenizer with the Hugging Face `tokenizers` package and writes a tokenizer.json.

    .venv/bin/python scripts/train_tokenizer.py --vocab-size 4096 --out DIR/tokenizer.json PATH...
    .venv/bin/python scripts/train_tokenizer.py --vocab-size 4096 --out DIR/tokenizer.json --stdlib

PATH: a file, or a folder that is searched for --pattern (default '*.py'). A file whose name ends in .jsonl, .jsonl.gz,
.jsonl.zst or .json.gz holds a text a line, in --field. --stdlib takes the running interpreter's standard library without
its tests and without installed packages. The same files give the same tokenizer: they are read one after another in sorted
order, as UTF-8 (other files are left out and counted). --limit-mb stops after that much text: a tokenizer hardly changes
beyond some hundred MB. The 256 bytes are always in the vocabulary; '<|endoftext|>' is id 0.
"""
import argparse
import gzip
import io
import json
import pathlib
import sys
import sysconfig

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

NOT_LIBRARY = {"site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__"}


def standard_library():
    root = pathlib.Path(sysconfig.get_path("stdlib"))
    return [file for file in sorted(root.rglob("*.py")) if not NOT_LIBRARY & set(file.relative_to(root).parts)]


def find_files(paths, pattern):
    files = []
    for path in paths:
        if not path.exists():
            sys.exit(f"train_tokenizer: no such file or folder: {path}")
        files += sorted(path.rglob(pattern)) if path.is_dir() else [path]
    return [file for file in files if file.is_file()]


def open_bytes(file):
    if file.suffix == ".gz":
        return gzip.open(file, "rb")
    if file.suffix == ".zst":
        import pyarrow  # comes with the datasets package
        return io.BufferedReader(pyarrow.CompressedInputStream(str(file), "zstd"))
    return file.open("rb")


def is_json_lines(file):
    return file.name.endswith((".jsonl", ".jsonl.gz", ".jsonl.zst", ".json.gz", ".json.zst"))


class Texts:
    """Reads the texts of the files one after another, and counts."""

    def __init__(self, files, field, limit):
        self.files, self.field, self.limit = files, field, limit
        self.texts = self.characters = self.invalid = 0

    def __iter__(self):
        for file in self.files:
            for text in self.of_lines(file) if is_json_lines(file) else self.of_file(file):
                if self.limit is not None and self.characters >= self.limit:
                    return
                self.texts += 1
                self.characters += len(text)
                yield text

    def of_file(self, file):
        with open_bytes(file) as content:
            try:
                yield content.read().decode("utf-8")
            except UnicodeDecodeError:
                self.invalid += 1

    def of_lines(self, file):
        if self.field is None:
            sys.exit(f"train_tokenizer: {file}: name the field that holds the text with --field")
        with open_bytes(file) as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    text = json.loads(line)[self.field]
                except (ValueError, KeyError, TypeError) as error:
                    sys.exit(f"train_tokenizer: {file}:{number}: {type(error).__name__}: {error}")
                if not isinstance(text, str):
                    sys.exit(f"train_tokenizer: {file}:{number}: '{self.field}' is no text")
                yield text


def train(texts, vocab_size):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocab-size", type=int, required=True, help="with the special token and the 256 bytes")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--pattern", default="*.py", help="selects files in folders")
    parser.add_argument("--stdlib", action="store_true", help="also the interpreter's standard library")
    parser.add_argument("--field", help="of the lines of .jsonl files")
    parser.add_argument("--limit-mb", type=float, help="stop after so many million characters")
    parser.add_argument("paths", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.vocab_size < 257:
        parser.error(f"--vocab-size is {arguments.vocab_size}, expected at least 257")

    files = find_files(arguments.paths, arguments.pattern) + (standard_library() if arguments.stdlib else [])
    texts = Texts(files, arguments.field, arguments.limit_mb and arguments.limit_mb * 1e6)
    tokenizer = train(texts, arguments.vocab_size)
    if texts.texts == 0:
        parser.error("no text to train on: give PATHs or --stdlib")
    if tokenizer.get_vocab_size() < arguments.vocab_size:
        print(f"train_tokenizer: the text gives only {tokenizer.get_vocab_size()} tokens", file=sys.stderr)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    content = json.loads(tokenizer.to_str())
    arguments.out.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{arguments.out}: {tokenizer.get_vocab_size()} tokens from {texts.texts} texts, "
          f"{texts.characters / 1e6:.1f} M characters ({texts.invalid} files are not UTF-8 and were left out)")


if __name__ == "__main__":
    main()
