#!/usr/bin/env python3
"""Peak of the anonymous memory of `skipless prepare` above its start, and its speed, on inputs of any size.

    .venv/bin/python tests/data/measure_prepare.py build/release/skipless [--mb 2000] [--threads N] [--case NAME...]

Each case is --mb million bytes of text in one .zst file in a temporary folder (--folder), the same at each run:
    tiny    documents of one to eight letters, each a line      lines   lines of 300 kB
    text    one document                                        code    the standard library again and again, a file a line
    long    lines of 16 MB, the longest that are taken          bomb    one line of blanks, as a decompression bomb
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import sysconfig
import tempfile
import time

import pyarrow

ROOT = pathlib.Path(__file__).resolve().parents[2]


def sources():
    root = pathlib.Path(sysconfig.get_path("stdlib"))
    for file in sorted(root.rglob("*.py")):
        try:
            if "site-packages" not in file.parts:
                yield file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            pass


def line(text):
    return json.dumps({"text": text}).encode() + b"\n"


def blocks(case):
    """Bytes of a case without end, in blocks."""
    numbers = random.Random(1)
    code = list(sources())
    everything = "".join(code)
    yield line("first") + line("second") if case != "text" else b"first line\n"
    number = 0
    while True:
        number += 1
        if case == "tiny":
            yield b"".join(line("".join(numbers.choices("abcdefgh", k=numbers.randint(1, 8)))) for _ in range(50_000))
        elif case == "code":
            yield b"".join(line(f"# {number}\n{text}") for text in code)
        elif case == "text":
            yield everything.encode()
        elif case == "bomb":
            yield b" " * 10_000_000
        else:
            size = 300_000 if case == "lines" else 14_000_000
            at = numbers.randrange(len(everything) - size)
            yield line(everything[at : at + size])


def write(case, size, file):
    written = 0
    with pyarrow.CompressedOutputStream(str(file), "zstd") as out:
        for block in blocks(case):
            out.write(block)
            written += len(block)
            if written >= size:
                return written


def anonymous_kilobytes(process):
    try:
        for text in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if text.startswith("RssAnon:"):
                return int(text.split()[1])
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


def peak_of(command):
    """Largest anonymous memory of a command, in KiB, its exit code, and what it wrote to standard error."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    peak = 0
    while process.poll() is None:
        peak = max(peak, anonymous_kilobytes(process))
        time.sleep(0.002)
    return peak, process.returncode, process.stderr.read().decode()


def measure(arguments, case, folder):
    file = folder / ("in.txt.zst" if case == "text" else "in.jsonl.zst")
    size = write(case, arguments.mb * 1e6, file)
    paths = [file]
    if case == "text":  # a second document, to hold out
        (folder / "small.jsonl").write_text('{"text": "small"}\n')
        paths.append(folder / "small.jsonl")
    command = [arguments.skipless, "prepare", *paths, "--field", "text", "--tokenizer",
               ROOT / "data/tokenizers/python_4096", "--out", folder / "out", "--threads", str(arguments.threads)]
    # A loaded program with its libraries, before it has done anything.
    own = max(peak_of([arguments.skipless, "prepare", "--help"])[0] for _ in range(3))
    start = time.monotonic()
    peak, code, errors = peak_of(command)
    seconds = time.monotonic() - start
    if code != 0:
        sys.exit(f"{case}: {errors}")
    print(f"{case}: {size / 1e6:.0f} MB in {seconds:.1f} s ({size / 1e6 / seconds:.1f} MB/s), anonymous memory "
          f"{own / 1024:.0f} MiB of the program itself, {(peak - own) / 1024:.0f} MiB more at most", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skipless", type=pathlib.Path)
    parser.add_argument("--mb", type=float, default=2000)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--case", action="append", choices=("tiny", "lines", "text", "code", "long", "bomb"))
    parser.add_argument("--folder", type=pathlib.Path, help="where to work; much space is needed (default: a temporary one)")
    arguments = parser.parse_args()
    for case in arguments.case or ("tiny", "lines", "text", "code", "long", "bomb"):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            measure(arguments, case, pathlib.Path(folder))


if __name__ == "__main__":
    main()
