"""Fig. 12: V-SkipInit's attention matrix (Eq. 4) against shaped attention (Eq. 5), with and without W_V and W_P."""
import style
import verdict
from experiment import Experiment, Spec

EQ_4, SHAPED = r"$\alpha I + \beta A$", r"$\alpha I + \beta A - \gamma C$"
SPECS = {
    ("v_skipinit", EQ_4): Spec("v_skipinit", ("model.v_skipinit.form=eq4",)),
    ("v_skipinit", SHAPED): Spec("v_skipinit", ("model.v_skipinit.form=shaped",)),
    ("sas", EQ_4): Spec("sas", ("model.sas.beta.init=0", "model.sas.gamma.init=0", "model.sas.gamma.trainable=false")),
    ("sas", SHAPED): Spec("sas"),
}
OWN = {"v_skipinit": EQ_4, "sas": SHAPED}  # each block's attention
TITLES = {"v_skipinit": "with $W_V$ and $W_P$", "sas": "$W_V = W_P = I$ (SAS)"}


def draw(runs):
    figure, axes = style.axes(1, 2, width=4.6, sharey=True)
    for axis, (block, title) in zip(axes, TITLES.items()):
        for attention in (EQ_4, SHAPED):
            line = style.block(block) if attention == OWN[block] else style.setting(0, attention)
            style.curve(axis, runs[block, attention].curve(), **line | {"label": attention})
        axis.set_title(title)
        axis.set_xlabel("optimizer steps")
        axis.legend()
    axes[0].set_ylabel("validation loss (nats per token)")
    return figure


def main():
    experiment = Experiment("shaped_vs_skipinit")
    runs = experiment.train(SPECS)
    rows = [{"block": block, "attention": "alpha*I + beta*A" if attention == EQ_4 else "alpha*I + beta*A - gamma*C",
             "validation loss": round(run.loss, 4)} for (block, attention), run in runs.items()]
    found = [verdict.above(f"shaped attention is better than Eq. 4 in {style.name_of(block).removesuffix(' (Eq. 4)')}", "slightly",
                           runs[block, EQ_4].loss - runs[block, SHAPED].loss, experiment.error(block)) for block in TITLES]
    experiment.finish("Shaped attention against V-SkipInit's", rows, found, draw(runs))


if __name__ == "__main__":
    main()
