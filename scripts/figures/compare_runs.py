#!/usr/bin/env python3
"""Compares finished runs: a table on the terminal and in a file, and a picture of loss against steps and seconds.

    .venv/bin/python scripts/figures/compare_runs.py RUN RUN ... [--picture FILE.png] [--table FILE.md]

The first run is the one that the others are compared with. Everything is read from each run's metrics.jsonl.
"""
import argparse
import pathlib

import style
from runs import Run


def table(runs):
    first = runs[0]
    lines = [
        f"| block | parameters | ratio | tokens/s | ratio | validation loss | minus {first.folder.name} | steps | seconds |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for run in runs:
        last = run.of_kind("eval")[-1]
        lines.append(
            f"| {run.folder.name} | {run.parameters / 1e6:.2f} M | {run.parameters / first.parameters:.2f} "
            f"| {run.speed:,.0f} | {run.speed / first.speed:.2f} "
            f"| {run.loss:.4f} | {run.loss - first.loss:+.4f} | {last['step']} | {last['seconds']:.0f} |"
        )
    return "\n".join(lines)


def draw(runs):
    figure, axes = style.axes(1, 2, sharey=True)
    for axis, key, unit in zip(axes, ("step", "seconds"), ("optimizer steps", "seconds of training")):
        for run in runs:
            style.curve(axis, run.curve(key), **style.block(run.folder.name))
        axis.set_xlabel(unit)
        axis.legend()
    axes[0].set_ylabel("validation loss (nats per token)")
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=pathlib.Path)
    parser.add_argument("--picture", type=pathlib.Path)
    parser.add_argument("--table", type=pathlib.Path)
    arguments = parser.parse_args()
    runs = [Run.evaluated(folder) for folder in arguments.runs]
    text = table(runs)
    print(text)
    if arguments.table:
        arguments.table.write_text(text + "\n", encoding="utf-8")
    if arguments.picture:
        style.save(draw(runs), arguments.picture)


if __name__ == "__main__":
    main()
