#!/usr/bin/env python3
"""Compares hidden states of a converted BERT with those of transformers' BertModel, in float32.

    .venv/bin/python tests/train/compare_hidden_states.py build/release/skipless build/release/tests/hidden_states \\
        [FOLDER [SENTENCES]]

Each side makes its tokens itself; skipless reads batches with padding, transformers sentence by sentence. FOLDER: another BERT
in transformers' format with its tokenizer.json, instead of a small one with random values. SENTENCES: a file with one sentence
a line, instead of docstrings of the standard library; 200 of them are taken, evenly spaced.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import tokenizers
import torch
import transformers
from safetensors.torch import load_file
from small_bert import write_small_bert

SENTENCES = 200
TOLERANCE = 2e-5  # of values up to some 5; float32 sums of up to 1,536 terms in another order, through six layers


def docstrings():
    names = ("argparse", "asyncio", "collections", "ctypes", "datetime", "decimal", "email", "logging", "random", "textwrap")
    docs = [getattr(value, "__doc__", None) for name in names for value in vars(__import__(name)).values()]
    lines = {line.strip() for doc in docs if isinstance(doc, str) for line in doc.splitlines()}
    return sorted(line for line in lines if 3 <= len(line.split()) <= 30)


def evenly(lines):
    return [lines[i * len(lines) // SENTENCES] for i in range(SENTENCES)]


def expected(bert, sentences):
    tokenizer = tokenizers.Tokenizer.from_file(str(bert / "tokenizer.json"))
    tokenizer.no_padding()
    begin, end = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    model = transformers.BertModel.from_pretrained(bert, attn_implementation="eager").float().eval()
    room = model.config.max_position_embeddings - 2
    with torch.no_grad():
        for sentence in sentences:
            ids = tokenizer.encode(sentence, add_special_tokens=False).ids[:room]
            yield model(torch.tensor([[begin, *ids, end]])).last_hidden_state[0]


def main():
    transformers.utils.logging.disable_progress_bar()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skipless")
    parser.add_argument("hidden_states")
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("sentences", nargs="?", type=pathlib.Path)
    arguments = parser.parse_args()
    lines = arguments.sentences.read_text().split("\n")[:-1] if arguments.sentences else docstrings()
    if len(lines) < SENTENCES:
        sys.exit(f"compare_hidden_states: {len(lines)} sentences, {SENTENCES} are needed")
    sentences = evenly(lines)
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        bert = arguments.folder or work / "bert"
        if not arguments.folder:
            write_small_bert(bert)
        subprocess.run([arguments.skipless, "convert", bert, work / "run"], check=True, stdout=subprocess.DEVNULL)
        (work / "text").write_text("".join(sentence + "\n" for sentence in sentences))
        subprocess.run([arguments.hidden_states, work / "run", work / "text", work / "out.safetensors"], check=True)
        ours = load_file(work / "out.safetensors")
        apart = largest = tokens = 0
        for i, hidden in enumerate(expected(bert, sentences)):
            if ours[str(i)].shape != hidden.shape:
                sys.exit(f"sentence {i}: {list(ours[str(i)].shape)} values, {list(hidden.shape)} expected: {sentences[i]}")
            apart = max(apart, (ours[str(i)] - hidden).abs().max().item())
            largest = max(largest, hidden.abs().max().item())
            tokens += len(hidden)
    print(f"{SENTENCES} sentences, {tokens} tokens: values up to {largest:.2f}, largest difference {apart:.1e}")
    return 0 if apart <= TOLERANCE and largest > 1 else 1


if __name__ == "__main__":
    sys.exit(main())
