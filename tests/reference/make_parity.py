#!/usr/bin/env python3
"""Reference values for the parity program, from the formulas written out in plain PyTorch.

    .venv/bin/python tests/reference/make_parity.py            rewrites the small committed set, tests/reference/parity
    .venv/bin/python tests/reference/make_parity.py --all DIR  every setting, at another size, into DIR

The format is that of the reference folder (X.json, X.weights.safetensors, X.f64.safetensors, sometimes
X.f32.safetensors), with the names and layouts of the authors' checkpoints. Nothing here is their code: the model below
is a direct transcription of the equations in docs/paper_map.md, with attention as an explicit T x T matrix, so that it
shares no step with the C++ it is compared with. The numbers depend on torch's generator and rounding; a new run on
another version moves them a little, together with the weights, which is harmless.
"""

import argparse
import json
import math
import pathlib

import torch
from safetensors.torch import save_file

DEFAULT = dict(
    name="gpt2", context_length=128, n_embd=768, n_layer=12, n_head=12, norm_type="rmsnorm", norm_position="pre",
    qk_norm_type="none", dot_norm_type="none", resid_pdrop=0, attn_pdrop=0, embd_pdrop=0, attn_block_resid_gain=1,
    attn_block_skip_gain=1, mlp_block_resid_gain=1, mlp_block_skip_gain=1, attn_mat_resid_gain=1, attn_mat_skip_gain=0,
    value_resid_gain=1, value_skip_gain=None, first_layer_value_resid_gain=None, proj_resid_gain="value_resid_gain",
    proj_skip_gain=None, last_layer_proj_resid_gain=None, centre_attn=False, centre_attn_gain="attn_mat_resid_gain",
    trainable_attn_block_gains=False, trainable_mlp_block_gains=False, trainable_attn_mat_gains=False,
    trainable_value_gains=False, trainable_proj_gains=False, initializer_range=0.02, val_proj_init_std=None,
    query_init_std=None, key_init_std=None, val_init_type="normal", proj_init_type="val_init_type",
    tie_valproj_init=None, mlp_width_mult=4, activation_function="leaky_relu", lrelu_neg_slope=0,
    mlp_proj_init_std=None, parallel_layers=False)
SKIPLESS = dict(
    attn_block_skip_gain=0, mlp_block_resid_gain=0.1, attn_mat_skip_gain=1, value_resid_gain=0, value_skip_gain=1,
    first_layer_value_resid_gain=1, proj_skip_gain=1, centre_attn=True, trainable_attn_block_gains=True,
    trainable_mlp_block_gains=True, trainable_attn_mat_gains=True, trainable_value_gains=True,
    trainable_proj_gains=True, query_init_std=0, val_init_type="id")
GROUPS = {
    "default": {},
    "default-parallel": dict(attn_block_skip_gain=0, parallel_layers=True),
    "skipless": SKIPLESS,
    "skipless-parallel": dict(SKIPLESS, mlp_block_skip_gain=0, parallel_layers=True),
    "op": dict(mlp_block_resid_gain=0.2, attn_block_resid_gain="mlp_block_resid_gain", norm_type="none",
               qk_norm_type="rmsnorm"),
}
FOLLOWERS = ("proj_resid_gain", "centre_attn_gain", "proj_init_type", "attn_block_resid_gain")
NORM_EPS = 1e-5
ORTH = ["model.val_init_type=orth"]
NO_SKIP_GAINS = ["model.value_skip_gain=null", "model.proj_skip_gain=null"]

