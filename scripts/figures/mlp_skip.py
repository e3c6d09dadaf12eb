"""Fig. 22: SAS without the feed-forward's skip, with three activations."""
import style
import verdict
from experiment import Experiment, Spec
from runs import best, each_rate

ACTIVATIONS = {
    "ReLU": (),
    "leaky ReLU 0.2": ("model.activation=leaky_relu", "model.leaky_slope=0.2"),
    "leaky ReLU 0.8": ("model.activation=leaky_relu", "model.leaky_slope=0.8"),
}
NO_SKIP = ("model.sas.alpha_ff.init=0", "model.sas.alpha_ff.trainable=false")
FACTORS = (0.1, 0.3)  # of SAS's rate; the paper takes 0.1


def without_skip(experiment, activations):
    """{activation: {rate: Run}}"""
    rates = [round(factor * experiment.rates({"sas"})["sas"], 8) for factor in FACTORS]
    runs = experiment.train({(activation, rate): Spec("sas", (*NO_SKIP, *ACTIVATIONS[activation]), rate=rate)
                             for activation in activations for rate in rates})
    return {activation: {rate: runs[activation, rate] for rate in rates} for activation in activations}


def draw(reference, runs):
    figure, axis = style.axes()
    style.curve(axis, reference.curve(), **style.block("sas"))
    for index, (activation, run) in enumerate(runs.items()):
        style.curve(axis, run.curve(), **style.setting(index, f"without the skip, {activation}", beside="sas"))
    axis.set_xlabel("optimizer steps")
    axis.set_ylabel("validation loss (nats per token)")
    axis.legend()
    return figure


def main():
    experiment = Experiment("mlp_skip")
    tried = without_skip(experiment, ACTIVATIONS)
    reference = experiment.train({"sas": Spec("sas")})["sas"]
    runs = {activation: best(of_rates)[1] for activation, of_rates in tried.items()}
    rows = [{"feed-forward skip": "yes", "activation": "ReLU", "validation loss": round(reference.loss, 4), "each rate": ""}]
    rows += [{"feed-forward skip": "no", "activation": activation, "validation loss": round(run.loss, 4),
              "each rate": each_rate(tried[activation])} for activation, run in runs.items()]
    found = [verdict.above(f"without the feed-forward's skip SAS is slower, with {activation}", "much slower",
                           run.loss - reference.loss, experiment.error("sas")) for activation, run in runs.items()]
    experiment.finish("SAS without the feed-forward's skip", rows, found, draw(reference, runs))


if __name__ == "__main__":
    main()
