"""Figs. 2 and 5: loss of six blocks against steps and against time."""
import statistics

import style
import verdict
from experiment import Experiment, Spec
from norms import loses_a_little

PAPER = {"pre_ln": 1.155, "sas_p_nonorm": 1.245}  # validation loss at 40 K steps of the paper's scale
REPEATED = ("pre_ln", "sas_p", "v_skipinit")  # with several seeds where the scale has them


def mean_curve(runs, key):
    """(x, mean, smallest, largest) over runs that evaluate at the same steps; x is the mean too."""
    curves = [run.curve(key) for run in runs]
    return [(statistics.mean(x), statistics.mean(y), min(y), max(y))
            for x, y in ((zip(*points)) for points in zip(*curves))]


def draw(runs):
    figure, axes = style.axes(1, 2, sharey=True)
    lowest = min(run.loss for seeds in runs.values() for run in seeds)
    for axis, key, unit in zip(axes, ("step", "seconds"), ("optimizer steps", "seconds of training")):
        for block, seeds in runs.items():
            x, mean, low, high = zip(*mean_curve(seeds, key))
            line = style.block(block)
            ends = " (diverged)" if any(run.diverged for run in seeds) else ""
            axis.plot(x, mean, **line | {"label": line["label"] + ends})
            axis.fill_between(x, low, high, color=line["color"], alpha=0.15, linewidth=0)
        axis.set_xlabel(unit)
    axes[0].set_ylabel("validation loss (nats per token)")
    axes[0].set_ylim(lowest - 0.1, lowest + 3)
    axes[0].legend()
    return figure


def verdicts(experiment, runs):
    loss = {block: statistics.mean(run.loss for run in seeds) for block, seeds in runs.items()}
    minus = {block: value - loss["pre_ln"] for block, value in loss.items()}
    found = [
        verdict.at_most("SAS is at or below Pre-LN per step", "at or below", minus["sas"], experiment.error("sas", "pre_ln")),
        verdict.at_most("SAS-P is at or below Pre-LN per step", "at or below", minus["sas_p"], experiment.error("sas_p", "pre_ln")),
        verdict.above("V-SkipInit is behind Pre-LN", "behind", minus["v_skipinit"], experiment.error("v_skipinit", "pre_ln")),
        verdict.equal("the parallel block is level with Pre-LN", "level", minus["parallel"], experiment.error("parallel", "pre_ln")),
        loses_a_little(loss["sas_p_nonorm"] - loss["sas_p"], experiment.error("sas_p")),
    ]
    if experiment.scale_name == "paper":
        found += [verdict.near(f"{style.name_of(block)}'s loss", str(value), loss[block], value, 0.02)
                  for block, value in PAPER.items()]
    return found


def main():
    experiment = Experiment("loss_vs_steps")
    repeats = range(experiment.scale["seeds"]["repeated"])
    specs = {(block, seed): Spec(block, length="main", seed=seed)
             for block in style.BLOCKS for seed in (repeats if block in REPEATED else range(1))}
    trained = experiment.train(specs)
    runs = {block: [run for (of, _), run in trained.items() if of == block] for block in style.BLOCKS}
    rates = experiment.rates(style.BLOCKS)
    rows = [{
        "block": block, "rate": rates[block], "seeds": len(seeds),
        "validation loss": round(statistics.mean(run.loss for run in seeds), 4),
        "minus Pre-LN": round(statistics.mean(run.loss for run in seeds) - statistics.mean(run.loss for run in runs["pre_ln"]), 4),
        "each seed": " ".join(f"{run.loss:.4f}" for run in seeds),
        "parameters": seeds[0].parameters, "tokens/s": round(seeds[0].speed), "seconds": round(seeds[0].seconds),
    } for block, seeds in runs.items()]
    experiment.finish("Loss against steps and time", rows, verdicts(experiment, runs), draw(runs))


if __name__ == "__main__":
    main()