# name -> (overrides, options); the options: pad (a right-padded batch), f32 (also in float32)
GPT = {
    "preln": ([], "f32"),
    "preln_ln": (["model.norm_type=ln"], "f32"),
    "preln_nonorm": (["model.norm_type=none"], ""),
    "preln_gains": (["model.trainable_attn_block_gains=true", "model.trainable_mlp_block_gains=true"], ""),
    "preln_gelunew": (["model.activation_function=gelu_new"], ""),
    "preln_gelu": (["model.activation_function=gelu"], ""),
    "preln_relu": (["model.activation_function=relu"], ""),
    "preln_lrelu02": (["model.lrelu_neg_slope=0.2"], ""),
    "preln_pad": ([], "pad"),
    "preln_shaped": (["model.centre_attn=true", "model.attn_mat_skip_gain=1", "model.trainable_attn_mat_gains=true"], ""),
    "preln_matgains": (["model.trainable_attn_mat_gains=true"], ""),
    "preln_identity": (["model.value_skip_gain=1", "model.value_resid_gain=0", "model.proj_skip_gain=1",
                        "model.val_init_type=id"], ""),
    "preln_noattnskip": (["model.attn_block_skip_gain=0", "model.trainable_attn_block_gains=true"], ""),
    "postln": (["model.norm_position=post"], ""),
    "postln_gains": (["model.norm_position=post", "model.norm_type=ln", "model.trainable_attn_block_gains=true",
                      "model.trainable_mlp_block_gains=true"], ""),
    "parallel": (["model=default-parallel"], "f32"),
    "parallel_ln": (["model=default-parallel", "model.norm_type=ln"], ""),
    "parallel_gains": (["model=default-parallel", "model.trainable_attn_block_gains=true",
                        "model.trainable_mlp_block_gains=true"], ""),
    "parallel_noskip": (["model=default-parallel", "model.mlp_block_skip_gain=0"], ""),
    "parallel_shaped": (["model=skipless-parallel", "model.mlp_block_skip_gain=1"], ""),
    "vskipinit_shaped": (["model=skipless", *NO_SKIP_GAINS, *ORTH], "f32"),
    "vskipinit_eq4": (["model=skipless", *NO_SKIP_GAINS, *ORTH, "model.attn_mat_resid_gain=0"], ""),
    "sas": (["model=skipless"], "f32"),
    "sas_ln": (["model=skipless", "model.norm_type=ln"], "f32"),
    "sas_nonorm": (["model=skipless", "model.norm_type=none"], ""),
    "sas_fig4": (["model=skipless", "model.value_resid_gain=0.2", "model.first_layer_value_resid_gain=0.2"], ""),
    "sas_orth01": (["model=skipless", *ORTH, "model.value_resid_gain=0.1", "model.trainable_value_gains=false",
                    "model.trainable_proj_gains=false", "model.first_layer_value_resid_gain=null"], ""),
    "sas_normal_tied": (["model=skipless", "model.val_init_type=normal", "model.value_resid_gain=0.1",
                         "model.tie_valproj_init=all_blocks"], ""),
    "sas_lastproj": (["model=skipless", "model.last_layer_proj_resid_gain=0.5"], ""),
    "sas_plainproj": (["model=skipless", "model.proj_skip_gain=null"], ""),
    "sas_id_first": (["model=skipless", "model.first_layer_value_resid_gain=0"], ""),
    "sas_fixedgains": (["model=skipless", "model.trainable_attn_block_gains=false",
                        "model.trainable_mlp_block_gains=false", "model.trainable_attn_mat_gains=false",
                        "model.trainable_value_gains=false", "model.trainable_proj_gains=false"], ""),
    "sas_nomlpskip_lrelu08": (["model=skipless", "model.mlp_block_skip_gain=0", "model.lrelu_neg_slope=0.8"], ""),
    "sas_qknorm": (["model=skipless", "model.qk_norm_type=rmsnorm"], ""),
    "sas_tanh": (["model=skipless", "model.dot_norm_type=tanh"], ""),
    "sas_pad": (["model=skipless"], "pad"),
    "sasp": (["model=skipless-parallel"], "f32"),
    "sasp_ln": (["model=skipless-parallel", "model.norm_type=ln"], "f32"),
    "sasp_nonorm": (["model=skipless-parallel", "model.norm_type=none"], "f32"),
    "sasp_fig4": (["model=skipless-parallel", "model.value_resid_gain=0.2", "model.first_layer_value_resid_gain=0.2"],
                  ""),
    "sasp_pad": (["model=skipless-parallel"], "pad"),
    "op": (["model=op"], ""),
    "op_gains_tanh": (["model=op", "model.dot_norm_type=tanh", "model.trainable_attn_block_gains=true",
                       "model.trainable_mlp_block_gains=true"], ""),
}
# What the committed set holds: one of each hard kind.
SMALL = ["preln_pad", "postln_gains", "parallel_gains", "vskipinit_eq4", "sas", "sas_nonorm", "sas_fig4", "sas_orth01",
         "sas_nomlpskip_lrelu08", "sasp_pad", "op_gains_tanh", "hf_gpt2", "train_sasp"]
