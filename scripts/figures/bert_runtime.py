"""Fig. 7: loss of six masked language models against the time of their training, under a wall-clock budget."""
import math
import statistics

import bench
import data
import style
import verdict
from experiment import Experiment, block_settings
from loss_vs_runtime import draw

# Micro-steps within 24 hours over Pre-LN's (Table 1).
PAPER_SPEED = {"parallel": 1.05, "v_skipinit": 0.95, "sas": 1.09, "sas_p": 1.16, "sas_p_nonorm": 1.20}
ONE_SEED_ERROR = 0.01  # of a difference of losses, where no repetition says it


def pretrain(experiment, jobs=None):
    """{(block, seed): Run}, by the recipe `bert` of the scale, whose jobs are the default."""
    recipe = experiment.scale["bert"]
    data.prepare(experiment.out, recipe["data"])
    commands = {
        (block, seed): [recipe["config"], f"data.folder={data.folder(experiment.out, recipe['data'])}", *block_settings(block),
                        f"train.hours={recipe['hours']}", f"train.seed={seed}", f"train.data_seed={seed}", *recipe["settings"]]
        for seed in range(recipe["seeds"]) for block in style.BLOCKS
    }
    return experiment.train_commands(commands, jobs or recipe["jobs"])


def by_block(runs):
    """{block: [Run of each seed]}"""
    return {block: [run for (of, _), run in runs.items() if of == block] for block in style.BLOCKS}


def speeds(experiment):
    """{block: throughput of its training step over Pre-LN's}, which under one budget is the ratio of the micro-steps. Not of the
    runs, which follow one another: their speeds are the machine's too."""
    recipe = experiment.scale["bert"]
    command = [recipe["config"], *recipe["settings"], "--device", experiment.scale["bench"]["device"]]
    return {block: found["speed_over_pre_ln"] for block, found in bench.measure(experiment, command, recipe["bench_rounds"], 3).items()}


def standard_error(runs):
    """Of the difference of two blocks' mean losses: from the seeds of all blocks that have finite losses."""
    variances = [statistics.variance(run.loss for run in seeds) for seeds in runs.values()
                 if len(seeds) > 1 and all(math.isfinite(run.loss) for run in seeds)]
    return math.sqrt(2 * statistics.mean(variances) / len(runs["pre_ln"])) if variances else ONE_SEED_ERROR


def main():
    experiment = Experiment("bert_runtime")
    runs = by_block(pretrain(experiment, experiment.arguments.jobs))
    speed, error = speeds(experiment), standard_error(runs)
    loss = {block: statistics.mean(run.loss for run in seeds) for block, seeds in runs.items()}
    rows = []
    for block, seeds in runs.items():
        reached = seeds[0].seconds_to(runs["pre_ln"][0].loss)
        rows.append({
            "block": block, "seeds": len(seeds), "parameters": seeds[0].parameters,
            "tokens in the budget": round(statistics.mean(run.tokens for run in seeds)),
            "speed over Pre-LN": round(speed[block], 3), "median tokens/s": round(statistics.mean(run.speed for run in seeds)),
            "validation loss": round(loss[block], 4), "minus Pre-LN": round(loss[block] - loss["pre_ln"], 4),
            "seconds to Pre-LN's last loss": "not reached" if reached is None else round(reached),
        })
    found = [verdict.near(f"speed of {style.name_of(block)} over Pre-LN", f"{value:.2f}", speed[block], value, bench.SPEED_TOLERANCE)
             for block, value in PAPER_SPEED.items()]
    found += [verdict.at_most(f"{style.name_of(block)} reaches Pre-LN's loss in the same time", "reaches it",
                              loss[block] - loss["pre_ln"], error) for block in ("sas", "sas_p")]
    note = "Speeds over Pre-LN are those of the training step, measured in turn: under one budget, the paper's micro-steps."
    if len(runs["pre_ln"]) == 1:
        note += f" One seed: the standard error {ONE_SEED_ERROR:g} is assumed."
    else:
        note += " The picture and the seconds are of seed 0."
    experiment.finish("Masked language models: loss against runtime", rows, found,
                      draw({block: seeds[0] for block, seeds in runs.items()}), note)


if __name__ == "__main__":
    main()
