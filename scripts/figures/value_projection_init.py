"""Figs. 3, 14, 20 and 21: fixed W_V and W_P by how they start, in SAS and in Pre-LN, and the first layer's trained W_V."""
import style
import verdict
from experiment import Experiment, Spec


def orthogonal(tie):
    """W_V and W_P of all layers fixed at random orthogonal matrices: alpha*W_init + beta*W with beta = 0."""
    settings = ["first_layer_value.kind=same", f"tie_init={tie}"]
    for part in ("value", "projection"):
        settings += [f"{part}.kind=gained", f"{part}.init.kind=orthogonal", f"{part}.alpha.trainable=false",
                     f"{part}.beta.init=0", f"{part}.beta.trainable=false"]
    return tuple(f"model.sas.{setting}" for setting in settings)


FIXED = {  # the paper's order, best first
    "identity": ("model.sas.first_layer_value.kind=identity",),
    "orthogonal, tied in every block": orthogonal("all_blocks"),
    "orthogonal, tied by the last block": orthogonal("last_block"),
    "orthogonal, independent": orthogonal("none"),
}
PRE_LN_IDENTITY = ("model.pre_ln.value.kind=identity", "model.pre_ln.projection.kind=identity")


def draw(runs):
    figure, axes = style.axes(1, 2, width=5, sharey=True)
    style.curve(axes[0], runs["sas"].curve(), **style.block("sas") | {"label": "identity, first layer's $W_V$ trained"})
    for index, name in enumerate(FIXED):
        style.curve(axes[0], runs[name].curve(), **style.setting(index, name, beside="sas"))
    style.curve(axes[1], runs["pre_ln"].curve(), **style.block("pre_ln") | {"label": "trained"})
    style.curve(axes[1], runs["pre_ln, identity"].curve(), **style.setting(0, "identity"))
    for axis, block in zip(axes, ("sas", "pre_ln")):
        axis.set_title(style.name_of(block))
        axis.set_xlabel("optimizer steps")
        axis.legend(title="$W_V$ and $W_P$")
    axes[0].set_ylabel("validation loss (nats per token)")
    return figure


def main():
    experiment = Experiment("value_projection_init")
    runs = experiment.train({name: Spec("sas", settings) for name, settings in FIXED.items()} | {
        "sas": Spec("sas"), "pre_ln": Spec("pre_ln"), "pre_ln, identity": Spec("pre_ln", PRE_LN_IDENTITY)})
    loss = {name: run.loss for name, run in runs.items()}
    rows = [{"block": "pre_ln" if name.startswith("pre_ln") else "sas", "values and projections": what,
             "validation loss": round(loss[name], 4), "parameters": runs[name].parameters}
            for name, what in [(name, name) for name in FIXED] + [
                ("sas", "identity, first layer's values trained"), ("pre_ln", "trained"), ("pre_ln, identity", "identity")]]
    order, error = list(FIXED), experiment.error("sas")
    found = [verdict.above(f"SAS with fixed W_V and W_P: {better} is better than {worse}", "better", loss[worse] - loss[better], error)
             for better, worse in zip(order, order[1:])]
    found += [
        verdict.above("the identity for W_V and W_P hurts Pre-LN", "slightly", loss["pre_ln, identity"] - loss["pre_ln"],
                      experiment.error("pre_ln")),
        verdict.above("the trained W_V of the first layer helps SAS", "very little", loss["identity"] - loss["sas"], error),
    ]
    experiment.finish("Values and projections that are not trained", rows, found, draw(runs))


if __name__ == "__main__":
    main()
