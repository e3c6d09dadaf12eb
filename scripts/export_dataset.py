#!/usr/bin/env python3
"""Writes the texts of a dataset as the compressed .jsonl files that `skipless prepare` reads, through the Hugging Face
`datasets` package (pinned in scripts/requirements.txt, which scripts/setup.sh installs).

    .venv/bin/python scripts/export_dataset.py SOURCE FOLDER --field NAME [--split train] [--config NAME]

SOURCE: a dataset of the hub (such as roneneldan/TinyStories), or files: parquet, json, jsonl (also .gz, .zst), csv; a folder
of them or a pattern. Texts stream: memory does not grow with the set. FOLDER gets part-00000.jsonl.zst, part-00001.jsonl.zst,
... and export.json with the rows and sizes of each. Safe to run again after any interruption: it goes on behind the last
whole part, and refuses to mix two sets. Then: skipless prepare FOLDER --field NAME --tokenizer ... --out ...
"""
import argparse
import glob
import gzip
import json
import os
import math
import pathlib
import re
import sys

KINDS = {".parquet": "parquet", ".json": "json", ".jsonl": "json", ".csv": "csv"}


class Fault(Exception):
    """What the user can put right; told without a traceback, exit code 2."""


class Failure(Exception):
    """What failed at run time, such as the network; exit code 1."""


def failure_of(what, error):
    """Of one of the many kinds of exceptions that the package raises, each with a message of its own."""
    text = f"{what}: {type(error).__name__}: {' '.join(str(error).split())[:400]}"
    kind = Failure if isinstance(error, OSError) and not isinstance(error, FileNotFoundError) else Fault
    return kind(text)


def local_files(source):
    """Files that SOURCE names; none when it is the name of a dataset."""
    path = pathlib.Path(source)
    if path.is_dir():
        files = [file for file in sorted(path.rglob("*")) if file.is_file() and kind_of(file)]
        if not files:
            raise Fault(f"{source}: no file ends in {', '.join(KINDS)}")
        return files
    if path.exists():
        return [path]
    files = [pathlib.Path(name) for name in sorted(glob.glob(source, recursive=True))]
    if not files and (any(c in source for c in "*?[") or kind_of(path) or source.startswith((".", "/"))):
        raise Fault(f"{source}: no such file")
    return files


def kind_of(path):
    inner = path.with_suffix("") if path.suffix in (".gz", ".zst") else path
    return KINDS.get(inner.suffix)


def open_dataset(arguments, files):
    try:
        import datasets
    except ImportError:
        raise Fault("the Python package 'datasets' is missing: run scripts/setup.sh, and this script with "
                    ".venv/bin/python") from None
    datasets.disable_progress_bars()
    if files:
        kinds = {kind_of(file) for file in files}
        if len(kinds) != 1 or None in kinds:
            raise Fault(f"{arguments.source}: files of one kind are needed ({', '.join(KINDS)}), these are "
                        f"{', '.join(sorted({file.suffix or 'without an ending' for file in files}))}")
        where = {"path": kinds.pop(), "data_files": {arguments.split: [str(file) for file in files]}}
    else:
        where = {"path": arguments.source, "name": arguments.config, "revision": arguments.revision}
    try:
        dataset = datasets.load_dataset(**where, split=arguments.split, streaming=True)
        columns = dataset.column_names or list(next(iter(dataset), {}))
    except Exception as error:
        raise failure_of(arguments.source, error) from error
    if not columns:
        raise Fault(f"{arguments.source}: there are no rows in it")
    if arguments.field not in columns:
        raise Fault(f"{arguments.source}: there is no column '{arguments.field}' (--field); it has {', '.join(columns)}")
    return dataset.select_columns([arguments.field])


class Export:
    """The folder and what export.json says of it."""

    def __init__(self, folder, settings):
        self.folder = folder
        self.file = folder / "export.json"
        self.content = {"complete": False, "settings": settings, "rows": 0, "empty": 0, "parts": [], "state": None}
        if folder.exists() and not folder.is_dir():
            raise Fault(f"{folder} is a file, expected a folder")
        if self.file.exists():
            try:
                self.content = json.loads(self.file.read_text(encoding="utf-8"))
                there = self.content["settings"]
            except (ValueError, KeyError, TypeError) as error:
                raise Fault(f"{self.file} is damaged; remove {folder} and begin anew") from error
            different = [f"{key}: {there.get(key)} there, {value} now" for key, value in settings.items()
                         if there.get(key) != value]
            if different:
                raise Fault(f"{folder} holds another export ({'; '.join(different)}); give another folder")
            for part in self.content["parts"]:
                path = folder / part["name"]
                if not path.is_file() or path.stat().st_size != part["bytes"]:
                    raise Fault(f"{path} is missing or does not have its {part['bytes']} bytes; remove {folder} and "
                                "begin anew")
        elif folder.exists() and any(folder.iterdir()):
            raise Fault(f"{folder} is not empty and holds no export.json; give another folder")
        folder.mkdir(parents=True, exist_ok=True)

    def save(self):
        new = self.file.with_suffix(".tmp")
        with new.open("w", encoding="utf-8") as out:
            json.dump(self.content, out, indent=1)
            out.flush()
            os.fsync(out.fileno())
        os.replace(new, self.file)


