"""Beyond the paper: SAS-P without norms whose branch gains are fixed, trained or adjusted from feedback."""
import analysis
import style
import verdict
from experiment import Experiment, Spec
from norms import loses_a_little
from runs import best, each_rate

GAINS = ("model.sas_p.beta_sa", "model.sas_p.beta_ff")
WITH_NORM, TRAINED, FIXED, FEEDBACK = "with norm, trained", "trained", "fixed", "feedback"
SPECS = {
    WITH_NORM: Spec("sas_p"),
    TRAINED: Spec("sas_p_nonorm"),
    FIXED: Spec("sas_p_nonorm", tuple(f"{gain}.trainable=false" for gain in GAINS)),
    FEEDBACK: Spec("sas_p_nonorm", tuple(f"{gain}.feedback.power=0.5" for gain in GAINS)),
}
LINES = {WITH_NORM: style.block("sas_p"), TRAINED: style.block("sas_p_nonorm"), FIXED: style.setting(0, ""),
         FEEDBACK: style.setting(1, "")}
SEQUENCES = 4  # that a model is analyzed with


def stream(found):
    """rms of the embeddings and of each block's output, of an analysis."""
    return [state["rms"] for state in found["states"]]


def draw(tried, rms):
    figure, axes = style.axes(1, 3, width=4.2)
    for name, runs in tried.items():
        line = LINES[name] | {"label": name}
        style.curve(axes[0], best(runs)[1].curve(), **line)
        style.losses(axes[1], runs.keys(), [run.loss for run in runs.values()], **line)
        axes[2].plot(rms[name], **line)
    axes[2].plot(rms["start"], color="#7F7F7F", linewidth=1, label="at the start, without norm")
    for axis, title, x, y in zip(
            axes, ("at its best rate", "at the end (x: diverged)", "at the end, at its best rate"),
            ("optimizer steps", "learning rate", "layer (0: embeddings)"),
            ("validation loss (nats per token)", "validation loss (nats per token)", "rms of the stream")):
        axis.set_title(title)
        axis.set_xlabel(x)
        axis.set_ylabel(y)
    style.log_axis(axes[1], list(runs))
    axes[2].xaxis.get_major_locator().set_params(integer=True)
    axes[2].set_yscale("log")
    axes[0].legend(title="gains of the branches")
    axes[2].legend()
    return figure


def main():
    experiment = Experiment("no_norm")
    rates = experiment.scale["rates"]
    if len(rates) == 1:
        rates = [rates[0], 3 * rates[0]]  # one more, to see where training breaks
    specs = {(name, rate): Spec(spec.block, spec.settings, rate=rate) for name, spec in SPECS.items() for rate in rates}
    trained = experiment.train(specs)
    tried = {name: {rate: trained[name, rate] for rate in rates} for name in SPECS}
    rms = {name: stream(analysis.of_run(experiment, best(runs)[1], SEQUENCES)) for name, runs in tried.items()}
    rms["start"] = stream(analysis.at_start(experiment, specs[TRAINED, rates[0]], SEQUENCES))
    error = experiment.error("sas_p")
    loss = {name: best(runs)[1].loss for name, runs in tried.items()}
    rows = [{"gains": name, "norm": "rms_norm" if name == WITH_NORM else "none", "rate": best(runs)[0],
             "validation loss": round(loss[name], 4), "each rate": each_rate(runs),
             "diverged": sum(run.diverged is not None for run in runs.values()),
             "rms of the stream": " ".join(f"{value:.4g}" for value in rms[name])} for name, runs in tried.items()]
    found = [loses_a_little(loss[TRAINED] - loss[WITH_NORM], error)]
    found += [verdict.reported(f"{name} gains, minus trained ones", "not in it", f"{loss[name] - loss[TRAINED]:+.4f} ± {error:.4f}",
                               "each at its best rate") for name in (FIXED, FEEDBACK)]
    found.append(verdict.reported(
        "loss at each rate", "one rate", "; ".join(f"{name}: {each_rate(runs)}" for name, runs in tried.items()), "inf: diverged"))
    experiment.finish("SAS-P without norms", rows, found, draw(tried, rms))


if __name__ == "__main__":
    main()
