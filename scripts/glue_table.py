#!/usr/bin/env python3
"""One table of the scores of several fine-tuned models.

    .venv/bin/python scripts/glue_table.py OUT.md SCORES

SCORES/NAME/ANY/results.json are what `skipless finetune` left for the model NAME. After the last epoch, in per cent: mean over the
seeds, standard deviation, and all seeds; beside them what always predicting the commonest label gives. '–': not defined or not
there.
"""
import json
import pathlib
import sys

ORDER = ("mnli", "sst2", "stsb", "rte", "qnli", "qqp", "mrpc", "cola", "wnli")  # the paper's, then what it leaves out
NONE = "–"


def per_cent(value):
    return NONE if value is None else f"{100 * value:.1f}"


def cell(score):
    if score is None:
        return NONE
    seeds = " ".join(per_cent(value) for value in score["seeds"])
    if len(score["seeds"]) == 1:
        return seeds
    return f"{per_cent(score['mean'])} ± {per_cent(score['standard_deviation'])} ({seeds})"


def table(models):
    columns, commonest = [], {}
    for tasks in models.values():
        for name, task in tasks.items():
            for score in task["last"]:
                if (name, score) not in columns:
                    columns.append((name, score))
                commonest[name, score] = task["commonest_label"].get(score)
    columns.sort(key=lambda column: ORDER.index(column[0]))  # scores of a task stay in their order
    lines = ["| model | " + " | ".join(f"{task} {score}" for task, score in columns) + " |",
             "|---" * (len(columns) + 1) + "|",
             "| commonest label | " + " | ".join(per_cent(commonest[column]) for column in columns) + " |"]
    for name, tasks in models.items():
        cells = [cell(tasks[task]["last"].get(score) if task in tasks else None) for task, score in columns]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) != 3:
        print("glue_table: usage: glue_table.py OUT.md SCORES", file=sys.stderr)
        sys.exit(2)
    out, scores = map(pathlib.Path, sys.argv[1:])
    models = {}
    for file in sorted(scores.glob("*/*/results.json")):
        models.setdefault(file.parent.parent.name, {}).update(json.loads(file.read_text(encoding="utf-8"))["tasks"])
    if not models:
        print(f"glue_table: there is no MODEL/ANY/results.json in {scores}", file=sys.stderr)
        sys.exit(2)
    text = table(models)
    out.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
