#!/usr/bin/env python3
"""Compares skipless' tokenizers, byte-level BPE and WordPiece, with the pinned `tokenizers` package, id for id.

    .venv/bin/python tests/data/compare_tokenizers.py --tool build/release/tests/tokenize_file \
        --tokenizer data/tokenizers/python_4096 --stdlib [--files DIR_OR_FILE...] [--time] | --code-points | --fuzz 10000
    .venv/bin/python tests/data/compare_tokenizers.py --tool build/release/tests/tokenize_file \
        --characters clean_text,handle_chinese_chars,lowercase --code-points --fuzz 10000

--stdlib takes the Python files of the interpreter's standard library, its tests included. Every file that is valid UTF-8 is
one document (others are counted and left out). --code-points takes every code point, alone and between letters, digits,
blanks, punctuation and apostrophes: those that differ must stand in tokenizer_differences.txt, with the reason, and no
others. --neighbours assigned gives neighbours to one in 97 alone of those that Python's Unicode does not know, and of the
CJK ideographs and Hangul syllables, which are all alike.
--characters, in the place of --tokenizer, makes a WordPiece of all code points, whose ids tell what became of each, under
BertNormalizer with these settings alone; strip_accents and keep_accents are its `strip_accents` true and false, else null.
--fuzz takes random texts of the other code points. Exits with 1 when anything else differs. --time measures both on
the same documents held in memory, on one thread, the package through encode_batch (and encode_batch_fast, which makes no
offsets).
"""
import argparse
import array
import os
import pathlib
import random
import struct
import subprocess
import sys
import sysconfig
import tempfile
import time
import unicodedata

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

import tokenizers  # noqa: E402  (reads the environment when it is imported)
from tokenizers import decoders, models, normalizers, pre_tokenizers  # noqa: E402