TRAINING = {"train_preln": [], "train_sas": ["model=skipless"], "train_sasp": ["model=skipless-parallel"]}


class Size:
    def __init__(self, layers, width, heads, inner, vocab, positions, batch, tokens, head=None):
        self.layers, self.width, self.heads, self.inner = layers, width, heads, inner
        self.vocab, self.positions, self.batch, self.tokens, self.head = vocab, positions, batch, tokens, head


def compose(overrides, size):
    """The settings after the model group, the single overrides and the values that follow others."""
    pairs = [o.split("=", 1) for o in overrides]
    cfg = dict(DEFAULT)
    for key, value in pairs:
        if key == "model":
            cfg.update(GROUPS[value])
    for key, value in pairs:
        if key != "model":
            words = {"null": None, "true": True, "false": False}
            try:
                cfg[key[len("model."):]] = words[value] if value in words else float(value)
            except ValueError:
                cfg[key[len("model."):]] = value
    for key in FOLLOWERS:
        if isinstance(cfg[key], str) and cfg[key] in cfg:
            cfg[key] = cfg[cfg[key]]
    cfg.update(n_embd=size.width, n_layer=size.layers, n_head=size.heads, mlp_width_mult=size.inner / size.width)
    return cfg


class Parameters:
    """Named values with what is trained, in the order of their checkpoints."""

    def __init__(self, seed):
        self.values, self.trained, self.constants = {}, {}, {}
        self.generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape):
        return torch.randn(*shape, generator=self.generator)

    def add(self, name, start, spread, trained):
        """`start` itself where it is frozen, else spread around it."""
        value = torch.as_tensor(start, dtype=torch.float32).clone()
        if trained:
            value = value + spread * self.normal(*value.shape)
        self.values[name], self.trained[name] = value, trained

    def matrix(self, name, rows, columns):
        self.add(name, torch.zeros(rows, columns), 0.15, True)

    def norm(self, prefix, kind, width):
        if kind == "rmsnorm":
            self.add(prefix + ".scale", torch.ones(width), 0.2, True)
        elif kind == "ln":
            self.add(prefix + ".weight", torch.ones(width), 0.2, True)
            self.add(prefix + ".bias", torch.zeros(width), 0.1, True)

    def projection(self, prefix, skip, resid, init, gains_trained, width):
        if skip == 1 and resid == 0 and init == "id":
            return
        self.add(prefix + ".bias", torch.zeros(width), 0, False)
        if skip is not None:
            self.add(prefix + ".resid_gain", [resid], 0.3, gains_trained)
            self.add(prefix + ".skip_gain", [skip], 0.3, gains_trained)
            if init == "id":
                fixed = torch.eye(width)
            else:
                fixed = self.normal(width, width) / math.sqrt(width)
                fixed = torch.linalg.qr(fixed)[0].contiguous() if init == "orth" else fixed
            self.constants["const/" + prefix + ".id"] = fixed
        self.matrix(prefix + ".weight", width, width)


