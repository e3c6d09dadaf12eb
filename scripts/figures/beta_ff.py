"""Fig. 13: loss by the start of the trained gain of the feed-forward branch, beta_FF, for SAS-P."""
import style
import verdict
from experiment import Experiment, Spec

BLOCK = "sas_p"
STARTS = (0.03, 0.1, 0.3, 1.0)
PAPER_START = 0.1


def draw(losses):
    figure, axis = style.axes()
    style.losses(axis, STARTS, losses.values(), **style.block(BLOCK))
    style.log_axis(axis, STARTS)
    axis.set_xlabel(r"$\beta_{FF}$ at the start")
    axis.set_ylabel("validation loss at the end (nats per token)")
    axis.legend()
    return figure


def main():
    experiment = Experiment("beta_ff")
    runs = experiment.train({start: Spec(BLOCK, (f"model.{BLOCK}.beta_ff.init={start}",)) for start in STARTS})
    losses = {start: run.loss for start, run in runs.items()}
    rows = [{"block": BLOCK, "beta_ff at the start": start, "validation loss": round(loss, 4)} for start, loss in losses.items()]
    found = [verdict.above(f"{style.name_of(BLOCK)} is worse from {worst:g} than from {PAPER_START}", "depends on the start",
                           losses[worst] - losses[PAPER_START], experiment.error(BLOCK)) for worst in (STARTS[0], STARTS[-1])]
    experiment.finish("The start of the feed-forward gain", rows, found, draw(losses))


if __name__ == "__main__":
    main()
