#!/usr/bin/env python3
"""Writes tests/reference/wordpiece_english_8192.json: what the pinned `tokenizers` package makes of small texts.

    .venv/bin/python tests/reference/make_wordpiece_reference.py

Per text: ids with the tokenizer as it is (uncased) and with lower-casing off (cased), and what its decoder makes of the first.
Per pair of texts and length: ids and token types under longest-first truncation. Special tokens in the texts are read as
ordinary text (encode_special_tokens), as skipless reads a corpus.
"""
import json
import pathlib
import random

import tokenizers

HERE = pathlib.Path(__file__).resolve().parent
TOKENIZER = HERE.parent.parent / "data/tokenizers/english_8192/tokenizer.json"

TEXTS = [
    "",
    " ",
    " \t\r\n ",
    "hello world",
    "Hello, World! It's 3.14, isn't it? (We don't know.)",
    "The quick brown fox jumps over the lazy dog; unaffable, unwanted, rewriting.",
    "FOO_bar-1 ##ing [MASK] [CLS] [SEP] [PAD] [UNK] <|endoftext|>",
    "nul\0byte, bell\x07, escape\x1b[0m, delete\x7f, vertical\x0btab, form\x0cfeed, next\u0085line",
    "Grüße, señor, naïve café, cafe\u0301, Ångström, ÉCOLE, İstanbul, ΣΊΣΥΦΟΣ, Straße",
    "non\u00a0breaking \u2028line\u2029paragraph\u3000wide \u2009thin",
    "zero\u200bwidth \ufeffmark soft\u00adhyphen \u2060joiner \ufffdreplaced",
    "中文foo 日本語 かな 한국어 \uf900 \U0002f800",
    "«quoted» “curly” ‘single’ … — – ¿qué? ¡sí! 5′10″",
    "a ≠ b ≮ c \u037e \u0387 \u1fef",
    "x\u0301\u0323\u0334y \u302e\u0301 \U0001d15e\U0001d165",
    "👨\u200d👩\u200d👧 👍🏽 🙂🙂🙂",
    "ab" * 50,
    "ab" * 50 + "c",
    "e\u0301" * 100,
    "e\u0301" * 101,
    "a do not , b n't c 's d ' e",
]

ALPHABET = [
    *"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    *"     \n\t\r'\"()[]{}.,;:=+-*/<>_#@!?\\",
    *"éüßñÀÇŽжЖд中文かなकि\u0301\u0323\u00a0\u2028\u3000\u0085\u200b\ufeff\0\u007f«»…’“🙂",
    "the", "ing", "return ", "    ", "##", "[MASK]", " is ",
]  # fmt: skip


def main():
    uncased = tokenizers.Tokenizer.from_file(str(TOKENIZER))
    uncased.encode_special_tokens = True
    content = json.loads(uncased.to_str())
    content["normalizer"]["lowercase"] = False
    cased = tokenizers.Tokenizer.from_str(json.dumps(content))
    cased.encode_special_tokens = True
    rng = random.Random(5)
    texts = TEXTS + ["".join(rng.choices(ALPHABET, k=rng.randint(1, 60))) for _ in range(300)]

    def case(text):
        ids = uncased.encode(text, add_special_tokens=False).ids
        return {
            "text": text,
            "uncased": ids,
            "cased": cased.encode(text, add_special_tokens=False).ids,
            "decoded": uncased.decode(ids, skip_special_tokens=False),
        }

    cases = [case(text) for text in texts]  # before truncation is switched on
    words = "one two three four five six seven eight".split()
    pairs = []
    for _ in range(300):
        a, b = (" ".join(rng.choices(words, k=rng.randint(0, 9))) for _ in range(2))
        length = rng.randint(3, 20)
        uncased.enable_truncation(length, strategy="longest_first")
        encoding = uncased.encode(a, b)
        pairs.append({"a": a, "b": b, "length": length, "ids": encoding.ids, "types": encoding.type_ids})
    singles = []
    for _ in range(30):
        a, length = " ".join(rng.choices(words, k=rng.randint(0, 9))), rng.randint(3, 12)
        uncased.enable_truncation(length, strategy="longest_first")
        encoding = uncased.encode(a)
        singles.append({"a": a, "length": length, "ids": encoding.ids, "types": encoding.type_ids})

    def lines(items):
        return ",\n".join(json.dumps(item, separators=(",", ":")) for item in items)

    (HERE / "wordpiece_english_8192.json").write_text(
        f'{{"tokenizers": "{tokenizers.__version__}", "cases": [\n{lines(cases)}\n], "pairs": [\n{lines(pairs)}\n],'
        f' "singles": [\n{lines(singles)}\n]}}\n')


if __name__ == "__main__":
    main()
