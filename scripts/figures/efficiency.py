"""Table 1 and the paper's 15 %: parameters, FLOPs, throughput of the training step and energy of six blocks."""
import json
import re
import statistics
import subprocess
import time

import bench
import style
import verdict
from energy import find_meter
from experiment import SKIPLESS, Experiment, block_settings, environment

PAPER_SIZES = {"GPT 18 x 768": "configs/codeparrot.yaml", "BERT 16 x 768": "configs/bert_crammed.yaml"}
PAPER_MILLIONS = {("GPT 18 x 768", "pre_ln"): 167, ("GPT 18 x 768", "sas_p"): 146, ("BERT 16 x 768", "pre_ln"): 120,
                  ("BERT 16 x 768", "sas_p"): 101}
EQ4 = "model.v_skipinit.form=eq4"
PAPER_SPEED = 1.155  # SAS-P over Pre-LN: 1.15 and 1.16
ENERGY_SECONDS = 5  # of each block's power


def info(experiment, config, settings, block):
    """What `skipless info` says: parameters (as the authors count, where that is told) and training FLOPs per token."""
    text = experiment.ask(["info", config, *settings, *block_settings(block)])
    counted = re.search(r"^in the authors' counting +(\d+)", text, re.M) or re.search(r"^trained parameters +(\d+)", text, re.M)
    flops = re.search(r"^FLOPs per token, training +([\d.]+) M", text, re.M)
    return {"parameters": int(counted[1]), "MFLOPs": float(flops[1])}


def measure(experiment, recipe, point):
    """{block: what `skipless bench` says of it} at a point, which is some arguments."""
    return bench.measure(experiment, [recipe["config"], *recipe["settings"], *point, "--device", recipe["device"]], recipe["rounds"], 1)


