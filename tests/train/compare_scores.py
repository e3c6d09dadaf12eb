#!/usr/bin/env python3
"""Fine-tunes a public BERT on GLUE tasks by skipless and by a plain loop around transformers, seed for seed in turn.

    OMP_WAIT_POLICY=passive .venv/bin/python tests/train/compare_scores.py build/release/skipless BERT GLUE OUT \\
        [--tasks stsb,mrpc,rte] [--seeds 5] [--epochs 3] [--precision bf16]

The same values on both sides (configs/finetune_cramming.yaml, at most 64 tokens, a hidden layer that is BERT's pooler), each with
its own order of rows, first values of the head and dropout: so their means must agree, not their runs. Prints the score of the
last epoch of every seed, the difference of the means in standard errors, and the seconds of both. bf16: autocast on either side.
What is done is kept in OUT and not done again.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import time

import tokenizers
import torch
import transformers
from scipy.stats import pearsonr
from sklearn.metrics import accuracy_score, f1_score

# folder, columns, label, score
TASKS = {"stsb": ("STS-B", ("sentence1", "sentence2"), "score", "Pearson"),
         "mrpc": ("MRPC", ("#1 String", "#2 String"), "Quality", "F1"),
         "rte": ("RTE", ("sentence1", "sentence2"), "label", "accuracy")}
MAX_LENGTH, BATCH, RATE, WARMUP = 64, 16, 4e-5, 0.1
LARGEST = 2.5  # standard errors of a difference of means


def read_rows(path, task):
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    header = lines[0].split("\t")
    places = [header.index(name) for name in (*TASKS[task][1], TASKS[task][2])]
    rows = [line.split("\t") for line in lines[1:]]
    rows = [[row[i] for i in places] for row in rows if len(row) == len(header)]
    if task == "stsb":
        return [(a, b, float(label)) for a, b, label in rows]
    classes = {"0": 0, "1": 1, "entailment": 0, "not_entailment": 1}
    return [(a, b, classes[label]) for a, b, label in rows]


class Batches:
    def __init__(self, tokenizer, rows):
        self.encoded = tokenizer.encode_batch([(a, b) for a, b, _ in rows])
        self.labels = torch.tensor([label for _, _, label in rows])

    def of(self, rows):
        items = [self.encoded[i] for i in rows]
        longest = max(len(item.ids) for item in items)

        def padded(key):
            return torch.tensor([getattr(item, key) + [0] * (longest - len(item.ids)) for item in items])

        inputs = {"input_ids": padded("ids"), "attention_mask": padded("attention_mask"), "token_type_ids": padded("type_ids")}
        return inputs, self.labels[rows]


def evaluate(model, batches, task):
    model.eval()
    count = len(batches.labels)
    with torch.no_grad():
        logits = torch.cat([model(**batches.of(torch.arange(i, min(i + 64, count)))[0]).logits for i in range(0, count, 64)])
    model.train()
    if task == "stsb":
        return float(pearsonr(logits[:, 0], batches.labels)[0])
    score = f1_score if task == "mrpc" else accuracy_score
    return float(score(batches.labels, logits.argmax(-1)))


def plain(bert, glue, task, seed, epochs, precision):
    """The last epoch's score."""
    torch.manual_seed(seed)
    tokenizer = tokenizers.Tokenizer.from_file(str(bert / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_LENGTH)
    train, dev = (Batches(tokenizer, read_rows(glue / TASKS[task][0] / f"{split}.tsv", task)) for split in ("train", "dev"))
    model = transformers.BertForSequenceClassification.from_pretrained(bert, num_labels=1 if task == "stsb" else 2).float()
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), eps=1e-6, weight_decay=0)
    count = len(train.labels)
    total = epochs * math.ceil(count / BATCH)
    schedule = transformers.get_cosine_schedule_with_warmup(optimizer, int(WARMUP * total), total)
    for _ in range(epochs):
        for rows in torch.randperm(count).split(BATCH):
            inputs, labels = train.of(rows)
            with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
                logits = model(**inputs).logits.float()
            if task == "stsb":
                loss = torch.nn.functional.mse_loss(logits[:, 0], labels)
            else:
                loss = torch.nn.functional.cross_entropy(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return evaluate(model, dev, task)


def ours(arguments, task, seed):
    out = arguments.out / f"skipless_{seed}"
    command = [arguments.skipless, "finetune", arguments.out / "run", "--task", task, "--glue", arguments.glue, "--recipe",
               "cramming", "--out", out, f"train.seed={seed}", f"train.epochs={arguments.epochs}",
               f"data.max_length={MAX_LENGTH}", f"head.hidden_width={arguments.width}",
               f"train.precision={arguments.precision}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads((out / "results.json").read_text())["tasks"][task]["last"][TASKS[task][3]]["mean"]


def report(task, scores, seconds):
    print(f"\n{task}, {TASKS[task][3]} after the last epoch")
    means, errors = [], []
    for side in ("skipless", "plain"):
        values = scores[side]
        means.append(statistics.mean(values))
        errors.append(statistics.variance(values) / len(values))
        print(f"  {side:9} mean {100 * means[-1]:.2f}  seeds {' '.join(f'{100 * value:.2f}' for value in values)}"
              f"  {statistics.mean(seconds[side]):.0f} s a seed")
    apart = abs(means[0] - means[1]) / math.sqrt(sum(errors))
    print(f"  difference {100 * (means[0] - means[1]):+.2f}: {apart:.2f} standard errors of it")
    return apart < LARGEST


def main():
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("skipless", "bert", "glue", "out"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    arguments = parser.parse_args()
    if arguments.seeds < 2:
        parser.error("--seeds: a spread needs two")
    arguments.out.mkdir(parents=True, exist_ok=True)
    arguments.width = json.loads((arguments.bert / "config.json").read_text())["hidden_size"]
    if not (arguments.out / "run").exists():
        subprocess.run([arguments.skipless, "convert", arguments.bert, arguments.out / "run"], check=True)
    done_file = arguments.out / "scores.json"
    done = json.loads(done_file.read_text()) if done_file.exists() else {}
    agree = True
    for task in arguments.tasks.split(","):
        scores, seconds = {"skipless": [], "plain": []}, {"skipless": [], "plain": []}
        for seed in range(arguments.seeds):
            for side in scores:
                key = f"{task} {side} {seed} {arguments.epochs} {arguments.precision}"
                if key not in done:
                    begin = time.monotonic()
                    if side == "skipless":
                        score = ours(arguments, task, seed)
                    else:
                        score = plain(arguments.bert, arguments.glue, task, seed, arguments.epochs, arguments.precision)
                    done[key] = [score, time.monotonic() - begin]
                    done_file.write_text(json.dumps(done))
                    print(f"{key}: {100 * score:.2f}, {done[key][1]:.0f} s", flush=True)
                scores[side].append(done[key][0])
                seconds[side].append(done[key][1])
        agree &= report(task, scores, seconds)
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
