"""Rank collapse (Sections 2 and 4.1): ranks and similarity of tokens over depth, at the start and after training."""
import dataclasses
import statistics

import analysis
import style
import verdict
from experiment import Experiment, Spec

SEQUENCES = 2
COLLAPSING = "Pre-LN without attention skip"
IDENTITY = ("v_skipinit", "sas", "sas_p")  # P = I at the start
MODELS = {"pre_ln": Spec("pre_ln", length="main"), COLLAPSING: Spec("pre_ln", ("model.pre_ln.alpha_sa.init=0",))} | {
    block: Spec(block, length="main") for block in IDENTITY}
COLLAPSED = 0.99  # similarity of tokens, of at most 1
STAGES = ("start", "trained")
RANKS = ("stable_rank", "effective_rank")
PANELS = {"token_similarity": "similarity of tokens", "effective_rank": "rank of the tokens", "A effective_rank": "rank of A",
          "P effective_rank": "rank of P", "product of P effective_rank": "rank of the product of P"}


def line_of(model):
    if model == COLLAPSING:
        return style.setting(4, COLLAPSING)
    return style.block(model)


def depths(stage, model, found):
    """A row for the embeddings (depth 0) and for the output of each block, of what `skipless analyze` found."""
    rows = []
    for depth, state in enumerate(found["states"]):
        row = {"stage": stage, "model": style.name_of(model), "depth": depth, "token_similarity": state["token_similarity"]}
        row |= {rank: state[rank] for rank in RANKS}
        layer = found["layers"][depth - 1] if depth else None
        for rank in RANKS:
            for matrix in ("a", "p"):
                row[f"{matrix.upper()} {rank}"] = statistics.mean(layer[matrix][rank]) if layer else None
                row[f"product of {matrix.upper()} {rank}"] = layer["products"][matrix][rank] if layer else None
        row["P from I"] = max(layer["p"]["distance_from_identity"]) if layer else None
        rows.append(row)
    return rows


def draw(found, tokens):
    figure, axes = style.axes(len(STAGES), len(PANELS), width=2.6, height=2.5, sharex=True, sharey="col")
    for row, stage in zip(axes, STAGES):
        for axis, (key, title) in zip(row, PANELS.items()):
            for model in MODELS:
                if (stage, model) in found:
                    points = [(one["depth"], one[key]) for one in found[stage, model] if one[key] is not None]
                    axis.plot(*zip(*points), **line_of(model))
            axis.set_title(f"{title}, {stage}")
            if key != "token_similarity":
                axis.set_yscale("log", base=2)
                axis.yaxis.set_major_formatter("{x:.0f}")
                axis.set_ylim(0.9, 1.2 * tokens)
        row[0].set_ylabel("mean cosine of two tokens")
    for axis in axes[-1]:
        axis.set_xlabel("layer")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=len(MODELS))
    return figure


def verdicts(found):
    def similarity(stage, model):
        return found[stage, model][-1]["token_similarity"]

    def names(models):
        return ", ".join(style.name_of(model) for model in models)

    before = similarity("start", COLLAPSING)
    with_skip = similarity("start", "pre_ln")
    distance = max(row["P from I"] for block in IDENTITY for row in found["start", block][1:])
    kept = {block: similarity("start", block) for block in IDENTITY}
    trained = {model: similarity("trained", model) for model in MODELS if ("trained", model) in found}
    return [
        verdict.holds("without its attention skip Pre-LN collapses at the start: similarity of tokens after the last layer",
                      "goes to 1 with depth", f"{before:.4f}", f"above {COLLAPSED}", before > COLLAPSED),
        verdict.holds("with it, it does not", "does not", f"{with_skip:.4f}", f"below {COLLAPSED}", with_skip < COLLAPSED),
        verdict.holds(f"{names(IDENTITY)} begin with P = I in every layer and head: ||P - I|| / ||I||", "exactly",
                      f"{distance:.1e} at most", "at most 1e-12", distance <= 1e-12),
        verdict.holds(f"{names(IDENTITY)} do not collapse at the start: similarity of tokens", "do not",
                      ", ".join(f"{value:.4f}" for value in kept.values()), f"each below {COLLAPSED}", max(kept.values()) < COLLAPSED),
        verdict.reported("similarity of tokens after training", "no number",
                         ", ".join(f"{style.name_of(model)} {value:.3f}" for model, value in trained.items()),
                         f"{COLLAPSING} has been trained for the length of an ablation alone"),
    ]


def main():
    experiment = Experiment("rank_collapse")
    runs = experiment.train(MODELS)
    rate = experiment.scale["rates"][0]  # the start is that of any
    jobs = {("start", model): lambda spec=spec: analysis.at_start(experiment, dataclasses.replace(spec, rate=rate), SEQUENCES)
            for model, spec in MODELS.items()}
    jobs |= {("trained", model): lambda run=run: analysis.of_run(experiment, run, SEQUENCES)
             for model, run in runs.items() if not run.diverged}
    found = {(stage, model): depths(stage, model, one)
             for (stage, model), one in zip(jobs, experiment.side_by_side(lambda job: job(), jobs.values()))}
    experiment.finish("Rank collapse", [row for rows in found.values() for row in rows], verdicts(found),
                      draw(found, experiment.setting("model.context_length")),
                      note="Two sequences of the standard library's argparse.py. Ranks of A and P are means over heads.")


if __name__ == "__main__":
    main()
