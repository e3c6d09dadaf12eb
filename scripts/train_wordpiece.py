#!/usr/bin/env python3
"""Trains a WordPiece tokenizer as BERT's with the Hugging Face `tokenizers` package and writes a tokenizer.json.

    .venv/bin/python scripts/train_wordpiece.py --out DIR/tokenizer.json PATH...
    .venv/bin/python scripts/train_wordpiece.py --vocab-size 8192 --out DIR/tokenizer.json --stdlib

PATH: a file, or a folder that is searched for --pattern (default '*.txt'). A file whose name ends in .jsonl, .jsonl.gz,
.jsonl.zst or .json.gz holds a text a line, in --field. --stdlib takes the English of the running interpreter's standard
library: the docstrings of its modules and the topics of its help. The same files give the same tokenizer: they are read one
after another in sorted order, as UTF-8 (other files are left out and counted). --limit-mb stops after that much text: a
tokenizer hardly changes beyond some hundred MB.

Text is normalized as BERT's: lower case without accents, or as it stands with --cased. [PAD], [UNK], [CLS], [SEP] and [MASK]
are the ids 0 to 4. The --alphabet most frequent characters are tokens; words with another one are unknown.
"""
import argparse
import ast
import collections
import importlib
import json
import pathlib
import sys

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from train_tokenizer import Texts, find_files, standard_library

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PREFIX = "##"


def standard_library_english():
    for file in standard_library():
        try:
            module = ast.parse(file.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in ast.walk(module):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                text = ast.get_docstring(node)
                if text:
                    yield text
    yield from importlib.import_module("pydoc_data.topics").topics.values()


def new_tokenizer(model, lowercase):
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix=PREFIX)
    return tokenizer


def count_words(texts, lowercase):
    """Words of the normalized texts, with how often they occur."""
    rules = new_tokenizer(models.WordPiece(unk_token="[UNK]"), lowercase)
    words = collections.Counter()
    for text in texts:
        words.update(word for word, _ in rules.pre_tokenizer.pre_tokenize_str(rules.normalizer.normalize_str(text)))
    return words


def repeated(words):
    """Texts in which each word stands as often as it was counted."""
    most = 10_000
    for word, count in sorted(words.items()):
        for start in range(0, count, most):
            yield " ".join([word] * min(most, count - start))


def train(words, vocab_size, alphabet_size, lowercase):
    """The package's trainer breaks ties by ids that it hands out in the order of a hash table with a random seed: single
    characters at the start and within a word get theirs beforehand, so that training again gives the same tokenizer."""
    characters = collections.Counter()
    for word, count in words.items():
        for character in word:
            characters[character] += count
    kept = sorted(sorted(characters, key=lambda c: (-characters[c], c))[:alphabet_size])
    first = SPECIALS + kept + [PREFIX + character for character in kept]
    if len(first) > vocab_size:
        sys.exit(f"train_wordpiece: {len(kept)} characters and {len(SPECIALS)} special tokens take {len(first)} of "
                 f"{vocab_size} tokens: choose a smaller --alphabet or a larger --vocab-size")
    trained = new_tokenizer(models.WordPiece(unk_token="[UNK]"), lowercase)
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size, special_tokens=first, initial_alphabet=kept, limit_alphabet=len(kept),
        continuing_subword_prefix=PREFIX, show_progress=False)
    trained.train_from_iterator(repeated(words), trainer)

    vocab = trained.get_vocab(with_added_tokens=True)
    tokenizer = new_tokenizer(models.WordPiece(vocab, unk_token="[UNK]", continuing_subword_prefix=PREFIX), lowercase)
    tokenizer.add_special_tokens(SPECIALS)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", vocab["[SEP]"]), ("[CLS]", vocab["[CLS]"]))
    return tokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocab-size", type=int, default=32768, help="with the special tokens (default: 32768)")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--cased", action="store_true", help="keep capital letters and accents")
    parser.add_argument("--alphabet", type=int, default=1000, help="most characters (default: 1000)")
    parser.add_argument("--pattern", default="*.txt", help="selects files in folders")
    parser.add_argument("--stdlib", action="store_true", help="also the English of the interpreter's standard library")
    parser.add_argument("--field", help="of the lines of .jsonl files")
    parser.add_argument("--limit-mb", type=float, help="stop after so many million characters")
    parser.add_argument("paths", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()

    texts = Texts(find_files(arguments.paths, arguments.pattern), arguments.field,
                  arguments.limit_mb and arguments.limit_mb * 1e6)
    words = count_words(texts, not arguments.cased)
    count, characters = texts.texts, texts.characters
    if arguments.stdlib:
        english = list(standard_library_english())
        words += count_words(english, not arguments.cased)
        count, characters = count + len(english), characters + sum(map(len, english))
    if not words:
        parser.error("no text to train on: give PATHs or --stdlib")
    tokenizer = train(words, arguments.vocab_size, arguments.alphabet, not arguments.cased)
    if tokenizer.get_vocab_size() < arguments.vocab_size:
        print(f"train_wordpiece: the text gives only {tokenizer.get_vocab_size()} tokens", file=sys.stderr)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    content = json.loads(tokenizer.to_str())
    content["model"]["vocab"] = dict(sorted(content["model"]["vocab"].items(), key=lambda item: item[1]))
    arguments.out.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{arguments.out}: {tokenizer.get_vocab_size()} tokens from {count} texts, "
          f"{characters / 1e6:.1f} M characters ({texts.invalid} files are not UTF-8 and were left out)")


if __name__ == "__main__":
    main()
