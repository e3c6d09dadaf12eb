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
from runs import evaluations, median_speed, metrics

TIME_UNITS = ((7200, 3600, "hours"), (600, 60, "minutes"), (0, 1, "seconds"))  # from so many seconds on, divided by, name


class Curve:
    def __init__(self, folder, block=None, diverged=False):
        self.line = style.block(block or folder.name)
        self.name = self.line["label"]
        lines = evaluations(folder)
        # A loss that is no number is null in the file: the curve ends there.
        known = [line for line in lines if line["loss"] is not None]
        self.seconds = [line["seconds"] for line in known]
        self.losses = [line["loss"] for line in known]
        self.diverged = diverged or len(known) < len(lines)
        self.steps, self.tokens = lines[-1]["step"], lines[-1]["tokens"]
        self.duration = lines[-1]["seconds"]
        recorded = metrics(folder)
        self.parameters = next(line["parameters"] for line in recorded if line["kind"] == "start")
        self.speed = median_speed(recorded)

    def final(self):
        return math.nan if self.diverged or not self.losses else self.losses[-1]

    def seconds_to(self, loss):
        """When the curve first is at `loss` or below, on straight lines between evaluations; None: never."""
        for i, value in enumerate(self.losses):
            if not value <= loss:
                continue
            if i == 0:
                return self.seconds[0]
            share = (self.losses[i - 1] - loss) / (self.losses[i - 1] - value)
            return self.seconds[i - 1] + share * (self.seconds[i] - self.seconds[i - 1])
        return None


def number(value, form):
    return "n/a" if value is None or math.isnan(value) else format(value, form)


def table(runs):
    first = runs[0]
    lines = [
        f"| block | parameters | tokens/s | ratio | steps | tokens | seconds | loss | minus {first.name} "
        f"| seconds to the last loss of {first.name} |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for run in runs:
        lines.append(
            f"| {run.name} | {run.parameters / 1e6:.2f} M | {run.speed:,.0f} | {run.speed / first.speed:.2f} | {run.steps} "
            f"| {run.tokens / 1e6:.2f} M | {run.duration:.0f} | {number(run.final(), '.4f')} "
            f"| {number(run.final() - first.final(), '+.4f')} | {number(run.seconds_to(first.final()), '.0f')} |"
        )
    return "\n".join(lines)


def draw(runs):
    longest = max(run.duration for run in runs)
    _, divisor, unit = next(entry for entry in TIME_UNITS if longest >= entry[0])
    figure, axis = style.axes()
    for run in runs:
        axis.plot([s / divisor for s in run.seconds], run.losses, **run.line | {"label": run.name + (" (not finite)" if run.diverged else "")})
    axis.set_xlabel(f"{unit} of training")
    axis.set_ylabel("validation loss (nats per predicted token)")
    # The first moments, where every loss falls from that of guessing, would squeeze the rest together.
    drawn = [loss for run in runs for s, loss in zip(run.seconds, run.losses) if s >= 0.05 * longest]
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
    runs = [Curve(folder) for folder in arguments.runs]
    text = table(runs)
    print(text)
    style.save(draw(runs), arguments.out)
    arguments.out.with_suffix(".md").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
