"""The learning rate of each block: a small grid, the same for all blocks."""
import math

import style
import verdict
from experiment import Experiment

LEVEL = ("pre_ln", "sas", "sas_p")  # have the same best rate in the paper


def draw(rates, grids):
    figure, axis = style.axes()
    for block, losses in grids.items():
        style.losses(axis, rates, losses.values(), **style.block(block))
    style.log_axis(axis, rates)
    axis.set_xlabel("peak learning rate")
    axis.set_ylabel("validation loss at the end (nats per token)")
    axis.legend()
    return figure


def main():
    experiment = Experiment("rates")
    rates = experiment.scale["rates"]
    if len(rates) == 1:
        experiment.finish("Learning rates", [{"block": block, "best": rates[0]} for block in style.BLOCKS],
                          [verdict.reported("the rate of every block", "1e-3, tuned", f"{rates[0]:g}", "the paper's: there is no grid")])
        return
    grids = experiment.grids(style.BLOCKS)
    best = experiment.rates(style.BLOCKS)
    rows = [{"block": block, "best": best[block]} | {f"{rate:g}": round(loss, 4) if math.isfinite(loss) else "diverged"
                                                     for rate, loss in losses.items()} for block, losses in grids.items()]
    found = [verdict.holds("Pre-LN, SAS and SAS-P have the same best rate", "1e-3 for all three",
                           ", ".join(f"{style.name_of(block)} {best[block]:g}" for block in LEVEL), "the same point of the grid",
                           len({best[block] for block in LEVEL}) == 1)]
    experiment.finish("Learning rates", rows, found, draw(rates, grids))


if __name__ == "__main__":
    main()
