#!/usr/bin/env python3
"""Writes data/wordpiece_unicode.h: where the pinned `tokenizers` package's tables of Unicode differ from utf8proc's.

The package's BertNormalizer and BertPreTokenizer carry three versions of Unicode: categories of Unicode 8 with no unassigned
code point among the removed ones, decompositions of Unicode 12, and lower-casing of Unicode 17. utf8proc 2.8 (Debian 12) has
Unicode 15 for all. The header lists the differences, as ranges; under a newer utf8proc, run this script again.

    .venv/bin/python scripts/make_wordpiece_unicode.py
"""
import ctypes
import ctypes.util
import pathlib

import tokenizers
from tokenizers import normalizers, pre_tokenizers

ROOT = pathlib.Path(__file__).resolve().parent.parent
CODES = [code for code in range(1, 0x110000) if not 0xD800 <= code <= 0xDFFF]  # NUL is removed by name
MARK_NONSPACING, PUNCTUATION, OTHER = {6}, set(range(12, 19)), {26, 27, 28, 29}  # of utf8proc_category_t
DECOMPOSE = 1 << 4  # UTF8PROC_DECOMPOSE


class Utf8proc:
    """utf8proc's view of a code point."""

    def __init__(self):
        self.library = ctypes.CDLL(ctypes.util.find_library("utf8proc") or "libutf8proc.so.2")
        self.library.utf8proc_version.restype = ctypes.c_char_p
        self.library.utf8proc_unicode_version.restype = ctypes.c_char_p
        self.version = self.library.utf8proc_version().decode()
        self.unicode = self.library.utf8proc_unicode_version().decode()

        self.library.utf8proc_get_property.restype = ctypes.POINTER(ctypes.c_int16)

    def combining_class(self, code):
        return self.library.utf8proc_get_property(code)[1]  # the second member of utf8proc_property_t

    def category(self, code):
        return self.library.utf8proc_category(code)

    def lower(self, code):
        return chr(self.library.utf8proc_tolower(code))

    def decomposed(self, code):
        out, boundary = (ctypes.c_int32 * 8)(), ctypes.c_int(0)
        count = self.library.utf8proc_decompose_char(code, out, 8, DECOMPOSE, ctypes.byref(boundary))
        return "".join(map(chr, out[:count]))

    def ordered(self, text):
        """NFD of a text of code points that do not decompose."""
        buffer = ctypes.create_string_buffer(text.encode())
        self.library.utf8proc_NFD.restype = ctypes.c_void_p
        pointer = self.library.utf8proc_NFD(buffer)
        result = ctypes.string_at(pointer).decode()
        ctypes.CDLL(None).free(ctypes.c_void_p(pointer))
        return result


def normalizer(**on):
    off = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    return normalizers.BertNormalizer(**{**off, **on}).normalize_str


def is_alone(code, cut=pre_tokenizers.BertPreTokenizer().pre_tokenize_str):
    """Whether the package's pre-tokenizer makes it a word of its own."""
    return len(cut(f"a{chr(code)}a")) == 3


def ranges(codes):
    out = []
    for code in sorted(codes):
        if out and out[-1][1] == code - 1:
            out[-1][1] = code
        else:
            out.append([code, code])
    return out


def table(name, comment, codes):
    """An empty array does not exist in C++: a range that no code point is in stands for it."""
    items = [f"{{0x{low:X}, 0x{high:X}}}" for low, high in ranges(codes)] or ["{1, 0}"]
    rows = [items[i : i + 5] for i in range(0, len(items), 5)]
    return f"// {comment}\ninline constexpr CodePoints {name}[] = {{\n" + "".join(
        f"    {', '.join(row)},\n" for row in rows) + "};\n"


def lower_table(pairs):
    runs = []
    for code, lower in sorted(pairs.items()):
        if runs and runs[-1][1] == code - 1 and runs[-1][2] == lower - code:
            runs[-1][1] = code
        else:
            runs.append([code, code, lower - code])
    rows = "".join(f"    {{0x{low:X}, 0x{high:X}, {step}}},\n" for low, high, step in runs)
    return f"// Lower case is `step` further.\ninline constexpr LowerCase kLowerCase[] = {{\n{rows}}};\n"


