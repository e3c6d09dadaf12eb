"""Fig. 13: loss by the start of the trained gain of the feed-forward branch, beta_FF, for SAS and SAS-P."""
import style
import verdict
from experiment import Experiment, Spec

BLOCKS = ("sas", "sas_p")
STARTS = (0.03, 0.1, 0.3, 1.0)
PAPER_START = 0.1


def draw(losses):
    figure, axis = style.axes()
    for block in BLOCKS:
        style.losses(axis, STARTS, [losses[block, start] for start in STARTS], **style.block(block))
    axis.set_xscale("log")
    axis.set_xticks(STARTS, map(str, STARTS))
    axis.minorticks_off()
    axis.set_xlabel(r"$\beta_{FF}$ at the start")
    axis.set_ylabel("validation loss at the end (nats per token)")
    axis.legend()
    return figure


def main():
    experiment = Experiment("beta_ff")
    runs = experiment.train({(block, start): Spec(block, (f"model.{block}.beta_ff.init={start}",))
                             for block in BLOCKS for start in STARTS})
    losses = {key: run.loss for key, run in runs.items()}
    error = experiment.spread()
    rows = [{"block": block, "beta_ff at the start": start, "validation loss": round(loss, 4)}
            for (block, start), loss in losses.items()]
    found = [verdict.above(f"{style.name_of(block)} is worse from {worst:g} than from {PAPER_START}", "depends on the start",
                           losses[block, worst] - losses[block, PAPER_START], error)
             for block in BLOCKS for worst in (STARTS[0], STARTS[-1])]
    experiment.finish("The start of the feed-forward gain", rows, found, draw(losses))


if __name__ == "__main__":
    main()
