"""Spectra of attention matrices at the start and through training, and what the term of C does to them."""
import statistics

import matplotlib as mpl

import analysis
import style
import verdict
from experiment import Experiment, Spec

SEQUENCES = 1  # the eigenvalues that analyze prints are those of one sequence
BLOCKS = ("sas", "pre_ln")
DRAWN = (0, 2, 4)  # of the five points in training
CAUSAL, ENCODER = 1e-12, 1e-10  # eigenvalues of a triangular matrix are read off; those of another are computed
# An encoder whose A is neither C nor A's only term.
ENCODER_SETTINGS = ("model.kind=bert", "model.sas.query_init.std=0.3", "model.sas.alpha.init=0.7", "model.sas.beta.init=1.3",
                    "model.sas.gamma.init=0.4")
# What a column of the picture shows: block, matrix, numbers, scale.
COLUMNS = {
    "Pre-LN: singular values of A": ("pre_ln", "a", "singular_values", "log"),
    "SAS: singular values of A": ("sas", "a", "singular_values", "log"),
    r"SAS: of $\alpha I + \beta A$": ("sas", "p_without_c", "singular_values", "linear"),
    r"SAS: of $P = \alpha I + \beta A - \gamma C$": ("sas", "p", "singular_values", "linear"),
    "SAS: |eigenvalues| of P": ("sas", "p", "eigenvalue_moduli", "linear"),
}
VALUES = "SAS: of $W_V$, first block"


def points(steps):
    """The steps at which a run of so many is looked at: its start, three between, its end."""
    quarter = steps // 4
    return [0, quarter, 2 * quarter, 3 * quarter, steps]


def gains(layer):
    """[(alpha, beta, gamma)] of each head."""
    return list(zip(*(layer["gains"][f"attention.shape.{name}"] for name in ("alpha", "beta", "gamma"))))


def matched(wanted, got):
    """The largest distance between values that are paired with the nearest one left."""
    left, largest = list(got), 0
    for value in wanted:
        nearest = min(left, key=lambda one: abs(one - value))
        largest = max(largest, abs(nearest - value))
        left.remove(nearest)
    return largest


def eigenvalues(layer, matrix, head):
    both = layer[matrix]["eigenvalues"]
    return [complex(real, imaginary) for real, imaginary in zip(both["real"][head], both["imaginary"][head])]


def causal_error(found):
    """How far the eigenvalues are from alpha + beta*A_ii without C, their sum from that of alpha + beta*A_ii - gamma/(i + 1), and
    the nearest one from alpha + beta - gamma, that of the first row."""
    largest = 0
    for layer in found["layers"]:
        for head, (alpha, beta, gamma) in enumerate(gains(layer)):
            diagonal, of_p = eigenvalues(layer, "a", head), eigenvalues(layer, "p", head)
            without_c = matched([alpha + beta * value for value in diagonal], eigenvalues(layer, "p_without_c", head))
            wanted = sum(alpha + beta * value for value in diagonal) - sum(gamma / (i + 1) for i in range(len(diagonal)))
            first_row = min(abs(value - (alpha + beta - gamma)) for value in of_p)
            largest = max(largest, without_c, abs(sum(of_p) - wanted) / len(diagonal), first_row)
    return largest


def encoder_error(found):
    """How far the eigenvalues are from alpha + beta - gamma, and alpha + beta*lambda_i with all of A but its 1."""
    largest = 0
    for layer in found["layers"]:
        for head, (alpha, beta, gamma) in enumerate(gains(layer)):
            of_a = eigenvalues(layer, "a", head)
            of_a.remove(min(of_a, key=lambda value: abs(value - 1)))
            wanted = [alpha + beta - gamma] + [alpha + beta * value for value in of_a]
            largest = max(largest, matched(wanted, eigenvalues(layer, "p", head)))
    return largest


def rows_of(block, step, found):
    rows = []
    for number, layer in enumerate(found["layers"], 1):
        for head in range(len(layer["a"]["stable_rank"])):
            row = {"block": block, "step": step, "layer": number, "head": head + 1}
            for matrix, name in (("a", "A"), ("p_without_c", "P without C"), ("p", "P")):
                of = layer[matrix]
                row |= {f"{name} largest singular value": of["singular_values"][head][0],
                        f"{name} smallest singular value": of["singular_values"][head][-1],
                        f"{name} largest |eigenvalue|": of["eigenvalue_moduli"][head][0],
                        f"{name} smallest |eigenvalue|": of["eigenvalue_moduli"][head][-1],
                        f"{name} effective rank": of["effective_rank"][head], f"{name} from I": of["distance_from_identity"][head]}
            rows.append(row)
    return rows


