#!/usr/bin/env python3
"""Writes data/unicode_additions.h: letters and numbers that the pinned `tokenizers` package knows and PCRE2 10.42 does not.

The package's regex engine carries Unicode 16, PCRE2 10.42 (Debian 12) Unicode 14, as does Python 3.11's `unicodedata`, which
stands in for PCRE2 here. A newer PCRE2 knows some of these code points itself, so that naming them again changes nothing.

    .venv/bin/python scripts/make_unicode_additions.py [--classes FILE]

--classes also writes the package's class (L letter, N number, S space) of every code point as ranges, which
tests/reference/unicode_classes.txt holds: the test that the two agree on every code point.
"""
import argparse
import pathlib
import unicodedata

import tokenizers

ROOT = pathlib.Path(__file__).resolve().parent.parent


def package_classes():
    """Class of each code point, seen through where the package's ByteLevel pre-tokenizer cuts."""
    splitter = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)

    def joins(first, second):
        return len(splitter.pre_tokenize_str(first + second)) == 1

    classes = {}
    for code_point in range(0x110000):
        if 0xD800 <= code_point <= 0xDFFF:
            continue
        char = chr(code_point)
        if joins("a", char):
            classes[code_point] = "L"
        elif joins("1", char):
            classes[code_point] = "N"
        elif not joins("!", char):
            classes[code_point] = "S"
    return classes


def ranges(wanted, allowed):
    """`wanted` as ranges; a gap filled wholly by `allowed` does not end one."""
    out = []
    for code_point in sorted(wanted):
        if out and all(gap in allowed for gap in range(out[-1][1] + 1, code_point)):
            out[-1][1] = code_point
        else:
            out.append([code_point, code_point])
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classes", type=pathlib.Path)
    arguments = parser.parse_args()
    if unicodedata.unidata_version != "14.0.0":
        raise SystemExit(f"needs a Python with Unicode 14.0.0 (3.11), this one has {unicodedata.unidata_version}")

    classes = package_classes()
    lines = []
    for kind, name in (("L", "kLetterAdditions"), ("N", "kNumberAdditions")):
        members = {c for c, k in classes.items() if k == kind}
        missing = {c for c in members if unicodedata.category(chr(c))[0] != kind}
        text = [rf"\\x{{{low:X}}}-\\x{{{high:X}}}" for low, high in ranges(missing, members)]
        lines.append(f"inline constexpr char {name}[] =")
        rows = [text[i : i + 4] for i in range(0, len(text), 4)]
        lines += [f'    "{"".join(row)}"' for row in rows]
        lines[-1] += ";"
        lines.append("")
        known = {c for c in range(0x110000) if unicodedata.category(chr(c))[0] == kind}
        if known - members:
            raise SystemExit(f"the package lacks code points of class {kind} that Unicode 14 has: this file cannot say so")

    (ROOT / "data/unicode_additions.h").write_text(
        f"""// Written by scripts/make_unicode_additions.py from tokenizers {tokenizers.__version__}; do not edit.
// Letters and numbers of Unicode 15 and 16, which PCRE2 10.42 (Unicode 14) does not know, as ranges of a PCRE2 class.
#pragma once

namespace skipless {{

// clang-format off
{chr(10).join(lines)}// clang-format on

}}  // namespace skipless
"""
    )
    if arguments.classes:
        with arguments.classes.open("w") as out:
            for kind in "LNS":
                members = {c for c, k in classes.items() if k == kind}
                for low, high in ranges(members, members):
                    out.write(f"{kind} {low:X} {high:X}\n")


if __name__ == "__main__":
    main()