def joules_per_token(command, meter):
    """The mean power over rounds of one block, which hold its step and the step's matrix products alone, times the step's time."""
    with subprocess.Popen([SKIPLESS, "--log-level", "warning", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env=environment()) as process:
        def one_round():
            print(file=process.stdin, flush=True)
            answer = process.stdout.readline()
            if not answer:
                raise SystemExit(f"efficiency: skipless {' '.join(command)} ended without an answer")
            return json.loads(answer)[0]

        one_round()  # after which everything is built
        begin, before, rounds = time.monotonic(), meter.joules(), []
        while time.monotonic() - begin < ENERGY_SECONDS:
            rounds.append(one_round())
        watts = (meter.joules() - before) / (time.monotonic() - begin)
    return watts * statistics.median(one["step_ms"] for one in rounds) / 1000 / rounds[0]["tokens_per_step"]


def energies(experiment, recipe, point):
    """({block: joules per token}, the meter's name), or ({}, why there are none)."""
    meter, why = find_meter(recipe["device"])
    if meter is None:
        return {}, why
    try:
        found = {}
        for block in style.BLOCKS:
            command = ["bench", recipe["config"], *recipe["settings"], *point, "--device", recipe["device"], "--blocks", bench.name(block),
                       "--steps", "1", "--on-request"]
            found[block] = bench.kept(experiment, command, lambda command=command: joules_per_token(command, meter))
        return found, meter.name
    finally:
        meter.close()


def ratios(found, block):
    """Throughput of a block over Pre-LN's, round by round."""
    return [first / other for first, other in zip(found["pre_ln"]["step_ms"], found[block]["step_ms"])]


def draw(by_context, by_batch):
    figure, axes = style.axes(1, 2, sharey=True)
    for axis, points, name in zip(axes, (by_context, by_batch), ("tokens in a sequence", "sequences in a step")):
        for block in style.BLOCKS:
            spans = [ratios(points[x], block) for x in points]
            middle = [points[x][block]["speed_over_pre_ln"] for x in points]
            below = [value - min(span) for value, span in zip(middle, spans)]
            above = [max(span) - value for value, span in zip(middle, spans)]
            axis.errorbar(list(points), middle, (below, above), marker="o", markersize=3, capsize=2, **style.block(block))
        style.paper_value(axis, PAPER_SPEED, "SAS-P (paper)")
        axis.set_xscale("log", base=2)
        axis.set_xticks(list(points), list(points))
        axis.set_xlabel(name)
    axes[0].set_ylabel("throughput over Pre-LN")
    axes[0].legend()
    return figure


def size_verdicts(sizes):
    found = [verdict.near(f"parameters of {style.name_of(block)}, {size}, in millions", f"{value} M",
                          sizes[size][block]["parameters"] / 1e6, value, 0.5, ".1f") for (size, block), value in PAPER_MILLIONS.items()]
    fewer = {size: 100 * (1 - of["sas_p"]["parameters"] / of["pre_ln"]["parameters"]) for size, of in sizes.items()}
    found.append(verdict.holds("SAS-P has 15 % fewer parameters, BERT 16 x 768", "15 % (arXiv v1), 16 % (ICLR)",
                               f"{fewer['BERT 16 x 768']:.1f} %", "from 14.5 to 16.5 %", 14.5 <= fewer["BERT 16 x 768"] < 16.5))
    found.append(verdict.near("per cent of parameters that SAS-P saves, GPT 18 x 768", "146 M for 167 M, 12.6 %", fewer["GPT 18 x 768"],
                              100 * (1 - 146 / 167), 0.5, ".1f"))
    return found


def speed_verdicts(points, reference):
    speed = {block: row["speed_over_pre_ln"] for block, row in points[reference].items()}
    all_of_sas_p = [found["sas_p"]["speed_over_pre_ln"] for found in points.values()]
    others = ", ".join(f"{style.name_of(block)} {value:.2f}" for block, value in speed.items() if block not in ("pre_ln", "sas_p"))
    return [
        verdict.near(f"throughput of SAS-P over Pre-LN, sequences of {reference[0]} tokens", "1.15 to 1.16 on its card", speed["sas_p"],
                     PAPER_SPEED, bench.SPEED_TOLERANCE),
        verdict.holds("SAS-P is faster than Pre-LN at every length and batch", "faster",
                      f"{min(all_of_sas_p):.2f} to {max(all_of_sas_p):.2f} times", f"above 1 at all {len(points)} points",
                      min(all_of_sas_p) > 1),
        verdict.reported("throughput of the other blocks over Pre-LN", "BERT: parallel 1.05, V-SkipInit 0.95, SAS 1.09, no norm 1.20",
                         others, "another model"),
    ]


def main():
    experiment = Experiment("efficiency")
    recipe = experiment.scale["bench"]
    sizes = {size: {block: info(experiment, config, [EQ4], block) for block in style.BLOCKS} for size, config in PAPER_SIZES.items()}
    here = {block: info(experiment, recipe["config"], recipe["settings"], block) for block in style.BLOCKS}
    points = {}  # (tokens in a sequence, sequences) -> what measure() gives
    for context in recipe["contexts"]:
        found = measure(experiment, recipe, ["--context", str(context)])
        points[context, found["pre_ln"]["tokens_per_step"] // context] = found
    for batch in recipe["batches"]:
        found = measure(experiment, recipe, [f"train.batch_size={batch}", f"train.micro_batch={batch}"])
        points[found["pre_ln"]["tokens_per_step"] // batch, batch] = found
    joules, meter = energies(experiment, recipe, ["--context", str(recipe["contexts"][0])])
    reference = next(iter(points))

    def row(size, block, of, pre_ln, **measured):
        return {"model": size, "block": block, "parameters": of["parameters"],
                "minus Pre-LN (%)": round(100 * (of["parameters"] / pre_ln["parameters"] - 1), 1),
                "training MFLOPs per token": of["MFLOPs"],
                "tokens in a sequence": "", "sequences": "", "tokens/s": "", "over Pre-LN": "", "share of its matrix products": "",
                "peak MiB": "", "joules per token": ""} | measured

    rows = [row(size, block, of, blocks["pre_ln"]) for size, blocks in sizes.items() for block, of in blocks.items()]
    for (context, sequences), found in points.items():
        for block, of in found.items():
            rows.append(row("measured", block, here[block], here["pre_ln"], **{
                "tokens in a sequence": context, "sequences": sequences, "tokens/s": round(of["tokens_per_second"]),
                "over Pre-LN": round(of["speed_over_pre_ln"], 3), "share of its matrix products": round(of["share_of_floor"], 3),
                "peak MiB": round(of["peak_bytes"] / 2**20),
                "joules per token": f"{joules[block]:.3g}" if block in joules and (context, sequences) == reference else "",
            }))
    found = size_verdicts(sizes) + speed_verdicts(points, reference)
    if joules:
        ratio = joules["sas_p"] / joules["pre_ln"]
        found.append(verdict.reported("joules per token, SAS-P over Pre-LN", "does not say", f"{ratio:.2f}", meter))
    else:
        found.append(verdict.reported("joules per token", "does not say", "not readable", meter))
    own_context = list(points)[-1][0]
    by_context = {context: points[context, n] for context, n in sorted(list(points)[:len(recipe["contexts"])])}
    by_batch = {n: found for (context, n), found in sorted(points.items()) if context == own_context}
    experiment.finish("Parameters, FLOPs, throughput and energy", rows, found, draw(by_context, by_batch),
                      f"Parameters of a GPT in the authors' counting. Measured on {recipe['device']}; processor: {bench.processor()}. "
                      f"Bars: the smallest and largest ratio of {recipe['rounds']} rounds.")


if __name__ == "__main__":
    main()