def parameters(cfg, size, seed):
    p, d, h = Parameters(seed), size.width, size.heads
    p.matrix("transformer.wte.weight", size.vocab, d)
    p.matrix("transformer.wpe.weight", size.positions, d)
    block, mlp, mat = (cfg[f"trainable_{k}_gains"] for k in ("attn_block", "mlp_block", "attn_mat"))
    sequential = not cfg["parallel_layers"]
    for i in range(size.layers):
        b = f"transformer.h.{i}."
        p.add(b + "attn_block_resid_gain", [cfg["attn_block_resid_gain"]], 0.3, block)
        p.add(b + "attn_block_skip_gain", [cfg["attn_block_skip_gain"]], 0.3, block and sequential)
        p.add(b + "mlp_block_resid_gain", [cfg["mlp_block_resid_gain"]], 0.3, mlp)
        p.add(b + "mlp_block_skip_gain", [cfg["mlp_block_skip_gain"]], 0.3, mlp and sequential)
        p.norm(b + "ln_1", "ln" if cfg["norm_type"] == "none" and i == 0 else cfg["norm_type"], d)
        p.norm(b + "ln_2", cfg["norm_type"], d)
        heads = torch.ones(1, h, 1, 1)
        p.add(b + "attn.attn_mat_resid_gain", cfg["attn_mat_resid_gain"] * heads, 0.3, mat)
        p.add(b + "attn.attn_mat_skip_gain", cfg["attn_mat_skip_gain"] * heads, 0.3, mat)
        p.add(b + "attn.centre_attn_gain", cfg["centre_attn_gain"] * heads, 0.3, mat and cfg["centre_attn_gain"] != 0)
        p.add(b + "attn.qk_attn.bias", torch.zeros(2 * d), 0.1, True)
        p.matrix(b + "attn.qk_attn.weight", d, 2 * d)
        first = cfg["first_layer_value_resid_gain"] if i == 0 else None
        last = cfg["last_layer_proj_resid_gain"] if i == size.layers - 1 else None
        p.projection(b + "attn.v_attn", cfg["value_skip_gain"], cfg["value_resid_gain"] if first is None else first,
                     cfg["val_init_type"], cfg["trainable_value_gains"], d)
        p.projection(b + "attn.c_proj", cfg["proj_skip_gain"], cfg["proj_resid_gain"] if last is None else last,
                     cfg["proj_init_type"], cfg["trainable_proj_gains"], d)
        if cfg["tie_valproj_init"] == "all_blocks":
            fixed = p.constants[f"const/{b}attn.v_attn.id"]
            p.constants[f"const/{b}attn.c_proj.id"] = fixed.t().contiguous()
        if cfg["qk_norm_type"] == "rmsnorm":
            p.norm(b + "attn.q_norm", "rmsnorm", d // h)
            p.norm(b + "attn.k_norm", "rmsnorm", d // h)
        p.add(b + "mlp.c_fc.bias", torch.zeros(size.inner), 0, False)
        p.matrix(b + "mlp.c_fc.weight", d, size.inner)
        p.add(b + "mlp.c_proj.bias", torch.zeros(d), 0, False)
        p.matrix(b + "mlp.c_proj.weight", size.inner, d)
    p.norm("transformer.ln_f", "ln", d)
    return p


def activate(x, cfg):
    name = cfg["activation_function"]
    if name == "gelu_new":
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    if name == "gelu":
        return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))
    slope = cfg["lrelu_neg_slope"] if name == "leaky_relu" else 0
    return x.clamp(min=0) + slope * x.clamp(max=0)


def rms_norm(x, scale):
    return scale * x / (x.pow(2).mean(-1, keepdim=True).sqrt() + NORM_EPS)


def layer_norm(x, weight, bias):
    centred = x - x.mean(-1, keepdim=True)
    return weight * centred / (centred.pow(2).mean(-1, keepdim=True) + NORM_EPS).sqrt() + bias


def normalise(w, prefix, x):
    if prefix + ".scale" in w:
        return rms_norm(x, w[prefix + ".scale"])
    if prefix + ".weight" in w:
        return layer_norm(x, w[prefix + ".weight"], w[prefix + ".bias"])
    return x


def linear(w, prefix, x):
    """x (skip*W_init + resid*W), x W or x, by what there is."""
    if prefix + ".weight" not in w:
        return x
    matrix = w[prefix + ".weight"]
    if prefix + ".skip_gain" in w:
        matrix = w[prefix + ".skip_gain"] * w["const/" + prefix + ".id"] + w[prefix + ".resid_gain"] * matrix
    return x @ matrix + w[prefix + ".bias"]


def attention_matrix(q, k, mask, causal=True):
    """What a position may see, and the logits q k^T / sqrt(dh)."""
    seen = torch.ones(q.size(-2), q.size(-2), dtype=torch.bool)
    if causal:
        seen = seen.tril()
    if mask is not None:
        seen = seen & mask.bool()[:, None, None, :]
    return seen, q @ k.transpose(-1, -2) / math.sqrt(q.size(-1))


