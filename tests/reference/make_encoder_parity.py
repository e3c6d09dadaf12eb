#!/usr/bin/env python3
"""Reference values of encoders for the parity program, from the formulas written out in plain PyTorch.

    .venv/bin/python tests/reference/make_encoder_parity.py            rewrites the small committed set
    .venv/bin/python tests/reference/make_encoder_parity.py --all DIR  every case, at another size, into DIR

Like make_parity.py, whose GPT block is used here without its causal mask: names and layouts are those of the codes that
write such checkpoints, the formulas are those of docs/paper_map.md with T x T matrices, and nothing is their code.
"""

import math

import make_parity as gpt_parity
import torch
from make_parity import Parameters, Size, compose, leaves, main, results, write_results

EPS = 1e-12
SAS, SASP, LN = "model=skipless", "model=skipless-parallel", "model.norm_type=ln"
ORTH = ["model.value_skip_gain=null", "model.proj_skip_gain=null", "model.val_init_type=orth"]
OFFICIAL = {"preln": [LN], "postln": [LN, "model.norm_position=post"], "parallel": [LN, "model=default-parallel"],
            "vskipinit": [SAS, *ORTH], "sas": [SAS, LN], "sas_rms": [SAS], "sasp": [SASP, LN],
            "sasp_nonorm": [SASP, "model.norm_type=none"]}
# Crammed: the layers, and the head with its number of labels (1: a regression).
CRAMMED = {"crammed_mlm_dense": ("pre_ln", None), "crammed_mlm_sparse": ("pre_ln", None),
           "crammed_sas_mlm": ("sas", None), "crammed_sasp_mlm": ("sas_p", None), "crammed_cls3_pad": ("pre_ln", 3),
           "crammed_reg1_pad": ("pre_ln", 1), "crammed_sas_cls3_pad": ("sas", 3), "crammed_sas_reg1_pad": ("sas", 1),
           "crammed_sasp_cls2_pad": ("sas_p", 2)}
HUGGING_FACE = {"hf_bert_mlm": None, "hf_bert_cls3": 3, "hf_bert_reg1": 1}
SMALL = ["enc_sas_pad_Cmasked", "enc_sasp_pad_C1overT", "crammed_mlm_sparse", "crammed_sasp_cls2_pad",
         "crammed_reg1_pad", "hf_bert_mlm", "hf_bert_reg1"]


def official_names():
    pads = ("", "_pad_C1overT", "_pad_Cmasked")
    return [f"enc_{block}{pad}" for block in OFFICIAL for pad in pads]


def batch(size, seed, padded, n_labels=None, token_types=False, counted=3):
    """Labels of `counted` tokens a row, none of them padding, or of the rows."""
    g = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, size.vocab, (size.batch, size.tokens), generator=g)
    ids[0, 1] = 0  # the padding token where it is none: the lookup does not train its row
    inputs = dict(input_ids=ids)
    lengths = torch.tensor([size.tokens - 2 * row if padded else size.tokens for row in range(size.batch)])
    kept = torch.arange(size.tokens)[None] < lengths[:, None]
    if padded:
        inputs["input_ids"] = ids * kept  # the padding token is 0
        inputs["attention_mask"] = kept.long()
    if token_types:
        inputs["token_type_ids"] = torch.randint(0, 2, ids.shape, generator=g)
    if n_labels is None:
        labels = torch.full_like(ids, -100)
        for row in range(size.batch):
            places = torch.randperm(int(lengths[row]), generator=g)[:counted]
            labels[row, places] = torch.randint(0, size.vocab, (counted,), generator=g)
        inputs["labels"] = labels
    elif n_labels == 1:
        inputs["labels"] = torch.randn(size.batch, generator=g)
    else:
        inputs["labels"] = torch.randint(0, n_labels, (size.batch,), generator=g)
    return inputs


def mean_loss(logits, labels):
    if labels.is_floating_point():
        return (logits[:, 0] - labels.to(logits.dtype)).pow(2).mean()
    scores, targets = logits.reshape(-1, logits.size(-1)), labels.flatten()
    scores, targets = scores[targets != -100], targets[targets != -100]
    return (torch.logsumexp(scores, -1) - scores.gather(1, targets[:, None])[:, 0]).mean()


def looked_up(table, ids, padding_id):
    """Rows of a table, of which that of the padding token has no gradient."""
    rows = table[ids]
    return torch.where((ids == padding_id)[..., None], rows.detach(), rows)


