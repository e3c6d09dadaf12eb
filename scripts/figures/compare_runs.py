#!/usr/bin/env python3
"""Compares finished runs: a table on the terminal and in a file, and a picture of loss against steps and seconds.

    .venv/bin/python scripts/figures/compare_runs.py RUN RUN ... [--picture FILE.png] [--table FILE.md]

The first run is the one that the others are compared with. Everything is read from each run's metrics.jsonl and
version.json.
"""
import argparse
import pathlib

import style
from runs import evaluations, median_speed, metrics


def summary(run):
    """What one row of the table holds."""
    lines, curve = metrics(run), evaluations(run)
    start = [line for line in lines if line["kind"] == "start"][-1]
    return {
        "name": run.name,
        "parameters": start["parameters"],
        "speed": median_speed(lines),
        "loss": curve[-1]["loss"],
        "steps": curve[-1]["step"],
        "seconds": curve[-1]["seconds"],
        "curve": curve,
    }


def table(rows):
    first = rows[0]
    lines = [
        f"| block | parameters | ratio | tokens/s | ratio | validation loss | minus {first['name']} | steps | seconds |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        lines.append(
            f"| {row['name']} | {row['parameters'] / 1e6:.2f} M | {row['parameters'] / first['parameters']:.2f} "
            f"| {row['speed']:,.0f} | {row['speed'] / first['speed']:.2f} "
            f"| {row['loss']:.4f} | {row['loss'] - first['loss']:+.4f} | {row['steps']} | {row['seconds']:.0f} |"
        )
    return "\n".join(lines)


def picture(rows, file):
    figure, axes = style.axes(1, 2, sharey=True)
    for row in rows:
        curve = row["curve"]
        losses = [line["loss"] for line in curve]
        for axis, key in zip(axes, ("step", "seconds")):
            axis.plot([line[key] for line in curve], losses, marker="o", markersize=3, **style.block(row["name"]))
    axes[0].set_xlabel("optimizer steps")
    axes[1].set_xlabel("seconds of training")
    axes[0].set_ylabel("validation loss (nats per token)")
    for axis in axes:
        axis.legend()
    style.save(figure, file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=pathlib.Path)
    parser.add_argument("--picture", type=pathlib.Path)
    parser.add_argument("--table", type=pathlib.Path)
    arguments = parser.parse_args()
    rows = [summary(run) for run in arguments.runs]
    text = table(rows)
    print(text)
    if arguments.table:
        arguments.table.write_text(text + "\n", encoding="utf-8")
    if arguments.picture:
        picture(rows, arguments.picture)


if __name__ == "__main__":
    main()
