"""Fig. 11: linear against cosine decay of the learning rate, for Pre-LN and SAS-P."""
import style
import verdict
from experiment import Experiment, Spec

BLOCKS = ("pre_ln", "sas_p")
SCHEDULES = ("linear", "cosine")


def draw(runs):
    figure, axes = style.axes(1, len(BLOCKS), width=4.6, sharey=True, squeeze=False)
    for axis, block in zip(axes[0], BLOCKS):
        for index, schedule in enumerate(SCHEDULES):
            line = style.block(block) | {"label": schedule, "linestyle": "-"} if index == 0 else style.setting(index - 1, schedule)
            axis.plot(*zip(*runs[block, schedule].curve()), **line)
        axis.set_title(style.name_of(block))
        axis.set_xlabel("optimizer steps")
        axis.legend(title="decay")
    axes[0][0].set_ylabel("validation loss (nats per token)")
    return figure


def main():
    experiment = Experiment("schedule")
    runs = experiment.train({(block, schedule): Spec(block, (f"train.schedule={schedule}",))
                             for block in BLOCKS for schedule in SCHEDULES})
    rows = [{"block": block, "schedule": schedule, "validation loss": round(run.loss, 4)} for (block, schedule), run in runs.items()]
    found = [verdict.above(f"linear decay is better than cosine for {style.name_of(block)}", "better",
                           runs[block, "cosine"].loss - runs[block, "linear"].loss, experiment.error(block)) for block in BLOCKS]
    experiment.finish("Linear against cosine decay", rows, found, draw(runs))


if __name__ == "__main__":
    main()