def attention(w, cfg, prefix, x, mask):
    batch, tokens, width = x.shape
    heads = cfg["n_head"]

    def split(y):
        return y.reshape(batch, tokens, heads, width // heads).transpose(1, 2)

    q, k = (split(y) for y in linear(w, prefix + "qk_attn", x).chunk(2, -1))
    v = split(linear(w, prefix + "v_attn", x))
    q, k = normalise(w, prefix + "q_norm", q), normalise(w, prefix + "k_norm", k)
    encoder = cfg.get("encoder")  # over which keys C is uniform; absent: a causal model
    seen, s = attention_matrix(q, k, mask, causal=encoder is None)
    if cfg["dot_norm_type"] == "tanh":
        s = 30 * torch.tanh(s / 30)
    p = w[prefix + "attn_mat_resid_gain"] * torch.softmax(s.masked_fill(~seen, -math.inf), -1)
    if cfg["centre_attn"]:
        counted = torch.ones(tokens, tokens, dtype=x.dtype)
        if encoder is None:
            counted = counted.tril()
        elif encoder == "kept" and mask is not None:
            counted = counted * mask[:, None, None, :]
        p = (p + w[prefix + "attn_mat_skip_gain"] * torch.eye(tokens, dtype=x.dtype)
             - w[prefix + "centre_attn_gain"] * counted / counted.sum(-1, keepdim=True))
    merged = (p @ v).transpose(1, 2).reshape(batch, tokens, width)
    return linear(w, prefix + "c_proj", merged)


def feed_forward(w, cfg, prefix, x):
    return linear(w, prefix + "c_proj", activate(linear(w, prefix + "c_fc", x), cfg))


def block(w, cfg, i, x, mask):
    b = f"transformer.h.{i}."
    beta_sa, alpha_sa = w[b + "attn_block_resid_gain"], w[b + "attn_block_skip_gain"]
    beta_ff, alpha_ff = w[b + "mlp_block_resid_gain"], w[b + "mlp_block_skip_gain"]
    attention_skip, mlp_skip = cfg["attn_block_skip_gain"] != 0, cfg["mlp_block_skip_gain"] != 0
    n = normalise(w, b + "ln_1", x)
    post = cfg["norm_position"] == "post"
    mha = beta_sa * attention(w, cfg, b + "attn.", n, mask)
    if cfg["parallel_layers"]:
        y = beta_ff * feed_forward(w, cfg, b + "mlp.", n) + mha
        return y + alpha_ff * x if mlp_skip else y
    u = mha + alpha_sa * (n if post else x) if attention_skip else mha
    n = normalise(w, b + "ln_2", u)
    y = beta_ff * feed_forward(w, cfg, b + "mlp.", n)
    return y + alpha_ff * (n if post else u) if mlp_skip else y


def gpt(w, cfg, ids, mask=None):
    """The input of every block, the final hidden state, and the logits."""
    x = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][: ids.size(1)]
    hidden = [x]
    for i in range(cfg["n_layer"]):
        hidden.append(block(w, cfg, i, hidden[-1], mask))
    hidden[-1] = normalise(w, "transformer.ln_f", hidden[-1])
    return hidden, hidden[-1] @ w["transformer.wte.weight"].t()


def gpt2(w, cfg, ids, mask=None):
    """GPT-2: one fused map for queries, keys and values, biases everywhere, LayerNorm first, skips without gains."""
    x = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][: ids.size(1)]
    batch, tokens, width = x.shape
    hidden = [x]
    for i in range(cfg["n_layer"]):
        b = f"transformer.h.{i}."
        fused = linear(w, b + "attn.c_attn", normalise(w, b + "ln_1", x))
        q, k, v = (y.reshape(batch, tokens, cfg["n_head"], -1).transpose(1, 2) for y in fused.chunk(3, -1))
        seen, s = attention_matrix(q, k, mask)
        mixed = torch.softmax(s.masked_fill(~seen, -math.inf), -1) @ v
        x = x + linear(w, b + "attn.c_proj", mixed.transpose(1, 2).reshape(batch, tokens, width))
        x = x + feed_forward(w, cfg, b + "mlp.", normalise(w, b + "ln_2", x))
        hidden.append(x)
    hidden[-1] = normalise(w, "transformer.ln_f", x)
    return hidden, hidden[-1] @ w["transformer.wte.weight"].t()


def gpt2_parameters(size, seed):
    p, d = Parameters(seed), size.width
    p.matrix("transformer.wte.weight", size.vocab, d)
    p.matrix("transformer.wpe.weight", size.positions, d)
    for i in range(size.layers):
        b = f"transformer.h.{i}."
        p.norm(b + "ln_1", "ln", d)
        p.norm(b + "ln_2", "ln", d)
        for name, rows, columns in (("attn.c_attn", d, 3 * d), ("attn.c_proj", d, d), ("mlp.c_fc", d, size.inner),
                                    ("mlp.c_proj", size.inner, d)):
            p.matrix(b + name + ".weight", rows, columns)
            p.add(b + name + ".bias", torch.zeros(columns), 0.1, True)
    p.norm("transformer.ln_f", "ln", d)
    return p