def package_tokenizer(path):
    """The package's tokenizer for a file or folder, with special tokens in text read as ordinary text, as skipless does."""
    if path.is_dir() and (path / "tokenizer.json").exists():
        path = path / "tokenizer.json"
    if path.suffix == ".txt":  # a vocab.txt with no tokenizer_config.json beside it
        tokenizer = tokenizers.BertWordPieceTokenizer(str(path))._tokenizer
    elif path.is_dir():
        model = models.BPE.from_file(str(path / "vocab.json"), str(path / "merges.txt"))
        tokenizer = tokenizers.Tokenizer(model)
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
    else:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.encode_special_tokens = True
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def write_character_tokenizer(settings, codes, path):
    """A WordPiece with each of the code points as a token, at the start of a word and within one."""
    unknown = set(settings) - {"clean_text", "handle_chinese_chars", "lowercase", "strip_accents", "keep_accents"}
    if unknown:
        sys.exit(f"compare_tokenizers: no such setting of BertNormalizer: {', '.join(sorted(unknown))}")
    texts = ["[UNK]"] + [prefix + chr(code) for code in codes for prefix in ("", "##")]
    model = models.WordPiece({text: index for index, text in enumerate(texts)}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text="clean_text" in settings,
        handle_chinese_chars="handle_chinese_chars" in settings,
        strip_accents=True if "strip_accents" in settings else False if "keep_accents" in settings else None,
        lowercase="lowercase" in settings,
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(["[UNK]"])
    tokenizer.save(str(path), pretty=False)


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


def ids_of_texts(tool, tokenizer, texts):
    """For each of the texts, what tool makes of it: ids as the bytes of 32-bit integers."""
    with tempfile.NamedTemporaryFile("wb", suffix=".bin") as file:
        for text in texts:
            encoded = text.encode()
            file.write(struct.pack("<I", len(encoded)) + encoded)
        file.flush()
        out = subprocess.run([tool, tokenizer, "--texts", file.name], check=True, stdout=subprocess.PIPE).stdout
    at, ids = 0, []
    while at < len(out):
        (count,) = struct.unpack_from("<i", out, at)
        ids.append(out[at + 4 : at + 4 + 4 * count])
        at += 4 + 4 * count
    return ids


def differing(arguments, package, texts):
    """Indices of the texts that the two encode differently."""
    theirs = (array.array("i", encoding.ids).tobytes() for encoding in package.encode_batch_fast(texts, add_special_tokens=False))
    ours = ids_of_texts(arguments.tool, arguments.tokenizer, texts)
    return [index for index, pair in enumerate(zip(ours, theirs, strict=True)) if pair[0] != pair[1]]


def listed_differences():
    listed = {}
    for line in (pathlib.Path(__file__).parent / "tokenizer_differences.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            first, last, reason = line.split(maxsplit=2)
            listed.update(dict.fromkeys(range(int(first, 16), int(last, 16) + 1), reason))
    return listed


def all_code_points():
    return [code for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]


def is_one_of_many(code):
    return unicodedata.category(chr(code)) in ("Cn", "Co") or unicodedata.name(chr(code), "").startswith(
        ("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "HANGUL SYLLABLE"))


def compare_code_points(arguments, package):
    different = set()
    block = 1 << (19 if arguments.neighbours == "all" else 21)  # the tool reads the tokenizer once for each
    codes = all_code_points()
    for start in range(0, len(codes), block):
        part = codes[start : start + block]
        alone = [chr(code) for code in part]
        in_company = [chr(code) for code in part if arguments.neighbours == "all" or not is_one_of_many(code) or code % 97 == 0]
        # Two of it too, and every kind of neighbour on either side, at the start and at the end of the text.
        between = [f"{c}a{c}b1{c}2 {c} {c}{c}\n{c}\t!{c}?'{c}s\u00a0{c}'s{c}\u4e00{c}" for c in in_company]
        # Combining marks of three classes, which change places, one of them no accent.
        among_marks = [f"A\u302e{c}\u0301 E\u0323{c}\u302e{c}\U0001d165 \u0345{c}\u0334{c}\U0001d16d{c}" for c in in_company]
        texts = alone + between + among_marks
        code_of = part + [ord(c) for c in in_company] * 2
        different.update(code_of[index] for index in differing(arguments, package, texts))
    listed = set(listed_differences())
    for name, codes_of in (("differ and are not listed", different - listed), ("are listed and do not differ", listed - different)):
        if codes_of:
            print(f"{len(codes_of)} code points {name}: " + ", ".join(f"{code:X}" for code in sorted(codes_of)[:50]))
    print(f"{arguments.tokenizer}: {len(codes)} code points, alone and between others: {len(different)} differ, "
          f"{len(listed)} are listed")
    return 1 if different != listed else 0


def fuzzed_texts(count):
    """Random texts of code points that are not listed: mostly what pieces begin and end with, in runs and mixed."""
    numbers = random.Random(20240611)
    listed = listed_differences()
    codes = [code for code in all_code_points() if code not in listed]
    assigned = [code for code in codes if code < 0x3200 or 0x4E00 <= code < 0x5000 or 0x1F300 <= code < 0x1F700]
    ascii_codes = [code for code in codes if code < 0x80]
    awkward = [ord(c) for c in " \n\t\r'’\"0aAsStTreRElLdDmMvV.,-_\u00a0\u3000\u200b\u0301\u2028\ufeff\u302e\u0323\u4e00\u2260\u00c9\u0130"
               if ord(c) not in listed]
    for _ in range(count):
        alphabet = [numbers.choice(numbers.choice((codes, assigned, ascii_codes, ascii_codes, awkward, awkward)))
                    for _ in range(numbers.randint(1, 30))]
        text = ""
        for _ in range(numbers.randint(1, 60)):
            text += chr(numbers.choice(alphabet)) * (numbers.randint(2, 9) if numbers.random() < 0.1 else 1)
        yield text


def fuzzed_code_points(count):
    """Those of the texts, and what normalization may make of them."""
    text = "".join(fuzzed_texts(count))
    lower = text.lower()
    return sorted({ord(c) for c in text + lower + unicodedata.normalize("NFD", text) + unicodedata.normalize("NFD", lower)})


def compare_fuzzed(arguments, package):
    texts = list(fuzzed_texts(arguments.fuzz))
    different = differing(arguments, package, texts)
    for index in different[:10]:
        print(f"differs: {texts[index]!r}")
    print(f"{arguments.tokenizer}: {len(texts)} fuzzed texts, {sum(map(len, texts))} characters: {len(different)} differ")
    return 1 if different else 0


def first_difference(ours, theirs):
    for index, pair in enumerate(zip(ours, theirs)):
        if pair[0] != pair[1]:
            return index
    return min(len(ours), len(theirs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--tokenizer", type=pathlib.Path)
    parser.add_argument("--characters", help="settings of BertNormalizer, joined by commas; may be empty")
    parser.add_argument("--files", default=[], nargs="+", type=pathlib.Path)
    parser.add_argument("--stdlib", action="store_true")
    parser.add_argument("--pattern", default="*", help="selects files in folders (default: all)")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--code-points", action="store_true")
    parser.add_argument("--neighbours", choices=("all", "assigned"), default="all")
    parser.add_argument("--fuzz", type=int, default=0, help="number of random texts")
    arguments = parser.parse_args()

    if (arguments.tokenizer is None) == (arguments.characters is None):
        parser.error("give one of --tokenizer and --characters")
    if arguments.characters is not None:
        with tempfile.TemporaryDirectory() as folder:
            arguments.tokenizer = pathlib.Path(folder) / f"characters[{arguments.characters}].json"
            codes = all_code_points() if arguments.code_points else fuzzed_code_points(arguments.fuzz)
            write_character_tokenizer([name for name in arguments.characters.split(",") if name], codes, arguments.tokenizer)
            return compare(parser, arguments)
    return compare(parser, arguments)


def compare(parser, arguments):
    package = package_tokenizer(arguments.tokenizer)
    if arguments.code_points or arguments.fuzz:
        result = compare_code_points(arguments, package) if arguments.code_points else 0
        return (compare_fuzzed(arguments, package) if arguments.fuzz else 0) or result
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
            seconds = {}
            for encode in (package.encode_batch, package.encode_batch_fast):
                for _ in range(3):
                    start = time.perf_counter()
                    encode(batch, add_special_tokens=False)
                    seconds[encode.__name__] = min(seconds.get(encode.__name__, 1e9), time.perf_counter() - start)
            command = [arguments.tool, arguments.tokenizer, list_file.name, "--time"]
            ours = float(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            print(f"{size / 1e6:.1f} MB: skipless {size / ours / 1e6:.2f} MB/s"
                  + "".join(f"; {name} {size / best / 1e6:.2f} MB/s, ratio {best / ours:.2f}"
                            for name, best in seconds.items()))
            return 0

        mismatches, tokens = 0, 0
        for (file, text), ours in zip(texts.items(), skipless_ids(arguments.tool, arguments.tokenizer, list_file.name)):
            theirs = tuple(package.encode_batch_fast([text], add_special_tokens=False)[0].ids)
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