class Part:
    """One compressed file, which appears when it is whole."""

    def __init__(self, folder, number, compression):
        self.path = folder / f"part-{number:05d}.jsonl.{'zst' if compression == 'zstd' else 'gz'}"
        self.temporary = self.path.with_name(self.path.name + ".tmp")
        self.rows = self.text_bytes = 0
        if compression == "zstd":
            import pyarrow
            self.out = pyarrow.CompressedOutputStream(str(self.temporary), "zstd")
        else:
            self.out = gzip.GzipFile(self.temporary, "wb", compresslevel=6, mtime=0)

    def add(self, line):
        self.out.write(line)
        self.rows += 1
        self.text_bytes += len(line)

    def finish(self):
        self.out.close()
        with self.temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(self.temporary, self.path)
        return {"name": self.path.name, "rows": self.rows, "bytes": self.path.stat().st_size,
                "text_bytes": self.text_bytes}


def line_of(value, field, row):
    if not isinstance(value, str):
        raise Fault(f"row {row}: '{field}' is {json.dumps(value, default=str)[:80]}, expected a text")
    try:
        return (json.dumps({field: value}, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError as error:
        raise Fault(f"row {row}: '{field}' is no Unicode text: {error}") from error


def export(arguments):
    files = local_files(arguments.source)
    settings = {"source": arguments.source, "config": arguments.config, "split": arguments.split,
                "revision": arguments.revision, "field": arguments.field, "compression": arguments.compression,
                "part_mb": arguments.part_mb, "limit": arguments.limit,
                "files": [[str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns] for file in files]}
    target = Export(arguments.folder, settings)
    content = target.content
    if content["complete"]:
        print(f"{arguments.folder} holds this export already: {content['rows']} rows in {len(content['parts'])} parts")
        return
    dataset = open_dataset(arguments, files)
    if content["state"] is not None:
        dataset.load_state_dict(content["state"])
        print(f"going on behind row {content['rows']}")

    def close(part):
        content["parts"].append(part.finish())
        content["rows"], content["empty"] = row, empty
        content["state"] = dataset.state_dict()
        target.save()
        done = content["parts"][-1]
        print(f"{done['name']}: {done['rows']} rows, {done['bytes'] / 1e6:.1f} MB ({done['text_bytes'] / 1e6:.1f} MB "
              "of text)", flush=True)

    def examples():
        try:
            yield from dataset
        except Exception as error:
            raise failure_of(f"{arguments.source}, behind row {row}", error) from error

    row, empty, part = content["rows"], content["empty"], None
    for example in examples():
        if arguments.limit is not None and row >= arguments.limit:
            break
        row += 1
        value = example[arguments.field]
        if value is None or value == "":
            empty += 1
            continue
        part = part or Part(arguments.folder, len(content["parts"]), arguments.compression)
        part.add(line_of(value, arguments.field, row))
        if part.text_bytes >= arguments.part_mb * 1e6:
            close(part)
            part = None
    if part:
        close(part)
    if not content["parts"]:
        raise Fault(f"{arguments.source}: no row has a text in '{arguments.field}'")
    content.update(complete=True, rows=row, empty=empty, state=None)
    target.save()
    print(f"{arguments.folder}: {row - empty} texts in {len(content['parts'])} parts"
          + (f"; {empty} empty rows were left out" if empty else ""))


def name_of_split(text):
    # Rows are streamed, and the package then knows no train[:10%] or train+test.
    if not re.fullmatch(r"\w+(\.\w+)*", text):
        raise argparse.ArgumentTypeError(f"{text!a:.200} is not the name of one split; --limit takes the first rows")
    return text


def above_zero(text):
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!a:.200} is not a number above 0")
    return number


def count(text):
    if not re.fullmatch(r"[0-9]{1,18}", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!a:.200} is not a whole number from 1 on")
    return int(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--field", required=True, help="the column that holds the text")
    parser.add_argument("--split", type=name_of_split, default="train", help="its name (default: train)")
    parser.add_argument("--config", help="of a dataset of the hub that has several")
    parser.add_argument("--revision", help="of a dataset of the hub")
    parser.add_argument("--compression", choices=("zstd", "gzip"), default="zstd")
    parser.add_argument("--part-mb", type=above_zero, default=256, help="text in a part, in MB (default: 256)")
    parser.add_argument("--limit", type=count, help="only the first rows")
    arguments, problem, code = parser.parse_args(), None, 1
    try:
        export(arguments)
    except Fault as fault:
        problem, code = f"export_dataset: {fault}", 2
    except (Failure, OSError) as failure:
        problem = f"export_dataset: {failure}"
    except KeyboardInterrupt:
        problem = "export_dataset: interrupted; the same command goes on from here"
    if problem:
        print(problem, file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # threads that still read ahead abort an ordinary end of the interpreter


if __name__ == "__main__":
    main()
