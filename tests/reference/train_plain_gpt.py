#!/usr/bin/env python3
"""Pre-LN and parallel GPTs in plain PyTorch by the recipe of configs/micro_18x128.yaml: whether a distance between these blocks is
this code's or their own.

    .venv/bin/python tests/reference/train_plain_gpt.py pre_ln|parallel --lr 3e-3 --steps 244 --seed 0

Independent of skipless but for its tokenizer: initial values of its own, packed chunks of the standard library, LibTorch's attention,
fp32. Prints the loss over 512 chunks that were held out.
"""
import argparse
import pathlib
import random
import sysconfig

import tokenizers
import torch
from torch import nn
from torch.nn import functional

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAYERS, WIDTH, HEADS, TOKENS, BATCH, VOCABULARY = 18, 128, 4, 128, 16, 4096
HELD_OUT = 512


def chunks():
    tokenizer = tokenizers.Tokenizer.from_file(str(ROOT / "data/tokenizers/python_4096/tokenizer.json"))
    files = sorted(pathlib.Path(sysconfig.get_paths()["stdlib"]).rglob("*.py"))
    random.Random(0).shuffle(files)
    ids = []
    for file in files:
        if "-packages" in str(file):
            continue
        try:
            ids += tokenizer.encode(file.read_text(encoding="utf-8")).ids + [0]
        except UnicodeDecodeError:
            continue
    count = len(ids) // (TOKENS + 1)
    return torch.tensor(ids[: count * (TOKENS + 1)]).view(count, TOKENS + 1)


def matrix(rows, columns):
    return nn.Parameter(torch.randn(rows, columns) * 0.05)


def rms_norm(x, gain):
    return gain * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)


class Block(nn.Module):
    def __init__(self, parallel):
        super().__init__()
        self.query, self.key, self.value, self.projection = (matrix(WIDTH, WIDTH) for _ in range(4))
        self.query_bias, self.key_bias = (nn.Parameter(torch.zeros(WIDTH)) for _ in range(2))
        self.first, self.second = matrix(4 * WIDTH, WIDTH), matrix(WIDTH, 4 * WIDTH)
        self.norms = nn.ParameterList(torch.ones(WIDTH) for _ in range(1 if parallel else 2))

    def attention(self, n):
        q, k, v = (y.unflatten(-1, (HEADS, -1)).transpose(1, 2) for y in (
            n @ self.query.t() + self.query_bias, n @ self.key.t() + self.key_bias, n @ self.value.t()))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return mixed.transpose(1, 2).flatten(2) @ self.projection.t()

    def feed_forward(self, n):
        return torch.relu(n @ self.first.t()) @ self.second.t()

    def forward(self, x):
        n = rms_norm(x, self.norms[0])
        if len(self.norms) == 1:
            return x + self.attention(n) + self.feed_forward(n)
        x = x + self.attention(n)
        return x + self.feed_forward(rms_norm(x, self.norms[1]))


class Gpt(nn.Module):
    def __init__(self, parallel):
        super().__init__()
        self.tokens, self.positions = matrix(VOCABULARY, WIDTH), matrix(TOKENS, WIDTH)
        self.blocks = nn.ModuleList(Block(parallel) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)

    def loss(self, chunk):
        x = self.tokens[chunk[:, :-1]] + self.positions
        for block in self.blocks:
            x = block(x)
        return functional.cross_entropy((self.norm(x) @ self.tokens.t()).flatten(0, 1), chunk[:, 1:].flatten())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("block", choices=("pre_ln", "parallel"))
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=244)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    data = chunks()
    torch.manual_seed(arguments.seed)
    model = Gpt(arguments.block == "parallel")
    groups = [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": 0.1},
              {"params": [p for p in model.parameters() if p.dim() == 1], "weight_decay": 0}]
    optimizer = torch.optim.AdamW(groups, lr=arguments.lr, betas=(0.9, 0.999), eps=1e-8)
    order = HELD_OUT + torch.randperm(len(data) - HELD_OUT)
    warmup = max(1, int(0.05 * arguments.steps))
    for step in range(arguments.steps):
        rate = (step + 1) / warmup if step < warmup else (arguments.steps - step) / (arguments.steps - warmup)
        for group in optimizer.param_groups:
            group["lr"] = arguments.lr * rate
        optimizer.zero_grad()
        model.loss(data[order[step * BATCH : (step + 1) * BATCH]]).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    with torch.no_grad():
        losses = [model.loss(data[i : i + BATCH]).item() for i in range(0, HELD_OUT, BATCH)]
    print(f"{arguments.block}, rate {arguments.lr}, {arguments.steps} steps, seed {arguments.seed}: "
          f"validation loss {sum(losses) / len(losses):.4f}")


if __name__ == "__main__":
    main()
