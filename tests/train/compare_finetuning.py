#!/usr/bin/env python3
"""Compares the first 50 steps of fine-tuning a converted BERT with a plain PyTorch loop around transformers' BertModel.

    .venv/bin/python tests/train/compare_finetuning.py build/release/skipless build/release/tests/finetune_trace [FOLDER]

Both start from the same encoder and head, see the same batches, and run in float64 without dropout; each loss must agree to
1e-8. FOLDER: another BERT in transformers' format with its tokenizer, instead of a small one with random values.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file
from small_bert import write_small_bert

STEPS = 50
TOLERANCE = 1e-8  # of losses up to some 10; rounding in float64, grown over 50 updates
WORDS = "the firm said that its shares rose by two percent in may while sales fell again last year".split()


def write_tasks(glue):
    random = torch.Generator().manual_seed(1)

    def sentence():
        length = int(torch.randint(1, 15, (1,), generator=random))
        return " ".join(WORDS[int(i)] for i in torch.randint(len(WORDS), (length,), generator=random))

    rows = [(sentence(), sentence(), float(torch.rand(1, generator=random)) * 5) for _ in range(100)]
    for folder, header, label in (("STS-B", "score", lambda x: f"{x:.3f}"),
                                  ("RTE", "label", lambda x: "entailment" if x > 2 else "not_entailment")):
        (glue / folder).mkdir(parents=True)
        text = f"sentence1\tsentence2\t{header}\n" + "".join(f"{a}\t{b}\t{label(x)}\n" for a, b, x in rows)
        for split in ("train", "dev"):
            (glue / folder / f"{split}.tsv").write_text(text)


def plain_losses(folder, trace, start, recipe):
    model = transformers.BertModel.from_pretrained(folder, attn_implementation="eager").double().eval()
    head = {name: torch.nn.Parameter(start[name].clone()) for name in ("head_w_1", "head_b_1", "head_w_2", "head_b_2")}
    parameters = [p for name, p in model.named_parameters() if not name.startswith("pooler.")] + list(head.values())
    optimizer = torch.optim.AdamW(parameters, betas=(recipe["beta1"], recipe["beta2"]), eps=recipe["eps"], weight_decay=0)
    losses = []
    for step in trace["steps"]:
        ids = torch.tensor(step["ids"])
        kept = torch.ones_like(ids) if step["kept"] is None else torch.tensor(step["kept"])
        hidden = model(ids, attention_mask=kept, token_type_ids=torch.tensor(step["token_types"])).last_hidden_state
        q = torch.tanh(hidden[:, 0] @ head["head_w_1"].T + head["head_b_1"])
        logits = q @ head["head_w_2"].T + head["head_b_2"]
        if logits.size(1) == 1:
            labels = torch.tensor(step["labels"], dtype=torch.float64)
            loss = torch.nn.functional.mse_loss(logits.squeeze(1), labels)
        else:
            loss = torch.nn.functional.cross_entropy(logits, torch.tensor(step["labels"]))
        losses.append(loss.item())
        for group in optimizer.param_groups:
            group["lr"] = step["lr"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return losses


def main():
    transformers.utils.logging.disable_progress_bar()
    skipless, tracer, *given = sys.argv[1:]
    recipe = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.98, "eps": 1e-6}
    failed = False
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        bert = pathlib.Path(given[0]) if given else work / "bert"
        if not given:
            write_small_bert(bert)
        subprocess.run([skipless, "convert", bert, work / "run"], check=True, stdout=subprocess.DEVNULL)
        write_tasks(work / "glue")
        (work / "recipe.yaml").write_text(
            "train: {epochs: 10, batch_size: 16, weight_decay: 0, warmup_fraction: 0.1, "
            + ", ".join(f"{key}: {value:.7f}" for key, value in recipe.items()) + "}\n")
        for task in ("stsb", "rte"):
            subprocess.run([tracer, work / "run", work / "glue", task, work / "recipe.yaml", str(STEPS), work / task],
                           check=True, stdout=subprocess.DEVNULL)
            trace = json.loads((work / task / "trace.json").read_text())
            plain = plain_losses(bert, trace, load_file(work / task / "model.safetensors"), recipe)
            apart = max(abs(step["loss"] - loss) for step, loss in zip(trace["steps"], plain))
            print(f"{task}: {len(plain)} losses from {plain[0]:.4f} to {plain[-1]:.4f}, largest difference {apart:.1e}")
            failed |= not apart <= TOLERANCE or len(plain) != STEPS or min(plain) >= plain[0]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
