"""Beyond the paper: lambda(t)*I + (1 - lambda(t))*P with several schedules of lambda, for Pre-LN and SAS-P."""
import dataclasses
import math
import statistics

import analysis
import style
import verdict
from experiment import Experiment, Spec

BLOCKS = ("pre_ln", "sas_p")
SCHEDULES = {"off": None, "linear, 1/4 of the run": ("linear", 0.25), "linear, 3/4 of the run": ("linear", 0.75),
             "cosine, 3/4 of the run": ("cosine", 0.75)}
CHECKPOINTS = 4  # evenly over the run, the last at its end
RECORDS = 16  # of the entropy
SEQUENCES = 4  # that a checkpoint is analyzed with


def spec(block, schedule, steps):
    settings = (f"train.stats_every={max(1, steps // RECORDS)}", f"train.save_every={steps // CHECKPOINTS}",
                f"train.keep_checkpoints={CHECKPOINTS + 1}")
    if SCHEDULES[schedule]:
        kind, share = SCHEDULES[schedule]
        settings += (f"model.identity_start.schedule={kind}", f"model.identity_start.steps={round(share * steps)}")
    return Spec(block, settings)


def distances(experiment, specs, runs):
    """{(block, schedule, step): ||P - I||_F / ||I||_F of each layer, the mean over its heads}, at the start and of checkpoints"""
    steps = experiment.scale["steps"]["short"]
    saved = [part * (steps // CHECKPOINTS) for part in range(1, CHECKPOINTS)] + [steps]
    wanted = [(*key, step) for key in specs for step in (0, *saved) if step == 0 or not runs[key].diverged]

    def analyze(key):
        *which, step = key
        if step == 0:
            return analysis.at_start(experiment, specs[tuple(which)], SEQUENCES)
        return analysis.of_run(experiment, runs[tuple(which)], SEQUENCES, step)

    return {key: [statistics.mean(layer["p"]["distance_from_identity"]) for layer in found["layers"]]
            for key, found in zip(wanted, experiment.side_by_side(analyze, wanted))}


def entropies(experiment, runs):
    """{(block, schedule, step): entropy of A, the mean over layers and heads, as a share of that of uniform attention}"""
    uniform = statistics.mean(math.log(i + 1) for i in range(experiment.setting("model.context_length")))
    return {(*key, line["step"]): statistics.mean(value for heads in line["entropy"].values() for value in heads) / uniform
            for key, run in runs.items() for line in run.of_kind("layers")}


def of_run(values, key):
    """[(step, value), ...] of {(block, schedule, step): value}"""
    return [(step, value) for (*which, step), value in values.items() if tuple(which) == key]


def draw(runs, distance, entropy):
    figure, axes = style.axes(3, len(BLOCKS), width=4.6, height=2.8, sharex=True, sharey="row")
    for column, block in enumerate(BLOCKS):
        for index, schedule in enumerate(SCHEDULES):
            line = style.block(block) | {"label": schedule} if index == 0 else style.setting(index - 1, schedule)
            key = block, schedule
            style.curve(axes[0][column], runs[key].curve(), **line)
            style.curve(axes[1][column], [(step, statistics.mean(layers)) for step, layers in of_run(distance, key)], **line)
            style.curve(axes[2][column], of_run(entropy, key), **line)
        axes[0][column].set_title(style.name_of(block))
        axes[0][column].legend(title="fade of the identity")
        axes[2][column].set_xlabel("optimizer steps")
    for row, label in zip(axes, ("validation loss\n(nats per token)", r"$\Vert P - I\Vert_F / \Vert I\Vert_F$",
                                 "entropy of A / uniform")):
        row[0].set_ylabel(label)
    return figure


def verdicts(experiment, runs, distance):
    found = [verdict.reported(f"{style.name_of(block)} with the identity fading {schedule}, minus without it", "not in it",
                              f"{runs[block, schedule].loss - runs[block, 'off'].loss:+.4f} ± {experiment.error(block):.4f}",
                              "loss at the end")
             for block in BLOCKS for schedule in list(SCHEDULES)[1:]]
    largest = max(max(layers) for (_, schedule, step), layers in distance.items() if schedule != "off" and step == 0)
    return found + [verdict.holds("with lambda at 1 the matrix is the identity", "lambda(0) = 1, by definition",
                                  f"distance {largest:.1e}", "at most 1e-6", largest <= 1e-6)]


def main():
    experiment = Experiment("identity_schedule")
    steps = experiment.scale["steps"]["short"]
    rates = experiment.rates(BLOCKS)
    specs = {(block, schedule): dataclasses.replace(spec(block, schedule, steps), rate=rates[block])
             for block in BLOCKS for schedule in SCHEDULES}
    runs = experiment.train(specs)
    distance = distances(experiment, specs, runs)
    entropy = entropies(experiment, runs)
    rows = [{"block": key[0], "fade": key[1], "loss at the end": round(run.loss, 4), "step": step,
             "distance of P from I": round(statistics.mean(distance[*key, step]), 5) if (*key, step) in distance else "",
             "distance in each layer": " ".join(f"{value:.4g}" for value in distance.get((*key, step), ())),
             "entropy of A / uniform": round(entropy[*key, step], 5) if (*key, step) in entropy else ""}
            for key, run in runs.items()
            for step in sorted({step for step, _ in of_run(distance, key) + of_run(entropy, key)})]
    experiment.finish("Identity start and its fade", rows, verdicts(experiment, runs, distance), draw(runs, distance, entropy))


if __name__ == "__main__":
    main()
