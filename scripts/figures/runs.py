"""A run as the pictures see it: what its metrics.jsonl says."""
import json
import math
import pathlib
import statistics

import style
from mistakes import refuse


def best(tried):
    """(rate, Run) with the lowest loss of {rate: Run}."""
    return min(tried.items(), key=lambda item: item[1].loss)


def each_rate(tried):
    """{rate: Run} as a text."""
    return " ".join(f"{rate:g}:{run.loss:.4f}" for rate, run in tried.items())


class Run:
    """One run in the store. `diverged`: why it could not be trained to its end, or None."""

    def __init__(self, folder, diverged=None):
        self.folder, self.diverged = pathlib.Path(folder), diverged
        file = self.folder / "metrics.jsonl"
        self.lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []

    @classmethod
    def evaluated(cls, folder):
        """A run that a user names, which has an evaluation."""
        run = cls(folder)
        if not run.lines:
            refuse(f"{folder}: not a run (there is no metrics.jsonl)")
        if not run.of_kind("eval"):
            refuse(f"{folder}: has no evaluation yet")
        return run

    def of_kind(self, kind):
        return [line for line in self.lines if line["kind"] == kind]

    def curve(self, key="step"):
        """(x, validation loss) of every evaluation with a finite loss; x: step, tokens or seconds."""
        return [(line[key], line["loss"]) for line in self.of_kind("eval") if line["loss"] is not None]

    def seconds_to(self, loss):
        """When its curve first is at `loss` or below, on straight lines between evaluations; None: never, or no number."""
        if not math.isfinite(loss):
            return None
        before = None
        for seconds, value in self.curve("seconds"):
            if value <= loss:
                return seconds if before is None else before[0] + (before[1] - loss) / (before[1] - value) * (seconds - before[0])
            before = seconds, value
        return None

    @property
    def name(self):
        """Its folder's, as the pictures have it where that is a block's."""
        return style.name_of(self.folder.name)

    @property
    def loss(self):
        """Validation loss at the end; infinite where the run diverged."""
        evaluated = self.of_kind("eval")
        if self.diverged or not evaluated or evaluated[-1]["loss"] is None:
            return math.inf
        return evaluated[-1]["loss"]

    @property
    def parameters(self):
        return self.of_kind("start")[-1]["parameters"]

    @property
    def seconds(self):
        return self.lines[-1]["seconds"] if "seconds" in self.lines[-1] else self.of_kind("train")[-1]["seconds"]

    @property
    def tokens(self):
        return self.of_kind("train")[-1]["tokens"]

    @property
    def speed(self):
        """Tokens/s: the median of its reports."""
        speeds = [line["tokens_per_second"] for line in self.of_kind("train")]
        # The first report covers step 1 alone, with its one-off allocations.
        return statistics.median(speeds[1:] or speeds)