def next_token_loss(logits, labels):
    scores, targets = logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
    kept = targets != -100
    log_p = scores[kept] - torch.logsumexp(scores[kept], -1, keepdim=True)
    return -log_p.gather(1, targets[kept][:, None]).mean()


def leaves(p, dtype):
    w = {k: v.to(dtype).requires_grad_(p.trained[k]) for k, v in p.values.items()}
    w.update({k: v.to(dtype) for k, v in p.constants.items()})
    return w


def batch(size, seed, padded):
    g = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, size.vocab, (size.batch, size.tokens), generator=g)
    labels = ids.clone()
    labels[0, 2], labels[-1, -1] = -100, -100
    if not padded:
        return dict(input_ids=ids, labels=labels)
    mask = torch.ones_like(ids)
    for row in range(1, size.batch):
        mask[row, size.tokens - 2 * row:] = 0
    labels[mask == 0] = -100
    return dict(input_ids=ids, labels=labels, attention_mask=mask)


def evaluate(model, p, cfg, inputs, dtype):
    w = leaves(p, dtype)
    hidden, logits = model(w, cfg, inputs["input_ids"], inputs.get("attention_mask"))
    return results(w, inputs, hidden, logits, next_token_loss(logits, inputs["labels"]), dtype)


def results(w, inputs, hidden, logits, loss, dtype):
    loss.backward()
    out = dict(inputs, logits=logits.detach(), loss=loss.detach().reshape(1))
    if dtype == torch.float64:
        out.update({f"hidden.{i}": h.detach() for i, h in enumerate(hidden)})
    out.update({"grad." + k: v.grad for k, v in w.items() if v.grad is not None})
    return out


def save(tensors, path):
    save_file({k: v.contiguous() for k, v in tensors.items()}, str(path))
    path.chmod(0o644)


def write_case(folder, name, settings, model, p, cfg, inputs, float32):
    write_results(folder, name, settings, p, lambda dtype: evaluate(model, p, cfg, inputs, dtype), float32)


def write_results(folder, name, settings, p, evaluated, float32):
    """`evaluated`: the tensors of a case in one dtype."""
    out = evaluated(torch.float64)
    trainable = [k for k in p.values if p.trained[k]]
    settings.update(
        case=name, made_by="tests/reference", loss_f64=out["loss"].item(), trainable=trainable,
        frozen=[k for k in p.values if not p.trained[k]],
        trainable_without_gradient=[k for k in trainable if "grad." + k not in out],
        n_trainable=sum(p.values[k].numel() for k in trainable), n_params=sum(v.numel() for v in p.values.values()))
    (folder / f"{name}.json").write_text(json.dumps(settings, indent=1) + "\n")
    save({**p.values, **p.constants}, folder / f"{name}.weights.safetensors")
    save(out, folder / f"{name}.f64.safetensors")
    if float32:
        save(evaluated(torch.float32), folder / f"{name}.f32.safetensors")


def write_gpt(folder, name, size, seed):
    overrides, options = GPT[name]
    cfg = compose(overrides, size)
    write_case(folder, name, dict(family="formulas of the authors' GPT", overrides=overrides, model_cfg=cfg,
                                  layer_norm_epsilon=NORM_EPS),
               gpt, parameters(cfg, size, seed), cfg, batch(size, seed, "pad" in options), "f32" in options)


def write_gpt2(folder, name, size, seed):
    config = dict(model_type="gpt2", vocab_size=size.vocab, n_positions=size.positions, n_embd=size.width,
                  n_layer=size.layers, n_head=size.heads, n_inner=size.inner, activation_function="gelu_new",
                  layer_norm_epsilon=NORM_EPS, tie_word_embeddings=True)
    write_case(folder, name, dict(family="formulas of GPT-2", config=config), gpt2, gpt2_parameters(size, seed), config,
               batch(size, seed, name.endswith("pad")), not name.endswith("pad"))


def learning_rate(step, steps, warmup, top, last):
    if step < warmup:
        return top * step / warmup
    return last + (top - last) * (1 - (step - warmup) / (steps - warmup))