def draw(found, steps):
    figure, axes = style.axes(len(DRAWN), len(COLUMNS) + 1, width=2.3, height=2, sharex="col", sharey="col")
    n_layer = len(found["sas", 0]["layers"])
    colours, scale = mpl.colormaps["viridis"], mpl.colors.Normalize(1, n_layer)
    for row, step in zip(axes, (steps[i] for i in DRAWN)):
        for axis, (block, matrix, numbers, kind) in zip(row, COLUMNS.values()):
            for number, layer in enumerate(found[block, step]["layers"], 1):
                for of_head in layer[matrix][numbers]:
                    axis.plot(range(1, len(of_head) + 1), of_head, color=colours(scale(number)), linewidth=0.5)
            axis.set_yscale(kind)
        values = found["sas", step]["layers"][0]["value"]["singular_values"]
        row[-1].plot(range(1, len(values) + 1), values, color="#D55E00")
        row[0].set_ylabel(f"step {step}")
    for axis, title in zip(axes[0], (*COLUMNS, VALUES)):
        axis.set_title(title, fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("index")
    figure.colorbar(mpl.cm.ScalarMappable(scale, colours), ax=axes, label="layer", fraction=0.01,
                    ticks=mpl.ticker.MaxNLocator(integer=True))
    return figure


def verdicts(found, steps, encoder):
    def mean(step, matrix, number):
        return statistics.mean(value for layer in found["sas", step]["layers"] for value in number(layer[matrix]))

    def from_identity(of):
        return of["distance_from_identity"]

    def largest(of):
        return [values[0] for values in of["singular_values"]]

    last = steps[-1]
    with_c, without_c = mean(0, "p", from_identity), mean(0, "p_without_c", from_identity)
    of_causal, of_encoder = max(causal_error(one) for one in found.values()), encoder_error(encoder)
    trained = found["sas", last]["layers"][0]["value"]
    return [
        verdict.holds("SAS begins with P = I, and it is the term of C that makes it so: ||P - I|| / ||I||", "exactly I",
                      f"{with_c:.1e} with C, {without_c:.2f} without", "at most 1e-12 with C, above 0.1 without",
                      with_c <= 1e-12 and without_c > 0.1),
        verdict.holds("causal eigenvalues are alpha + beta*A_ii - gamma/(i + 1)", "theory", f"{of_causal:.1e} at most",
                      f"to {CAUSAL:g} in every layer, head and step: each of those without C, the sum of those with it",
                      of_causal <= CAUSAL),
        verdict.holds("an encoder's eigenvalues are alpha + beta - gamma, and alpha + beta*lambda_i", "theory",
                      f"{of_encoder:.1e} at most", f"to {ENCODER:g} in every layer and head", of_encoder <= ENCODER),
        verdict.reported("the largest singular value of P after training, mean over layers and heads", "no number",
                         f"{mean(last, 'p', largest):.3f} with C, {mean(last, 'p_without_c', largest):.3f} without, "
                         f"{mean(last, 'a', largest):.3f} of A alone", "what C takes away"),
        verdict.reported("W_V of SAS's first block, which begins as I", "no number",
                         f"singular values {trained['singular_values'][-1]:.3f} to {trained['singular_values'][0]:.3f}, "
                         f"||W_V - I|| / ||I|| = {trained['distance_from_identity']:.3f}", "after training"),
    ]


def main():
    experiment = Experiment("spectrum")
    steps = points(experiment.scale["steps"]["short"])
    # Statistics every so many steps give these runs a key of their own, where other figures' runs keep the last checkpoints alone.
    kept = (f"train.save_every={steps[1]}", f"train.keep_checkpoints={len(steps)}", f"train.stats_every={steps[1]}")
    runs = experiment.train({block: Spec(block, kept) for block in BLOCKS})
    rate = experiment.scale["rates"][0]  # the start is that of any
    jobs = {(block, 0): lambda block=block: analysis.at_start(experiment, Spec(block, rate=rate), SEQUENCES) for block in BLOCKS}
    jobs |= {(block, step): lambda block=block, step=step: analysis.of_run(experiment, runs[block], SEQUENCES, step)
             for block in BLOCKS for step in steps[1:]}
    jobs["encoder"] = lambda: analysis.at_start(experiment, Spec("sas", ENCODER_SETTINGS, rate=rate), SEQUENCES)
    found = dict(zip(jobs, experiment.side_by_side(lambda job: job(), jobs.values())))
    encoder = found.pop("encoder")
    rows = [row for (block, step), one in found.items() for row in rows_of(block, step, one)]
    experiment.finish("Spectra of attention matrices", rows, verdicts(found, steps, encoder), draw(found, steps),
                      note="One sequence of the standard library's argparse.py; a line for each head.")


if __name__ == "__main__":
    main()
