#!/usr/bin/env python3
"""What scripts/fig_loss_vs_steps.sh needs of its runs.

    loss_vs_steps.py best-rate GRID_FOLDER    the rate (name of the run) with the lowest last validation loss
    loss_vs_steps.py report FOLDER            FOLDER/loss_vs_steps.md and .png from FOLDER/grid and FOLDER/runs
"""
import math
import pathlib
import statistics
import sys

from run_curves import STYLES, evaluations

REFERENCE = "pre_ln"


def curve(run):
    """Validation loss by step of a run."""
    return {line["step"]: line["loss"] for line in evaluations(run)}


def last(run):
    losses = curve(run)
    return losses[max(losses)]


def rates(grid):
    """Last validation loss by rate; a loss that is no number counts as infinite."""
    losses = {run.name: last(run) for run in sorted(grid.iterdir(), key=lambda run: float(run.name))}
    return {rate: math.inf if loss is None else loss for rate, loss in losses.items()}


def best_rate(grid):
    losses = rates(grid)
    return min(losses, key=losses.get)


def seeds(folder):
    return {run.name: curve(run) for run in sorted(folder.iterdir(), key=lambda run: int(run.name))}


def standard_error(values):
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None


def row(folder, block, reference):
    runs = seeds(folder / "runs" / block)
    final = {seed: losses[max(losses)] for seed, losses in runs.items()}
    # Runs of one seed see the same batches, so they are compared pair by pair.
    differences = [final[seed] - reference[seed] for seed in final]
    error = standard_error(differences)
    grid = rates(folder / "grid" / block)
    best = best_rate(folder / "grid" / block)
    return (
        f"| {STYLES[block][0]} | {', '.join(f'{rate}: {loss:.3f}' for rate, loss in grid.items())} | {best} "
        f"| {', '.join(f'{loss:.4f}' for loss in final.values())} | {statistics.mean(final.values()):.4f} "
        f"| {statistics.mean(differences):+.4f} | {'' if error is None else f'{error:.4f}'} |"
    )


def table(folder):
    reference = {seed: losses[max(losses)] for seed, losses in seeds(folder / "runs" / REFERENCE).items()}
    head = [
        "| block | validation loss at 0.5 M tokens by rate | rate | at 3 M tokens, by seed | mean "
        f"| minus {STYLES[REFERENCE][0]} | standard error |",
        "|---|---|---:|---|---:|---:|---:|",
    ]
    return "\n".join(head + [row(folder, block, reference) for block in STYLES])


def picture(folder, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(7, 4.6))
    lowest = math.inf
    for block, (name, colour, dash) in STYLES.items():
        runs = list(seeds(folder / "runs" / block).values())
        steps = sorted(runs[0])
        values = [[losses[step] for losses in runs] for step in steps]
        mean = [statistics.mean(column) for column in values]
        axis.plot(steps, mean, color=colour, linestyle=dash, label=f"{name}, {len(runs)} {'seed' if len(runs) == 1 else 'seeds'}")
        axis.fill_between(steps, [min(c) for c in values], [max(c) for c in values], color=colour, alpha=0.15, linewidth=0)
        lowest = min(lowest, *mean)
    axis.set_xlabel("optimizer steps of 2,048 tokens")
    axis.set_ylabel("validation loss (nats per token)")
    axis.set_ylim(lowest - 0.1, lowest + 3)
    axis.grid(alpha=0.3)
    axis.legend()
    figure.tight_layout()
    figure.savefig(file, dpi=140)


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("best-rate", "report"):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[2])
    if sys.argv[1] == "best-rate":
        print(best_rate(folder))
        return
    text = table(folder)
    print(text)
    (folder / "loss_vs_steps.md").write_text(text + "\n", encoding="utf-8")
    picture(folder, folder / "loss_vs_steps.png")


if __name__ == "__main__":
    main()