def layer_norm(w, prefix, x):
    centred = x - x.mean(-1, keepdim=True)
    scaled = centred / (centred.pow(2).mean(-1, keepdim=True) + EPS).sqrt()
    return w[prefix + ".weight"] * scaled + w[prefix + ".bias"]


def linear(w, prefix, x):
    y = x @ w[prefix + ".weight"].t()
    return y + w[prefix + ".bias"] if prefix + ".bias" in w else y


def gelu(x):
    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def softmax_attention(q, k, kept, heads):
    """A [B, H, T, T] of queries and keys [B, T, D]; keys that are not kept get nothing."""
    q, k = (y.unflatten(-1, (heads, -1)).transpose(1, 2) for y in (q, k))
    s = q @ k.transpose(-1, -2) / math.sqrt(q.size(-1))
    if kept is not None:
        s = s.masked_fill(~kept[:, None, None, :], -math.inf)
    return torch.softmax(s, -1)


def mixed(p, v):
    """P V of every head, [B, T, D]."""
    v = v.unflatten(-1, (p.size(1), -1)).transpose(1, 2)
    return (p @ v).transpose(1, 2).flatten(2)


def sinusoids(tokens, width):
    """In float32, as the Cramming code has it."""
    position = torch.arange(tokens, dtype=torch.float)[:, None]
    frequency = torch.exp(torch.arange(0, width, 2).float() * (-math.log(10000.0) / width))
    table = torch.zeros(tokens, width)
    table[:, 0::2], table[:, 1::2] = torch.sin(position * frequency), torch.cos(position * frequency)
    return table


def gated(w, prefix, x):
    first, gate = linear(w, prefix + "dense_in", x).chunk(2, -1)
    return linear(w, prefix + "dense_out", first * gelu(gate))


def crammed_layer(w, b, heads, x, kept):
    n = layer_norm(w, b + "norm1", x)
    if b + "query.weight" not in w:
        fused = linear(w, b + "attn.self_attention.query_key_value", n).unflatten(-1, (heads, 3, -1))
        q, k, v = (y.flatten(2) for y in fused.unbind(-2))
        x = x + linear(w, b + "attn.dense", mixed(softmax_attention(q, k, kept, heads), v))
        return x + gated(w, b + "ffn.", layer_norm(w, b + "norm2", x))
    v = n
    if b + "value_delta" in w:
        v = w[b + "value_skip_gain"] * n + w[b + "value_resid_gain"] * (n @ w[b + "value_delta"])
    a = softmax_attention(linear(w, b + "query", n), linear(w, b + "key", n), kept, heads)
    same = torch.ones(x.shape[:2], dtype=x.dtype) if kept is None else kept.to(x.dtype)
    c = (same / same.sum(-1, keepdim=True))[:, None, None, :]
    gain = {name: w[b + name][:, None, None] for name in ("attn_mat_skip_gain", "attn_mat_resid_gain",
                                                          "centre_attn_gain")}
    p = (gain["attn_mat_skip_gain"] * torch.eye(x.size(1), dtype=x.dtype) + gain["attn_mat_resid_gain"] * a
         - gain["centre_attn_gain"] * c)
    u = w[b + "attn_block_resid_gain"] * mixed(p, v)
    if b + "mlp_block_skip_gain" in w:
        return (w[b + "mlp_block_skip_gain"] * u
                + w[b + "mlp_block_resid_gain"] * gated(w, b + "ffn.", layer_norm(w, b + "norm2", u)))
    return w[b + "mlp_block_resid_gain"] * gated(w, b + "ffn.", n) + u


def crammed(w, size, inputs):
    ids, mask = inputs["input_ids"], inputs.get("attention_mask")
    kept = None if mask is None else mask.bool()
    table = w["encoder.embedding.word_embedding.weight"]
    e = "encoder.embedding."
    x = looked_up(table, ids, 0) + w[e + "pos_embedding.scale_factor"] * sinusoids(ids.size(1), size.width).to(table)
    x = layer_norm(w, e + "norm", x)
    for i in range(size.layers):
        x = crammed_layer(w, f"encoder.layers.{i}.", size.heads, x, kept)
    x = layer_norm(w, "encoder.final_norm", x)
    if "head.weight" in w:
        return x, linear(w, "head", torch.tanh(linear(w, "pooler.dense", x[:, 0])))
    return x, x @ table.t()


