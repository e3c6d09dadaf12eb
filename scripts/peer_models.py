"""What a user would train instead of skipless, for scripts/bench_peers.py: each block in plain PyTorch, its attention as T x T
matrices in the authors' formula or around scaled_dot_product_attention, and Hugging Face's GPT-2.

A model is a module whose forward() takes ids [B, T] and returns the mean loss of the next token.
"""
import math

import torch
from torch import nn
from torch.nn import functional


def matrix(rows, columns, std=0.02):
    return nn.Parameter(torch.randn(rows, columns) * std)


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale, self.root = nn.Parameter(torch.ones(width)), math.sqrt(width)

    def forward(self, x):
        return self.scale * (x / (torch.linalg.vector_norm(x, dim=-1, keepdim=True) / self.root + 1e-5))


class Attention(nn.Module):
    """(alpha*I + beta*A - gamma*C) V per head, or with `ordinary` A V."""

    def __init__(self, width, heads, ordinary, with_matrices, context):
        super().__init__()
        self.heads, self.ordinary, self.with_matrices = heads, ordinary, with_matrices
        self.query_key, self.bias = matrix(2 * width, width), nn.Parameter(torch.zeros(2 * width))
        if not ordinary:
            self.alpha, self.beta, self.gamma = (nn.Parameter(torch.ones(heads, 1, 1)) for _ in range(3))
        mask = torch.ones(context, context).tril()
        self.register_buffer("hidden", mask == 0)
        self.register_buffer("identity", torch.eye(context))
        self.register_buffer("centre", mask / mask.sum(-1, keepdim=True))
        self.register_buffer("counts", torch.arange(1, context + 1).view(-1, 1).float())

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, n, v):
        q, k = (self.split(y) for y in functional.linear(n, self.query_key, self.bias).chunk(2, -1))
        v = self.split(v)
        if self.with_matrices:
            scores = (q @ k.transpose(-1, -2)).float() / math.sqrt(q.shape[-1])
            a = scores.masked_fill(self.hidden, -torch.inf).softmax(-1)
            if not self.ordinary:
                a = self.alpha * self.identity + self.beta * a - self.gamma * self.centre
            mixed = a.to(v.dtype) @ v
        else:
            mixed = functional.scaled_dot_product_attention(q, k, v.to(q.dtype), is_causal=True)
            if not self.ordinary:
                mixed = self.alpha * v + self.beta * mixed - self.gamma * (v.cumsum(-2) / self.counts)
        return mixed.transpose(1, 2).flatten(2)


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.w_1, self.w_2 = matrix(4 * width, width), matrix(width, 4 * width)

    def forward(self, n):
        return functional.linear(functional.relu(functional.linear(n, self.w_1)), self.w_2)


class PreLn(nn.Module):
    def __init__(self, width, heads, with_matrices, context, layer):
        super().__init__()
        self.norm_1, self.norm_2 = RmsNorm(width), RmsNorm(width)
        self.attention = Attention(width, heads, True, with_matrices, context)
        self.value, self.projection, self.feed_forward = matrix(width, width), matrix(width, width), FeedForward(width)

    def forward(self, x):
        n = self.norm_1(x)
        x = x + functional.linear(self.attention(n, functional.linear(n, self.value)), self.projection)
        return x + self.feed_forward(self.norm_2(x))


class SasP(nn.Module):
    def __init__(self, width, heads, with_matrices, context, layer):
        super().__init__()
        self.norm, self.feed_forward = RmsNorm(width), FeedForward(width)
        self.attention = Attention(width, heads, False, with_matrices, context)
        self.beta_sa, self.beta_ff = nn.Parameter(torch.ones(1)), nn.Parameter(torch.full((1,), 0.1))
        self.value = matrix(width, width) if layer == 0 else None

    def forward(self, x):
        n = self.norm(x)
        v = n if self.value is None else functional.linear(n, self.value)
        return self.beta_ff * self.feed_forward(n) + self.beta_sa * self.attention(n, v)


class Sas(SasP):
    def __init__(self, width, heads, with_matrices, context, layer):
        super().__init__(width, heads, with_matrices, context, layer)
        self.norm_2 = RmsNorm(width)

    def forward(self, x):
        n = self.norm(x)
        v = n if self.value is None else functional.linear(n, self.value)
        return self.beta_ff * self.feed_forward(self.norm_2(self.beta_sa * self.attention(n, v)))


BLOCKS = {"pre_ln": PreLn, "sas": Sas, "sas_p": SasP}


class PlainGpt(nn.Module):
    def __init__(self, block, with_matrices, layers, width, heads, vocabulary, context):
        super().__init__()
        self.tokens, self.positions = matrix(vocabulary, width), matrix(context, width)
        self.blocks = nn.ModuleList(BLOCKS[block](width, heads, with_matrices, context, layer) for layer in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids):
        x = functional.embedding(ids, self.tokens) + self.positions
        for block in self.blocks:
            x = block(x)
        logits = functional.linear(self.norm(x)[:, :-1], self.tokens)
        return functional.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten())


class HuggingFaceGpt2(nn.Module):
    def __init__(self, layers, width, heads, vocabulary, context):
        super().__init__()
        import transformers

        config = transformers.GPT2Config(vocab_size=vocabulary, n_positions=context, n_embd=width, n_layer=layers, n_head=heads,
                                         resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, attn_implementation="sdpa", use_cache=False)
        self.model = transformers.GPT2LMHeadModel(config)

    def forward(self, ids):
        return self.model(input_ids=ids, labels=ids).loss


def make(name, block, layers, width, heads, vocabulary, context):
    """`name`: matrices, sdpa or hf_gpt2."""
    if name == "hf_gpt2":
        return HuggingFaceGpt2(layers, width, heads, vocabulary, context)
    return PlainGpt(block, name == "matrices", layers, width, heads, vocabulary, context)
