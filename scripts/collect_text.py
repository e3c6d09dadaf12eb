#!/usr/bin/env python3
"""Makes documents of a paragraph or some, one a line of a .jsonl file, out of long texts: what is held out for validation
is then from everywhere, not one whole book.

    .venv/bin/python scripts/collect_text.py --out FILE.jsonl PATH...         files, and the *.txt of folders
    .venv/bin/python scripts/collect_text.py --out FILE.jsonl --docstrings    English that every machine has: the docstrings
                                                                              of the standard library and of torch

A text is cut at empty lines, or where it has none at the ends of lines, into pieces of at least --characters. The same
input gives the same file; a file that is already there is left alone. Read it with 'skipless prepare --field text'.
"""
import argparse
import ast
import json
import multiprocessing
import os
import pathlib
import sys
import sysconfig
import warnings

from train_tokenizer import NOT_LIBRARY, standard_library

SHORTEST_DOCSTRING = 200  # characters; shorter ones are hardly sentences


def pieces(text, characters):
    """`text` in paragraphs, joined until they are long enough."""
    paragraphs = [p.strip() for p in text.replace("\r\n", "\n").split("\n\n")]
    if max(map(len, paragraphs)) > 20 * characters:
        paragraphs = [line.strip() for line in text.splitlines()]
    piece = ""
    for paragraph in filter(None, paragraphs):
        piece += paragraph + "\n\n"
        if len(piece) >= characters:
            yield piece.strip()
            piece = ""
    if piece:
        yield piece.strip()


def texts_of(paths, characters):
    for path in paths:
        if not path.exists():
            sys.exit(f"collect_text: no such file or folder: {path}")
        for file in sorted(path.rglob("*.txt")) if path.is_dir() else [path]:
            try:
                text = file.read_bytes().decode("utf-8")
            except UnicodeDecodeError as error:
                print(f"collect_text: left out: {file} is not UTF-8 (byte {error.start})", file=sys.stderr)
                continue
            yield from pieces(text, characters)


def docstrings_of(file):
    warnings.simplefilter("ignore")  # of the code that is read
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return []
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, documented)]
    return [text for text in found if text and len(text) >= SHORTEST_DOCSTRING]


def docstrings():
    torch = pathlib.Path(sysconfig.get_path("purelib")) / "torch"
    files = standard_library() + [file for file in sorted(torch.rglob("*.py"))
                                  if not NOT_LIBRARY & set(file.relative_to(torch).parts)]
    seen = set()  # overloads repeat theirs
    with multiprocessing.Pool() as pool:
        for texts in pool.imap(docstrings_of, files, chunksize=16):
            for text in texts:
                if text not in seen:
                    seen.add(text)
                    yield text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--characters", type=int, default=1500)
    parser.add_argument("--docstrings", action="store_true")
    parser.add_argument("paths", nargs="*", type=pathlib.Path, metavar="PATH")
    arguments = parser.parse_args()
    if bool(arguments.paths) == arguments.docstrings:
        parser.error("give PATHs, or --docstrings")
    if arguments.out.exists():
        return
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = arguments.out.with_name(arguments.out.name + ".tmp")
    documents = characters = 0
    with unfinished.open("w", encoding="utf-8") as out:
        for text in docstrings() if arguments.docstrings else texts_of(arguments.paths, arguments.characters):
            out.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
            documents += 1
            characters += len(text)
    if documents == 0:
        sys.exit("collect_text: no text found")
    os.replace(unfinished, arguments.out)
    print(f"{arguments.out}: {documents} documents, {characters / 1e6:.1f} M characters")


if __name__ == "__main__":
    main()
