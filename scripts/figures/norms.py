"""Fig. 23: Pre-LN, SAS and SAS-P with and without norms."""
import style
import verdict
from experiment import Experiment, Spec

BLOCKS = ("pre_ln", "sas", "sas_p")
PAPER = {("pre_ln", "rms_norm"): 1.155, ("sas_p", "none"): 1.245}  # validation loss at the paper's scale
A_LITTLE = 0.2  # nats, about twice what the paper has between these


def loses_a_little(lost, error):
    """The verdict of SAS-P's loss without norms minus that with them."""
    return verdict.a_little_above("without norms SAS-P loses a little", "1.245 against 1.155 (Pre-LN)", lost, error, A_LITTLE)


def spec(block, norm, rate):
    if norm == "rms_norm":
        return Spec(block)
    return Spec("sas_p_nonorm") if block == "sas_p" else Spec(block, ("model.norm=none",), rate=rate)


def draw(experiment, runs):
    figure, axes = style.axes(1, len(BLOCKS), width=4.2, sharey=True)
    for axis, block in zip(axes, BLOCKS):
        without = style.block("sas_p_nonorm") if block == "sas_p" else style.setting(0, "")
        style.curve(axis, runs[block, "rms_norm"].curve(), **style.block(block) | {"label": "RMSNorm"})
        label = "none (diverged)" if runs[block, "none"].diverged else "none"
        style.curve(axis, runs[block, "none"].curve(), **without | {"label": label})
        if experiment.scale_name == "paper":
            for (of, norm), value in PAPER.items():
                if of == block:
                    style.paper_value(axis, value, f"paper, {norm}")
        axis.set_title(style.name_of(block))
        axis.set_xlabel("optimizer steps")
        axis.legend(title="norm")
    axes[0].set_ylabel("validation loss (nats per token)")
    return figure


def main():
    experiment = Experiment("norms")
    # Blocks without norms train at the rate of SAS-P without norm.
    rate = experiment.rates({"sas_p_nonorm"})["sas_p_nonorm"]
    runs = experiment.train({(block, norm): spec(block, norm, rate) for block in BLOCKS for norm in ("rms_norm", "none")})
    lost = {block: runs[block, "none"].loss - runs[block, "rms_norm"].loss for block in BLOCKS}
    rows = [{"block": block, "norm": norm, "validation loss": round(run.loss, 4), "parameters": run.parameters,
             "tokens/s": round(run.speed)} for (block, norm), run in runs.items()]
    found = [loses_a_little(lost["sas_p"], experiment.error("sas_p"))]
    found += [verdict.reported(f"without norms {style.name_of(block)} loses", "not in it",
                               f"{lost[block]:+.4f} ± {experiment.error(block):.4f}", "one rate, that of SAS-P without norm")
              for block in ("pre_ln", "sas")]
    if experiment.scale_name == "paper":
        found += [verdict.near(f"loss of {style.name_of(block)} with norm {norm}", str(value), runs[block, norm].loss, value, 0.02)
                  for (block, norm), value in PAPER.items()]
    experiment.finish("With and without norms", rows, found, draw(experiment, runs))


if __name__ == "__main__":
    main()
