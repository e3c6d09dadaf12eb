#!/usr/bin/env python3
"""The parity program must fail where a case is not met: spoils copies of the committed cases, one thing at a time.

    .venv/bin/python tests/parity/check_parity.py build/release/tests/parity
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from safetensors.torch import load_file, save_file

CASES = pathlib.Path(__file__).resolve().parents[1] / "reference/parity"


def nudge(name, by):
    """Adds `by` to the largest value of one tensor."""
    def change(tensors):
        flat = tensors[name].view(-1)
        flat[flat.abs().argmax()] += by
    return change


def setting(**values):
    return lambda settings: settings.update(values)


def model_setting(**values):
    return lambda settings: settings["model_cfg"].update(values)


def move(name, source, target):
    def change(settings):
        settings[source].remove(name)
        settings[target].append(name)
    return change


def arch_setting(**values):
    return lambda settings: settings["arch"].update(values)


H = "transformer.h.1."
E = "encoder."
L = "encoder.layers.1."
# case, file or None for the JSON, change, what the program must say
SPOILED = [
    ("sas", "f64", nudge("logits", 1e-8), "OUTSIDE"),
    ("sas", "f64", nudge("loss", 1e-8), "OUTSIDE"),
    ("sas", "f64", nudge("hidden.1", 1e-8), "hidden.1"),
    ("sas", "f64", nudge(f"grad.{H}attn.qk_attn.weight", 1e-8), "qk_attn.weight"),
    ("sas", "f64", nudge(f"grad.{H}attn_block_resid_gain", float("nan")), "attn_block_resid_gain"),
    ("sas", "f64", lambda t: t.pop(f"grad.{H}ln_1.scale"), "disagree"),
    ("sas", "f64", lambda t: t.update({"grad.no.such": t["loss"]}), "of which"),
    ("sas", "f64", lambda t: t.update({f"grad.{H}attn_block_skip_gain": t["loss"]}), "attn_block_skip_gain"),
    ("sas", "f64", lambda t: t.pop("hidden.2"), "hidden.2"),
    ("sas", "f32", nudge("logits", 1e-4), "f32 logits"),
    ("sas", "f32", nudge(f"grad.{H}mlp.c_fc.weight", 1e-3), "f32 matrices"),
    ("sas", "f32", nudge(f"grad.{H}attn.attn_mat_skip_gain", 1e-3), "f32 gains"),
    ("sas", "weights", nudge("transformer.wte.weight", 1e-4), "OUTSIDE"),
    ("sas", "weights", lambda t: t.pop("transformer.wpe.weight"), "no tensor 'transformer.wpe.weight'"),
    ("sas", None, setting(n_params=1), "count"),
    ("sas", None, move(f"{H}ln_1.scale", "trainable", "frozen"), "ln_1.scale"),
    ("sas", None, move(f"{H}mlp.c_fc.bias", "frozen", "trainable"), "c_fc.bias"),
    ("sas", None, model_setting(activation_function="silu"), "activation_function"),
    ("sas", None, model_setting(no_such_setting=1), "no_such_setting"),
    ("sas", None, model_setting(mlp_block_skip_gain=0), "mlp_block_skip_gain"),
    ("sas", None, lambda s: s.pop("model_cfg"), "no kind of model"),
    ("preln_pad", "f64", lambda t: t["attention_mask"].fill_(1), "OUTSIDE"),
    ("hf_gpt2", "f64", nudge(f"grad.{H}attn.c_attn.bias", 1e-8), "c_attn.bias"),
    ("enc_sas_pad_Cmasked", None, lambda s: s.update(family=s["family"].replace("masked uniform", "1/T")), "OUTSIDE"),
    ("enc_sas_pad_Cmasked", None, setting(family="no such thing"), "OUTSIDE"),
    ("enc_sas_pad_Cmasked", "f64", lambda t: t["attention_mask"].fill_(1), "OUTSIDE"),
    ("enc_sasp_pad_C1overT", None, lambda s: s.update(family=s["family"].replace("1/T", "masked uniform")), "OUTSIDE"),
    ("enc_sasp_pad_C1overT", "f64", nudge(f"grad.{H}attn.centre_attn_gain", 1e-8), "centre_attn_gain"),
    ("crammed_mlm_sparse", "f64", nudge("loss", 1e-8), "OUTSIDE"),
    ("crammed_mlm_sparse", "f64", nudge("final_hidden", 1e-8), "final_hidden"),
    ("crammed_mlm_sparse", "f64", nudge(f"grad.{E}embedding.pos_embedding.scale_factor", 1e-8), "scale_factor"),
    ("crammed_mlm_sparse", "f64", nudge(f"grad.{L}attn.self_attention.query_key_value.weight", 1e-8), "query_key_value"),
    ("crammed_mlm_sparse", "f32", nudge("logits", 1e-4), "f32 logits"),
    ("crammed_mlm_sparse", "weights", lambda t: t.pop(f"{L}norm2.bias"), "no tensor 'encoder.layers.1.norm2.bias'"),
    ("crammed_mlm_sparse", None, arch_setting(norm_eps=1e-5), "OUTSIDE"),
    ("crammed_mlm_sparse", None, arch_setting(nonlin="GELU"), "shape"),
    ("crammed_mlm_sparse", None, arch_setting(norm_scheme="post"), "arch.norm_scheme"),
    ("crammed_sasp_cls2_pad", "f64", lambda t: t["attention_mask"].fill_(1), "OUTSIDE"),
    ("crammed_sasp_cls2_pad", "f64", nudge(f"grad.{L}attn_mat_skip_gain", 1e-8), "attn_mat_skip_gain"),
    ("crammed_sasp_cls2_pad", "f64", lambda t: t["labels"].fill_(0), "OUTSIDE"),
    ("crammed_reg1_pad", "f64", nudge("labels", 1e-6), "OUTSIDE"),
    ("crammed_reg1_pad", "f64", nudge("grad.head.bias", 1e-8), "head.bias"),
    ("hf_bert_mlm", "f64", nudge("hidden.1", 1e-8), "hidden.1"),
    ("hf_bert_mlm", "f64", nudge("grad.cls.predictions.bias", 1e-8), "cls.predictions.bias"),
    ("hf_bert_mlm", "f64", lambda t: t["token_type_ids"].fill_(0), "OUTSIDE"),
    ("hf_bert_mlm", None, lambda s: s["config"].update(pad_token_id=None), "word_embeddings"),
    ("hf_bert_mlm", None, lambda s: s["config"].update(hidden_act="silu"), "hidden_act"),
    ("hf_bert_reg1", "f64", nudge("grad.bert.pooler.dense.weight", 1e-8), "pooler.dense.weight"),
    ("hf_bert_reg1", "weights", nudge("classifier.bias", 1e-4), "OUTSIDE"),
    ("train_sasp", "f64", nudge("final.transformer.wte.weight", 1e-7), "wte.weight"),
    ("train_sasp", "f64", nudge(f"final.{H}ln_2.scale", 1e-7), "ln_2.scale"),
    ("train_sasp", None, lambda s: s["adamw_hf"][7].update(loss=s["adamw_hf"][7]["loss"] + 1e-7), "adamw_hf loss"),
    ("train_sasp", None, lambda s: s["adamw_torch"][3].update(grad_norm=1.0), "adamw_torch grad_norm"),
    ("train_sasp", None, setting(eps=1e-6), "OUTSIDE"),
    ("train_sasp", None, lambda s: s["groups"]["decay"].pop(), "weight decay"),
]


def write_case(folder, name, case, file=None, change=lambda content: None):
    """A copy of a case, its JSON (file None) or one of its files changed."""
    settings = json.loads((CASES / f"{case}.json").read_text())
    if file is None:
        change(settings)
    (folder / f"{name}.json").write_text(json.dumps(settings))
    for path in CASES.glob(f"{case}.*.safetensors"):
        tensors = load_file(path)
        if path.name == f"{case}.{file}.safetensors":
            change(tensors)
        save_file({key: tensor.clone() for key, tensor in tensors.items()}, folder / path.name.replace(case, name, 1))


def run(program, folder):
    """The program's exit code, all it says, and what it says of each case."""
    result = subprocess.run([program, str(folder)], capture_output=True, text=True)
    said, name = {}, None
    for line in result.stdout.splitlines():
        if not line.startswith(" "):
            name = line.split()[0]
        said[name] = said.get(name, "") + line + "\n"
    return result.returncode, result.stdout + result.stderr, said


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        intact, spoiled = pathlib.Path(name) / "intact", pathlib.Path(name) / "spoiled"
        intact.mkdir()
        spoiled.mkdir()
        for case in sorted({case for case, *_ in SPOILED}):
            write_case(intact, case, case)
        for number, (case, file, change, _) in enumerate(SPOILED):
            write_case(spoiled, f"change_{number}", case, file, change)
        code, text, _ = run(program, intact)
        if code != 0:
            sys.exit(f"the unchanged cases: exit code {code}\n{text}")
        code, text, said = run(program, spoiled)
    if code != 1:
        sys.exit(f"the spoiled cases: exit code {code}\n{text}")
    wrong = 0
    for number, (case, file, _, expected) in enumerate(SPOILED):
        text = said.get(f"change_{number}", "")
        if " FAIL\n" not in text or expected not in text:
            wrong += 1
            print(f"change {number} of {case} ({file or 'json'}): no failure with '{expected}' in:\n{text}")
    print(f"{len(SPOILED)} spoiled cases, {wrong} not noticed as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
