"""Fig. 8: Pre-LN, SAS and SAS-P on three times the tokens."""
import style
import verdict
from experiment import Experiment, Spec

BLOCKS = ("pre_ln", "sas", "sas_p")
LENGTHS = ("base", "longer")


def draw(runs):
    figure, axes = style.axes(1, len(LENGTHS), width=4.6, sharey=True)
    lowest = min(run.loss for run in runs.values())
    for axis, length in zip(axes, LENGTHS):
        for block in BLOCKS:
            style.curve(axis, runs[block, length].curve(), **style.block(block))
        axis.set_title(f"{runs['pre_ln', length].tokens / 1e6:.3g} M tokens")
        axis.set_xlabel("optimizer steps")
    axes[0].set_ylabel("validation loss (nats per token)")
    axes[0].set_ylim(lowest - 0.1, lowest + 3)
    axes[-1].legend()
    return figure


def main():
    experiment = Experiment("train_longer")
    runs = experiment.train({(block, length): Spec(block, length=length) for length in LENGTHS for block in BLOCKS})
    rows = [{"block": block, "tokens": run.tokens, "validation loss": round(run.loss, 4),
             "minus Pre-LN": round(run.loss - runs["pre_ln", length].loss, 4)} for (block, length), run in runs.items()]
    found = [verdict.at_most(f"{style.name_of(block)} matches Pre-LN on {'three times the' if length == 'longer' else 'the base'} tokens",
                             "matches", runs[block, length].loss - runs["pre_ln", length].loss, experiment.error(block, "pre_ln"))
             for length in LENGTHS for block in ("sas", "sas_p")]
    experiment.finish("Three times the tokens", rows, found, draw(runs))


if __name__ == "__main__":
    main()
