"""The ladder from Pre-LN to SAS-P without norms: loss, speed and parameters of each step."""
import style
import verdict
from experiment import Experiment, Spec
from mlp_skip import without_skip
from norms import loses_a_little
from runs import best

NO_MLP_SKIP = "no feed-forward skip"
SPECS = {
    "Pre-LN": Spec("pre_ln"),
    "no attention skip (Eq. 4)": Spec("v_skipinit", ("model.v_skipinit.form=eq4",)),
    "shaped attention": Spec("v_skipinit", ("model.v_skipinit.form=shaped",)),
    "$W_V = W_P = I$ (SAS)": Spec("sas"),
    NO_MLP_SKIP: None,  # that of mlp_skip.py, with ReLU
    "parallel (SAS-P)": Spec("sas_p"),
    "no norms": Spec("sas_p_nonorm"),
}


def table(runs):
    first, rows, before = runs["Pre-LN"], [], None
    for step, run in runs.items():
        rows.append({
            "step": step.replace("$", ""), "validation loss": round(run.loss, 4), "minus Pre-LN": round(run.loss - first.loss, 4),
            "minus the step before": "" if before is None else round(run.loss - before.loss, 4),
            "parameters": run.parameters, "parameters / Pre-LN": round(run.parameters / first.parameters, 4),
            "tokens/s": round(run.speed), "tokens/s / Pre-LN": round(run.speed / first.speed, 3),
        })
        before = run
    return rows


def draw(runs, errors):
    first = runs["Pre-LN"]
    figure, axes = style.axes(1, 3, width=3.6, height=3, sharey=True)
    columns = ((lambda run: run.loss - first.loss, "validation loss minus Pre-LN's\n(nats per token)", "{:+.3f}"),
               (lambda run: run.speed / first.speed, "tokens per second / Pre-LN's", "{:.2f}"),
               (lambda run: run.parameters / first.parameters, "parameters / Pre-LN's", "{:.3f}"))
    for axis, (value, label, form) in zip(axes, columns):
        values = [value(run) for run in runs.values()]
        bars = axis.barh(list(runs), values, color="#0072B2", height=0.6, xerr=errors if axis is axes[0] else None)
        axis.bar_label(bars, [form.format(number) for number in values], padding=3)
        axis.set_xlabel(label)
        axis.margins(x=0.3)
        axis.grid(axis="y", visible=False)
    axes[0].invert_yaxis()
    return figure


def verdicts(experiment, runs):
    pre_ln, eq_4, shaped, sas, no_skip, sas_p, no_norms = runs.values()
    found = [
        verdict.above("without the attention skip (Eq. 4) the loss is above Pre-LN's", "behind", eq_4.loss - pre_ln.loss,
                      experiment.error("v_skipinit", "pre_ln")),
        verdict.above("shaped attention is better than Eq. 4", "slightly", eq_4.loss - shaped.loss, experiment.error("v_skipinit")),
        verdict.at_most("SAS is at or below Pre-LN", "at or below", sas.loss - pre_ln.loss, experiment.error("sas", "pre_ln")),
        verdict.above("SAS without the feed-forward skip is slower", "much slower", no_skip.loss - sas.loss, experiment.error("sas")),
        verdict.at_most("SAS-P is at or below Pre-LN", "at or below", sas_p.loss - pre_ln.loss, experiment.error("sas_p", "pre_ln")),
        loses_a_little(no_norms.loss - sas_p.loss, experiment.error("sas_p")),
        verdict.reported("speed of SAS-P", "1.16 times Pre-LN's (BERT)", f"{sas_p.speed / pre_ln.speed:.2f} times",
                         "runs trained side by side with others"),
    ]
    saved = 1 - sas_p.parameters / pre_ln.parameters
    if experiment.scale_name == "paper":
        return found + [verdict.near("share of the parameters that SAS-P saves", "13 %", saved, 0.13, 0.01)]
    return found + [verdict.reported("share of the parameters that SAS-P saves", "13 % at its scale", f"{saved:.3f}", "another scale")]


def main():
    experiment = Experiment("ablation_ladder")
    runs = experiment.train({step: spec for step, spec in SPECS.items() if spec})
    runs[NO_MLP_SKIP] = best(without_skip(experiment, ["ReLU"])["ReLU"])[1]
    runs = {step: runs[step] for step in SPECS}
    errors = [0, *(experiment.error((spec or Spec("sas")).block, "pre_ln") for spec in list(SPECS.values())[1:])]
    experiment.finish("The ladder from Pre-LN to SAS-P without norms", table(runs), verdicts(experiment, runs), draw(runs, errors))


if __name__ == "__main__":
    main()
