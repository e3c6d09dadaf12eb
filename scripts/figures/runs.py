"""A run as the pictures see it: what its metrics.jsonl says."""
import json
import math
import pathlib
import statistics
import sys


def metrics(run):
    """The lines of a run's metrics.jsonl."""
    file = run / "metrics.jsonl"
    if not file.is_file():
        sys.exit(f"{run}: not a run (there is no metrics.jsonl)")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def evaluations(run):
    """Those of its evaluations, of which there is at least one."""
    lines = [line for line in metrics(run) if line["kind"] == "eval"]
    if not lines:
        sys.exit(f"{run}: has no evaluation yet")
    return lines


def median_speed(lines):
    """Tokens/s over those of metrics(run): the median of its reports."""
    speeds = [line["tokens_per_second"] for line in lines if line["kind"] == "train"]
    # The first report covers step 1 alone, with its one-off allocations.
    return statistics.median(speeds[1:] or speeds)


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
        self.lines = metrics(self.folder) if file.is_file() else []

    def of_kind(self, kind):
        return [line for line in self.lines if line["kind"] == kind]

    def curve(self, key="step"):
        """(x, validation loss) of every evaluation with a finite loss; x: step, tokens or seconds."""
        return [(line[key], line["loss"]) for line in self.of_kind("eval") if line["loss"] is not None]

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
        return median_speed(self.lines)