def main():
    ours = Utf8proc()
    clean, strip, lower = normalizer(clean_text=True), normalizer(strip_accents=True), normalizer(lowercase=True)
    decompose = normalizers.NFD().normalize_str
    removed = {code for code in CODES if clean(chr(code)) == "" and code != 0xFFFD}
    our_removed = {code for code in CODES if ours.category(code) in OTHER and code not in (0x9, 0xA, 0xD)}
    alone = {code for code in CODES if is_alone(code)}
    our_alone = {code for code in CODES if ours.category(code) in PUNCTUATION or (code < 0x80 and is_alone(code))}
    whole = {code for code in CODES if decompose(chr(code)) == chr(code)}
    our_whole = {code for code in CODES if ours.decomposed(code) == chr(code)}
    marks = {code for code in CODES if code in whole and strip(chr(code)) == ""}
    our_marks = {code for code in CODES if code in our_whole and ours.category(code) in MARK_NONSPACING}
    lowered = {code: lower(chr(code)) for code in CODES if lower(chr(code)) != ours.lower(code)}
    for code in sorted((our_removed ^ removed) & removed) + sorted(our_whole - whole):
        raise SystemExit(f"U+{code:X}: the package removes or decomposes it and utf8proc does not: the header cannot say so")

    def moves(text):
        return decompose(text) != text

    # Those that change places with their neighbours, here or there. Of what is decomposed, the parts decide.
    movers = {code for code in whole & our_whole if ours.combining_class(code) != 0 or moves(f"a{chr(code)}\u0334")
              or moves(f"a\u0345{chr(code)}")}
    for code in movers:
        for mark in "\u0334\u0301\u0345":
            for text in (f"a{chr(code)}{mark}", f"a{mark}{chr(code)}"):
                if decompose(text) != ours.ordered(text) and decompose(text) != text:
                    raise SystemExit(f"U+{code:X}: combining classes differ: the header cannot say so")
    unordered = {code for code in movers for text in (f"a{chr(code)}\u0334", f"a\u0345{chr(code)}")
                 if decompose(text) != ours.ordered(text)}
    for code in CODES:
        if decompose(chr(code)) != ours.decomposed(code) and code not in whole:
            raise SystemExit(f"U+{code:X}: decompositions differ: the header cannot say so")
    several = {code for code, text in lowered.items() if len(text) > 1}
    if several != {0x130}:
        raise SystemExit(f"code points with several in lower case: {several}: the header cannot say so")

    tables = [
        table("kNotRemoved", "Control or format characters that clean-up keeps.", our_removed - removed),
        table("kNotMark", "Nonspacing marks that the removal of accents keeps.", our_marks - marks),
        table("kMark", "No nonspacing marks, but removed with the accents.", marks - our_marks),
        table("kNotPunctuation", "Punctuation that does not end a word.", our_alone - alone),
        table("kPunctuation", "No punctuation, but ends a word.", alone - our_alone),
        table("kNotDecomposed", "Not decomposed.", whole - our_whole),
        table("kNotReordered", "Combining marks that stay where they stand.", unordered),
        lower_table({code: ord(text) for code, text in lowered.items() if code != 0x130}),
    ]
    (ROOT / "data/wordpiece_unicode.h").write_text(
        f"""// Written by scripts/make_wordpiece_unicode.py from tokenizers {tokenizers.__version__}; do not edit.
// Where that package's tables of Unicode differ from those of utf8proc {ours.version} (Unicode {ours.unicode}).
#pragma once

#include <cstdint>

namespace skipless::wordpiece_unicode {{

struct CodePoints {{
  std::uint32_t first, last;
}};

struct LowerCase {{
  std::uint32_t first, last;
  std::int32_t step;
}};

// clang-format off
{chr(10).join(tables)}// clang-format on

}}  // namespace skipless::wordpiece_unicode
""")


if __name__ == "__main__":
    main()
