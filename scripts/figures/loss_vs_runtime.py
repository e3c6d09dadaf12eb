#!/usr/bin/env python3
"""Loss against the time spent in training, as Fig. 7 of the paper has it.

    .venv/bin/python scripts/figures/loss_vs_runtime.py RUN RUN ... OUT.png

Leaves the picture, and beside it OUT.md, a table that is printed too. Runs are named by their folders (pre_ln, sas_p,
sas_p_nonorm ... are drawn alike in all pictures); the first one is what the others are compared with. Runs that go on
are drawn as far as they are. Every figure is from the runs' metrics.jsonl.
"""
import argparse
import math
import pathlib

import style
from runs import Run

TIME_UNITS = ((7200, 3600, "hours"), (600, 60, "minutes"), (0, 1, "seconds"))  # from so many seconds on, divided by, name


def number(value, form):
    return "n/a" if value is None or not math.isfinite(value) else format(value, form)


def table(runs):
    first = runs[0]
    lines = [
        f"| block | parameters | tokens/s | ratio | steps | tokens | seconds | loss | minus {first.name} "
        f"| seconds to the last loss of {first.name} |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for run in runs:
        last = run.of_kind("eval")[-1]
        lines.append(
            f"| {run.name} | {run.parameters / 1e6:.2f} M | {run.speed:,.0f} | {run.speed / first.speed:.2f} | {last['step']} "
            f"| {last['tokens'] / 1e6:.2f} M | {last['seconds']:.0f} | {number(run.loss, '.4f')} "
            f"| {number(run.loss - first.loss, '+.4f')} | {number(run.seconds_to(first.loss), '.0f')} |"
        )
    return "\n".join(lines)


def draw(runs):
    """`runs`: {block, or another name: Run}"""
    longest = max((line["seconds"] for run in runs.values() for line in run.of_kind("eval")), default=0)
    _, divisor, unit = next(entry for entry in TIME_UNITS if longest >= entry[0])
    figure, axis = style.axes()
    drawn = []
    for name, run in runs.items():
        curve, line = run.curve("seconds"), style.block(name)
        ends = "" if math.isfinite(run.loss) else " (not finite)"
        style.curve(axis, [(seconds / divisor, loss) for seconds, loss in curve], **line | {"label": line["label"] + ends})
        drawn += [loss for seconds, loss in curve if seconds >= 0.05 * longest]
    axis.set_xlabel(f"{unit} of training")
    axis.set_ylabel("validation loss (nats per predicted token)")
    # The first moments, where every loss falls from that of guessing, would squeeze the rest together.
    if drawn:
        low, high = min(drawn), max(drawn)
        axis.set_ylim(low - 0.05 * (high - low) - 0.01, high + 0.05 * (high - low) + 0.01)
    axis.legend()
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=pathlib.Path, metavar="RUN")
    parser.add_argument("out", type=pathlib.Path, metavar="OUT.png")
    arguments = parser.parse_args()
    if arguments.out.suffix != ".png":
        parser.error(f"'{arguments.out}' does not end in .png: the picture comes last")
    runs = [Run.evaluated(folder) for folder in arguments.runs]
    text = table(runs)
    print(text)
    style.save(draw({run.folder.name: run for run in runs}), arguments.out)
    arguments.out.with_suffix(".md").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
