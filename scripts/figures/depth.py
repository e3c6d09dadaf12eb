"""Fig. 6: 18 against 72 layers for Pre-LN, V-SkipInit, SAS and SAS-P, with a feed-forward of twice the width."""
import math

import style
import verdict
from experiment import Experiment, Spec
from runs import best, each_rate

BLOCKS = ("pre_ln", "v_skipinit", "sas", "sas_p")
LOWER = 0.3  # of the block's rate, which is that of 18 layers


def rates(experiment, block):
    """Rates of which the better counts. The paper trains all at one, but V-SkipInit at 0.3 of it with 18 layers, 0.1 with 72."""
    [rate] = experiment.rates({block}).values()
    if len(experiment.scale["rates"]) > 1 or block == "v_skipinit":
        return rate, round(LOWER * rate, 8)
    return (rate,)


def spec(experiment, block, n_layer, rate):
    steps = experiment.scale["steps"]["depth"]
    settings = (*experiment.scale["depth"], f"model.n_layer={n_layer}", f"model.d_ff={2 * experiment.setting('model.d_model')}",
                f"train.eval_every={max(1, min(experiment.setting('train.eval_every'), steps // 4))}")
    if block != "pre_ln":  # 0.2 at 18 layers and 0.1 at 72, as in the paper
        settings += (f"model.{block}.beta_ff.init={0.1 * math.sqrt(72 / n_layer):.4f}",)
    return Spec(block, settings, length="depth", rate=rate)


def draw(depths, runs):
    figure, axes = style.axes(1, 3, width=4.2, sharey=True)
    for axis, n_layer in zip(axes, depths):
        for block in BLOCKS:
            style.curve(axis, runs[block, n_layer].curve(), **style.block(block))
        axis.set_title(f"{n_layer} layers")
        axis.set_xlabel("optimizer steps")
    for block in BLOCKS:
        style.losses(axes[2], depths, [runs[block, n_layer].loss for n_layer in depths], **style.block(block))
    axes[2].set_title("at the end")
    style.log_axis(axes[2], depths)
    axes[2].set_xlabel("layers")
    axes[0].set_ylabel("validation loss (nats per token)")
    axes[0].legend()
    return figure


def verdicts(experiment, loss, shallow, deep):
    found = [verdict.at_most(f"{style.name_of(block)} follows Pre-LN at {deep} layers", "follows",
                             loss[block, deep] - loss["pre_ln", deep], experiment.error(block, "pre_ln")) for block in ("sas", "sas_p")]
    found += [verdict.above(f"{style.name_of(block)} gains by {deep} instead of {shallow} layers", "gains",
                            loss[block, shallow] - loss[block, deep], experiment.error(block)) for block in ("pre_ln", "sas", "sas_p")]
    return found + [
        verdict.above(f"V-SkipInit is worse with {deep} than with {shallow} layers", "worse",
                      loss["v_skipinit", deep] - loss["v_skipinit", shallow], experiment.error("v_skipinit")),
        verdict.above(f"V-SkipInit is further behind Pre-LN at {deep} layers", "further behind",
                      loss["v_skipinit", deep] - loss["pre_ln", deep] - loss["v_skipinit", shallow] + loss["pre_ln", shallow],
                      math.sqrt(2) * experiment.error("v_skipinit", "pre_ln")),
    ]


def main():
    experiment = Experiment("depth")
    depths = experiment.scale["depths"]
    trained = experiment.train({(block, n_layer, rate): spec(experiment, block, n_layer, rate)
                                for block in BLOCKS for n_layer in depths for rate in rates(experiment, block)})
    runs, rows = {}, []
    for block in BLOCKS:
        for n_layer in depths:
            tried = {rate: run for (of, layers, rate), run in trained.items() if (of, layers) == (block, n_layer)}
            rate, run = best(tried)
            runs[block, n_layer] = run
            rows.append({"block": block, "layers": n_layer, "rate": rate, "validation loss": round(run.loss, 4),
                         "each rate": each_rate(tried), "parameters": run.parameters})
    loss = {key: run.loss for key, run in runs.items()}
    experiment.finish("18 against 72 layers", rows, verdicts(experiment, loss, *depths), draw(depths, runs),
                      note="the error is that of 18 layers at the ablations' length")


if __name__ == "__main__":
    main()
