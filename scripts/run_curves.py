"""What the pictures of several runs share: how a run is read, and how its block is drawn."""
import json
import statistics
import sys

# Okabe and Ito's colours, which are told apart whatever the colour vision; dashes tell them apart in print.
STYLES = {
    "pre_ln": ("Pre-LN", "#000000", "-"),
    "parallel": ("parallel", "#E69F00", "--"),
    "v_skipinit": ("V-SkipInit (Eq. 4)", "#D55E00", "-."),
    "sas": ("SAS", "#009E73", "--"),
    "sas_p": ("SAS-P", "#0072B2", "-"),
    "sas_p_nonorm": ("SAS-P without norm", "#CC79A7", ":"),
}


def style(run):
    """Label, colour and dashes of a run, by the name of its folder."""
    return STYLES.get(run.name, (run.name, None, "-"))


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