def crammed_parameters(size, seed, block, n_labels):
    p, d = Parameters(seed), size.width
    p.matrix("encoder.embedding.word_embedding.weight", size.vocab, d)
    p.add("encoder.embedding.pos_embedding.scale_factor", [1 / math.sqrt(d)], 0.2, True)
    p.norm("encoder.embedding.norm", "ln", d)
    for i in range(size.layers):
        b = f"encoder.layers.{i}."
        if block == "pre_ln":
            p.matrix(b + "attn.self_attention.query_key_value.weight", 3 * d, d)
            p.matrix(b + "attn.dense.weight", d, d)
        else:
            if i == 0:
                p.matrix(b + "value_delta", d, d)
                p.add(b + "value_skip_gain", [1.0], 0.3, True)
                p.add(b + "value_resid_gain", [1.0], 0.3, True)
            for gain in ("attn_mat_skip_gain", "attn_mat_resid_gain", "centre_attn_gain"):
                p.add(b + gain, torch.ones(size.heads), 0.3, True)
            p.add(b + "attn_block_resid_gain", [1.0], 0.3, True)
            p.add(b + "mlp_block_resid_gain", [0.05], 0.3, True)
            if block == "sas":
                p.add(b + "mlp_block_skip_gain", [1.0], 0.3, True)
            p.matrix(b + "query.weight", d, d)
            p.matrix(b + "key.weight", d, d)
        p.norm(b + "norm1", "ln", d)
        if block != "sas_p":
            p.norm(b + "norm2", "ln", d)
        p.matrix(b + "ffn.dense_in.weight", size.inner, d)
        p.matrix(b + "ffn.dense_out.weight", d, size.inner // 2)
    p.norm("encoder.final_norm", "ln", d)
    if n_labels is not None:
        dense(p, "pooler.dense", d, size.head)
        dense(p, "head", size.head, n_labels)
    return p


def dense(p, prefix, columns, rows):
    p.matrix(prefix + ".weight", rows, columns)
    p.add(prefix + ".bias", torch.zeros(rows), 0.1, True)


def crammed_arch(size, sparse):
    return dict(
        architectures=["ScriptableCrammedBERT"], num_transformer_layers=size.layers, hidden_size=size.width,
        intermed_size=size.inner, hidden_dropout_prob=0.0, norm="LayerNorm", norm_eps=EPS, norm_scheme="pre",
        nonlin="GELUglu", tie_weights=True, decoder_bias=False, sparse_prediction=sparse, loss="cross-entropy",
        objective_layout="MLM",
        embedding=dict(vocab_size=None, pos_embedding="scaled-sinusoidal", dropout_prob=0.0, pad_token_id=0,
                       max_seq_length=size.tokens, embedding_dim=size.width, normalization=True,
                       stable_low_precision=False),
        attention=dict(type="self-attention", causal_attention=False, num_attention_heads=size.heads, dropout_prob=0.0,
                       skip_output_projection=False, qkv_bias=False, rotary_embedding=False, seq_op_in_fp32=False,
                       sequence_op="torch-softmax"),
        init=dict(type="normal", std=0.02), ffn_layer_frequency=1, skip_head_transform=True, use_bias=False,
        final_norm=True, num_labels=None,
        classification_head=dict(pooler="zero_index", include_ff_layer=True, head_dim=size.head, nonlin="Tanh",
                                 classifier_dropout=0.0))


def bert(w, size, inputs):
    """Post-LN: x <- LN(x + branch(x)) twice a layer; and the hidden states behind each layer."""
    ids, mask = inputs["input_ids"], inputs.get("attention_mask")
    kept = None if mask is None else mask.bool()
    e = "bert.embeddings."
    table = w[e + "word_embeddings.weight"]
    x = looked_up(table, ids, 0) + w[e + "position_embeddings.weight"][: ids.size(1)]
    x = layer_norm(w, e + "LayerNorm", x + w[e + "token_type_embeddings.weight"][inputs["token_type_ids"]])
    hidden = [x]
    for i in range(size.layers):
        b = f"bert.encoder.layer.{i}."
        q, k, v = (linear(w, b + "attention.self." + name, x) for name in ("query", "key", "value"))
        a = softmax_attention(q, k, kept, size.heads)
        x = layer_norm(w, b + "attention.output.LayerNorm", x + linear(w, b + "attention.output.dense", mixed(a, v)))
        y = linear(w, b + "output.dense", gelu(linear(w, b + "intermediate.dense", x)))
        x = layer_norm(w, b + "output.LayerNorm", x + y)
        hidden.append(x)
    if "classifier.weight" in w:
        return hidden, linear(w, "classifier", torch.tanh(linear(w, "bert.pooler.dense", x[:, 0])))
    transform = "cls.predictions.transform."
    y = layer_norm(w, transform + "LayerNorm", gelu(linear(w, transform + "dense", x)))
    return hidden, y @ table.t() + w["cls.predictions.bias"]


def bert_parameters(size, seed, n_labels):
    p, d = Parameters(seed), size.width
    e = "bert.embeddings."
    p.matrix(e + "word_embeddings.weight", size.vocab, d)
    p.matrix(e + "position_embeddings.weight", size.positions, d)
    p.matrix(e + "token_type_embeddings.weight", 2, d)
    p.norm(e + "LayerNorm", "ln", d)
    for i in range(size.layers):
        b = f"bert.encoder.layer.{i}."
        for name in ("query", "key", "value"):
            dense(p, b + "attention.self." + name, d, d)
        dense(p, b + "attention.output.dense", d, d)
        p.norm(b + "attention.output.LayerNorm", "ln", d)
        dense(p, b + "intermediate.dense", d, size.inner)
        dense(p, b + "output.dense", size.inner, d)
        p.norm(b + "output.LayerNorm", "ln", d)
    if n_labels is None:
        p.add("cls.predictions.bias", torch.zeros(size.vocab), 0.1, True)
        dense(p, "cls.predictions.transform.dense", d, d)
        p.norm("cls.predictions.transform.LayerNorm", "ln", d)
    else:
        dense(p, "bert.pooler.dense", d, d)
        dense(p, "classifier", d, n_labels)
    return p


def bert_config(size):
    return dict(model_type="bert", vocab_size=size.vocab, hidden_size=size.width, num_hidden_layers=size.layers,
                num_attention_heads=size.heads, intermediate_size=size.inner, hidden_act="gelu",
                hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, max_position_embeddings=size.positions,
                type_vocab_size=2, initializer_range=0.02, layer_norm_eps=EPS, pad_token_id=0,
                tie_word_embeddings=True, position_embedding_type="absolute")


def write_official(folder, name, size, seed):
    block, _, pad = name[len("enc_"):].partition("_pad_")
    cfg = dict(compose(OFFICIAL[block], size), encoder="kept" if pad == "Cmasked" else "all")
    inputs = batch(size, seed, bool(pad))
    p = gpt_parity.parameters(cfg, size, seed)

    def evaluated(dtype):
        w = leaves(p, dtype)
        hidden, logits = gpt_parity.gpt(w, cfg, inputs["input_ids"], inputs.get("attention_mask"))
        return results(w, inputs, hidden, logits, mean_loss(logits, inputs["labels"]), dtype)

    form = "masked uniform" if pad == "Cmasked" else "1/T"
    write_results(folder, name, dict(
        family=f"formulas of the authors' block as encoder (causal mask off; C = {form})", overrides=OFFICIAL[block],
        model_cfg={k: v for k, v in cfg.items() if k != "encoder"}, layer_norm_epsilon=gpt_parity.NORM_EPS),
        p, evaluated, not pad)


def write_crammed(folder, name, size, seed):
    block, n_labels = CRAMMED[name]
    inputs = batch(size, seed, "pad" in name, n_labels)
    p = crammed_parameters(size, seed, block, n_labels)

    def evaluated(dtype):
        w = leaves(p, dtype)
        final, logits = crammed(w, size, inputs)
        out = results(w, inputs, [], logits, mean_loss(logits, inputs["labels"]), dtype)
        return dict(out, final_hidden=final.detach())

    words = {"pre_ln": "Pre-LN", "sas": "SAS", "sas_p": "SAS-P"}
    write_results(folder, name, dict(family=f"formulas of Crammed BERT with {words[block]} layers",
                                     arch=crammed_arch(size, 0.25 if "sparse" in name else False)),
                  p, evaluated, "pad" not in name)


def write_bert(folder, name, size, seed):
    inputs = batch(size, seed, True, HUGGING_FACE[name], token_types=True)
    p = bert_parameters(size, seed, HUGGING_FACE[name])

    def evaluated(dtype):
        w = leaves(p, dtype)
        hidden, logits = bert(w, size, inputs)
        return results(w, inputs, hidden, logits, mean_loss(logits, inputs["labels"]), dtype)

    write_results(folder, name, dict(family="formulas of BERT", config=bert_config(size)), p, evaluated, True)


def writer_of(name):
    return write_crammed if name in CRAMMED else write_bert if name in HUGGING_FACE else write_official


if __name__ == "__main__":
    main(__doc__, writer_of, 101, [*official_names(), *CRAMMED, *HUGGING_FACE],
         Size(3, 20, 5, 52, 53, 23, 4, 17, head=14), SMALL, Size(2, 6, 2, 16, 11, 9, 3, 8, head=5))