def train(w, cfg, data, recipe, rule, decayed):
    """The two AdamW rules, written out; returns one entry a step."""
    trained = {k: v for k, v in w.items() if v.requires_grad}
    m, v2, t = ({k: torch.zeros_like(v) for k, v in trained.items()} for _ in range(3))
    b1, b2 = recipe["betas"]
    log = []
    for step in range(recipe["steps"]):
        lr = learning_rate(step, recipe["steps"], recipe["warmup"], recipe["lr"], 1e-7)
        losses = []
        for micro in range(recipe["accumulation"]):
            ids = data[f"ids.{step * recipe['accumulation'] + micro}"]
            loss = next_token_loss(gpt(w, cfg, ids)[1], ids)
            (loss / recipe["accumulation"]).backward()
            losses.append(loss.item())
        grads = {k: v.grad for k, v in trained.items() if v.grad is not None}
        norm = math.sqrt(sum(g.pow(2).sum().item() for g in grads.values()))
        scale = min(1.0, recipe["max_grad_norm"] / (norm + 1e-6))
        log.append(dict(step=step, loss=sum(losses) / len(losses), grad_norm=norm, lr=lr))
        with torch.no_grad():
            for k, g in grads.items():
                p, g = trained[k], g * scale
                t[k] += 1
                count = t[k].flatten()[0].item()
                m[k] = b1 * m[k] + (1 - b1) * g
                v2[k] = b2 * v2[k] + (1 - b2) * g * g
                c1, c2 = 1 - b1**count, 1 - b2**count
                wd = recipe["weight_decay"] if k in decayed else 0
                if rule == "adamw_hf":
                    p -= lr * math.sqrt(c2) / c1 * m[k] / (v2[k].sqrt() + recipe["eps"])
                    p -= lr * wd * p
                else:
                    p -= lr * wd * p
                    p -= lr * (m[k] / c1) / ((v2[k] / c2).sqrt() + recipe["eps"])
                p.grad = None
    return log


def write_training(folder, name, size, seed):
    overrides = TRAINING[name]
    cfg = compose(overrides, size)
    p = parameters(cfg, size, seed)
    decayed = [k for k in p.values if p.trained[k] and p.values[k].dim() == 2]
    gains = [k for k in p.values if p.trained[k] and "gain" in k]
    others = [k for k in p.values if p.trained[k] and k not in decayed and k not in gains]
    recipe = dict(steps=8, warmup=2, lr=3e-3, weight_decay=0.1, accumulation=2, betas=[0.9, 0.999], eps=1e-8,
                  max_grad_norm=0.5)
    g = torch.Generator().manual_seed(seed)
    data = {f"ids.{i}": torch.randint(0, size.vocab, (size.batch, size.tokens), generator=g)
            for i in range(recipe["steps"] * recipe["accumulation"])}
    out = dict(data)
    settings = dict(family="formulas of the training recipe", overrides=overrides, **recipe,
                    groups=dict(decay=decayed, gains_no_decay=gains, other_no_decay=others),
                    made_by="tests/reference/make_parity.py")
    for rule in ("adamw_hf", "adamw_torch"):
        w = leaves(p, torch.float64)
        settings[rule] = train(w, cfg, data, recipe, rule, set(decayed))
        if rule == "adamw_hf":
            out.update({"final." + k: v.detach().clone() for k, v in w.items() if v.requires_grad})
    (folder / f"{name}.json").write_text(json.dumps(settings, indent=1) + "\n")
    save({**p.values, **p.constants}, folder / f"{name}.weights.safetensors")
    save(out, folder / f"{name}.f64.safetensors")


def writer_of(name):
    return write_training if name in TRAINING else write_gpt if name in GPT else write_gpt2


def main(description, writer_of, first_seed, every, size, small, small_size):
    """Writes the committed set, `small`, or every case. `writer_of`: what writes the case of a name."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--all", metavar="DIR", type=pathlib.Path, help="write every case into DIR")
    args = parser.parse_args()
    torch.set_num_threads(1)
    folder = args.all or pathlib.Path(__file__).parent / "parity"
    names, size = (every, size) if args.all else (small, small_size)
    folder.mkdir(parents=True, exist_ok=True)
    for seed, name in enumerate(names, start=first_seed):
        writer_of(name)(folder, name, size, seed)


if __name__ == "__main__":
    main(__doc__, writer_of, 1, [*GPT, "hf_gpt2", "hf_gpt2_pad", *TRAINING], Size(3, 20, 5, 52, 53, 23, 4, 17),
         SMALL, Size(2, 6, 2, 14, 11, 9, 3, 8))
