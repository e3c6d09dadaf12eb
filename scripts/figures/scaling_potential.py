"""A scaling law of each block, and the potential that follows from it by the mission's recursion."""
import pathlib

import numpy as np
import yaml

import style
import verdict
from experiment import Experiment, Spec
from potential import Growth, potential
from scaling_law import fit, resampled

BLOCKS = ("pre_ln", "sas_p")
SETTINGS = yaml.safe_load(pathlib.Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


def train(experiment):
    """{block: [(parameters, tokens, loss)]} over the grid of widths and steps."""
    law = experiment.scale["law"]
    specs = {
        (block, width, steps): Spec(block, (
            f"model.n_layer={law['layers']}", f"model.d_model={width}", "model.d_ff=null",
            f"model.init_std={0.02 * (768 / width) ** 0.5:.4f}",  # matrices act as strongly as at the paper's width
            f"train.steps={steps}",
        )) for block in BLOCKS for width in law["widths"] for steps in law["steps"]
    }
    runs = experiment.train(specs)
    return {block: [(run.parameters, run.tokens, run.loss) for (of, _, _), run in runs.items() if of == block]
            for block in BLOCKS}


def token_efficiency(law, reference, n, d):
    """Tokens that the reference needs for the loss that this law has after d tokens, over d."""
    return reference.tokens_to(law.loss(n, d), n) / d


class Fitted:
    """A block's runs, its law, and the laws of resampled runs."""

    def __init__(self, points):
        self.n, self.d, self.losses = (np.array(column, dtype=float) for column in zip(*points))
        self.law = fit(self.n, self.d, self.losses)
        self.draws = resampled(self.n, self.d, self.losses, SETTINGS["draws"])

    def interval(self, number):
        """95 % of `number` over the draws, of those for which it is finite."""
        values = np.array([number(law) for law in self.draws])
        values = values[np.isfinite(values)]
        return tuple(np.percentile(values, (2.5, 97.5))) if len(values) else (np.nan, np.nan)


def draw(fitted, curves):
    figure, (left, right) = style.axes(1, 2)
    for block, of in fitted.items():
        line = style.block(block)
        for index, n in enumerate(sorted(set(of.n))):
            here = of.n == n
            left.plot(of.d[here], of.losses[here], "o", color=line["color"], markersize=4)
            d = np.geomspace(of.d.min(), of.d.max(), 50)
            left.plot(d, of.law.loss(n, d), **line | {"label": line["label"] if index == 0 else None})
    left.set_xscale("log")
    left.set_xlabel("tokens d")
    left.set_ylabel("validation loss (nats per token)")
    left.set_title("runs (points) and E + A/n^a + B/d^b")
    left.legend()
    for block, (values, low, high) in curves.items():
        line = style.block(block)
        right.plot(range(1, len(values) + 1), values, **line)
        right.fill_between(range(1, len(values) + 1), low, high, color=line["color"], alpha=0.15, linewidth=0)
    right.set_xscale("log")
    right.set_xlabel("steps of (dn, dd) along the diagonal")
    right.set_ylabel("scaling potential P")
    right.legend()
    return figure


def diagonal(growth, e_theta):
    """P after 1, 2, ... steps."""
    places = [(growth.n_0 + k * growth.dn, growth.d_0 + k * growth.dd) for k in range(SETTINGS["steps"])]
    return [potential(n, d, growth.dn, growth.dd, growth.n_0, growth.d_0, lambda n, d: growth.ratio(n, d, e_theta))
            for n, d in places]


def main():
    experiment = Experiment("scaling_potential")
    fitted = {block: Fitted(points) for block, points in train(experiment).items()}
    reference = fitted[SETTINGS["reference"]]
    n_0, d_0, n_theta = reference.n.min(), reference.d.min(), reference.n.max()
    growth = Growth(n_0, d_0, SETTINGS["dn"] * n_0, SETTINGS["dd"] * d_0, n_theta, SETTINGS["p"], SETTINGS["q"])
    middle = np.exp(np.log(reference.n).mean()), np.exp(np.log(reference.d).mean())

    rows, curves, found = [], {}, []
    for block, of in fitted.items():
        e_theta = token_efficiency(of.law, reference.law, *middle)
        low, high = of.interval(lambda law: token_efficiency(law, reference.law, *middle))
        curves[block] = tuple(diagonal(growth, e) for e in (e_theta, low, high))
        row = {"block": block, "runs": len(of.losses)}
        for name in ("E", "A", "a", "B", "b"):
            ends = of.interval(lambda law, name=name: getattr(law, name))
            row |= {name: f"{getattr(of.law, name):.4g}", f"{name} 95 %": f"{ends[0]:.4g} to {ends[1]:.4g}"}
        residual = np.abs(of.law.loss(of.n, of.d) - of.losses).max()
        last, half = curves[block][0][-1], curves[block][0][len(curves[block][0]) // 2 - 1]
        rows.append(row | {"largest residual": f"{residual:.4f}", "e_theta": f"{e_theta:.4g}",
                           "e_theta 95 %": f"{low:.4g} to {high:.4g}", "P at the end": f"{last:.6f}", "P half way": f"{half:.6f}"})
        found += [
            verdict.holds(f"the law fits {style.name_of(block)}'s runs", "no figure: beyond the paper",
                          f"largest residual {residual:.4f}", "below 0.05 nats", residual < 0.05),
            verdict.holds(f"P saturates for {style.name_of(block)}", "no figure: the mission's recursion",
                          f"P after half of the steps is {half / last:.4f} of that after all", "above 0.99", half / last > 0.99),
        ]
    experiment.finish("Scaling law and scaling potential", rows, found, draw(fitted, curves))


if __name__ == "__main__":
    main()
