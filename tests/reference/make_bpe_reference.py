#!/usr/bin/env python3
"""Writes tests/reference/bpe_python_4096.json: token ids that the pinned `tokenizers` package gives for small texts.

    .venv/bin/python tests/reference/make_bpe_reference.py

Special tokens in the texts are read as ordinary text (encode_special_tokens), as skipless reads a corpus.
"""
import json
import pathlib
import random

import tokenizers

HERE = pathlib.Path(__file__).resolve().parent
TOKENIZER = HERE.parent.parent / "data/tokenizers/python_4096/tokenizer.json"

TEXTS = [
    "",
    " ",
    "\n",
    "   \t\n",
    "hello world",
    "def area(self, radius: float) -> float:\n    return math.pi * radius**2\n",
    "class Node:\n\t'''A tree's node.'''\n\n\tdef __init__(self):\n\t\tself.left = self.right = None\n",
    "we're they'll I'd it's don't 'tis WE'RE",
    "trailing blanks   ",
    "two  blanks, three   blanks\n\n\n    four",
    "\r\nline\r\n\r\n",
    "x = 3.14159e-10 + 0xDEADBEEF ** 2 // 7",
    "<|endoftext|> is text here, <|endoftext|>",
    "nul\0byte",
    "Grüße, señor, naïve café, cafe\u0301",
    "Добрый день, 你好世界, こんにちは, مرحبا ٣٤",
    "👨\u200d👩\u200d👧 👍🏽 🙂🙂🙂",
    "non\u00a0breaking \u2028line\u2029paragraph\u3000wide \u0085next",
    "zero\u200bwidth \ufeffmark \u180evowel \u2060joiner",
    "half ½ roman Ⅷ super ² circled ①",
    "Unicode 15 and 16: \U00011f05\U00011f06 \U0001e4d0 \U000105c0\U000105c1 \U00011f50\U00011f51 \u1c89",
    "a" * 300,
    " " * 300 + "x",
    "=" * 79 + "\n" + "-" * 79,
    "ab" * 100,
]

ALPHABET = [
    *"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    *"     \n\n\t\r'\"()[]{}.,;:=+-*/<>_#@!?\\",
    *"éüßñжд中文かなعב٣½²Ⅷ€«»…🙂👍\u0301\u00a0\u2028\u3000\u0085\u200b\u200d\ufeff\u180e\0",
    "'s", "'ll", "self", "return", "import ", "    ", "<|endoftext|>",
]  # fmt: skip


def main():
    tokenizer = tokenizers.Tokenizer.from_file(str(TOKENIZER))
    tokenizer.encode_special_tokens = True
    rng = random.Random(20)
    texts = TEXTS + ["".join(rng.choices(ALPHABET, k=rng.randint(1, 60))) for _ in range(300)]
    cases = [{"text": text, "ids": tokenizer.encode(text).ids} for text in texts]
    lines = [json.dumps(case, separators=(",", ":")) for case in cases]
    content = f'{{"tokenizers": "{tokenizers.__version__}", "cases": [\n' + ",\n".join(lines) + "\n]}\n"
    (HERE / "bpe_python_4096.json").write_text(content)


if __name__ == "__main__":
    main()
