"""Figs. 4 and 15 to 19: every gain of SAS over training, when W_V and W_P may leave the identity."""
import statistics

import matplotlib as mpl

import style
import verdict
from experiment import Experiment, Spec

START = 0.2  # of beta_V and beta_P
RECORDS = 40  # about so many times over the run
FREED = tuple(f"model.sas.{part}" for part in (
    "value.kind=gained", "value.init.kind=identity", f"value.beta.init={START}", f"first_layer_value.beta.init={START}",
    "projection.kind=gained", "projection.init.kind=identity", f"projection.beta.init={START}"))
PAPER = {"freed": 1.194, "identity": 1.178}  # validation loss

RATIOS = {"beta_V/alpha_V": "attention.value", "beta_P/alpha_P": "attention.projection"}
OTHERS = {"alpha": "attention.shape.alpha", "beta": "attention.shape.beta", "gamma": "attention.shape.gamma",
          "beta_sa": "beta_sa", "alpha_ff": "alpha_ff", "beta_ff": "beta_ff"}  # the first three: one of each head
SYMBOLS = {"beta_V/alpha_V": r"$\beta_V/\alpha_V$", "beta_P/alpha_P": r"$\beta_P/\alpha_P$", "alpha": r"$\alpha$ of each head",
           "beta": r"$\beta$ of each head", "gamma": r"$\gamma$ of each head", "beta_sa": r"$\beta_{SA}$",
           "alpha_ff": r"$\alpha_{FF}$", "beta_ff": r"$\beta_{FF}$"}


def gains_of(line, layer):
    """{name: values, one or one of each head} of a layer, in a line of statistics."""
    gain = {name.removeprefix(f"block_{layer}."): value for name, value in line["gain"].items()
            if name.startswith(f"block_{layer}.")}
    found = {name: [gain[f"{part}.beta"] / gain[f"{part}.alpha"]] for name, part in RATIOS.items()}
    return found | {name: value if isinstance(value := gain[part], list) else [value] for name, part in OTHERS.items()}


def draw(records, n_layer):
    figure, axes = style.axes(2, 4, width=3, height=2.7, sharex=True)
    colours, scale = mpl.colormaps["viridis"], mpl.colors.Normalize(1, n_layer)
    steps = sorted({step for step, _ in records})
    for axis, name in zip(axes.flat, SYMBOLS):
        for layer in range(n_layer):
            line = {"color": colours(scale(layer + 1)), "linewidth": 0.8}
            if name == "beta_V/alpha_V" and layer == 0:
                line = {"color": "#D55E00", "label": "first layer"}
            axis.plot(steps, [records[step, layer][name] for step in steps], **line)
        axis.axhline(0, color="#7F7F7F", linewidth=0.8)
        axis.set_title(SYMBOLS[name])
    axes[0][0].legend()
    for axis in axes[1]:
        axis.set_xlabel("optimizer steps")
    for row in axes:
        row[0].set_ylabel("gain")
    ticks = range(1, n_layer + 1, max(1, n_layer // 6))
    figure.colorbar(mpl.cm.ScalarMappable(scale, colours), ax=axes, label="layer", fraction=0.02, ticks=ticks)
    return figure


def verdicts(experiment, runs, records, n_layer):
    def size(step, name, layers=range(n_layer)):
        return statistics.mean(abs(value) for layer in layers for value in records[step, layer][name])

    first, last = min(records)[0], max(records)[0]
    deep = range(1, n_layer)
    values, projections = size(last, "beta_V/alpha_V", deep), size(last, "beta_P/alpha_P")
    kept = {name: size(last, name) / size(first, name) for name in OTHERS}
    found = [
        verdict.holds("the ratios |beta_V/alpha_V| (but the first layer's) and |beta_P/alpha_P| go to 0", f"from {START} to 0",
                      f"means over layers {values:.3f} and {projections:.3f}", f"both below {START / 4}",
                      max(values, projections) < START / 4),
        verdict.holds("the first layer's |beta_V/alpha_V| does not go to 0", "does not",
                      f"{size(last, 'beta_V/alpha_V', [0]):.3f}", f"above {START / 2}",
                      size(last, "beta_V/alpha_V", [0]) > START / 2),
        verdict.holds("no other gain goes to 0", "does not",
                      "end/start " + ", ".join(f"{name} {value:.2f}" for name, value in kept.items()),
                      "means over layers and heads, each above a half", min(kept.values()) > 0.5),
        verdict.above("W_V and W_P that are trained are behind the identity", "1.194 against 1.178",
                      runs["freed"].loss - runs["identity"].loss, experiment.error("sas")),
    ]
    if experiment.scale_name == "paper":
        found += [verdict.near(f"loss with {name} W_V and W_P", str(value), runs[name].loss, value, 0.02)
                  for name, value in PAPER.items()]
    return found


def main():
    experiment = Experiment("gains")
    every = max(1, experiment.scale["steps"]["main"] // RECORDS)
    runs = experiment.train({"freed": Spec("sas", (*FREED, f"train.stats_every={every}"), length="main"),
                             "identity": Spec("sas", length="main")})
    n_layer = experiment.setting("model.n_layer")
    records = {(line["step"], layer): gains_of(line, layer)
               for line in runs["freed"].of_kind("layers") for layer in range(n_layer)}
    rows = [{"step": step, "layer": layer + 1} | {name: " ".join(f"{value:.5g}" for value in values) for name, values in gains.items()}
            for (step, layer), gains in records.items()]
    experiment.finish("Gains over training", rows, verdicts(experiment, runs, records, n_layer), draw(records, n_layer))


if __name__ == "__main__":
    main()
