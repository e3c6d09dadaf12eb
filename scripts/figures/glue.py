"""Tables 1 and 2: the masked language models of bert_runtime fine-tuned on GLUE, beside untrained ones of the same shape."""
import hashlib
import itertools
import json
import math
import os
import pathlib
import shutil
import statistics

import style
import verdict
from bert_runtime import by_block, pretrain, speeds
from experiment import ROOT, Experiment
from mistakes import refuse

FOLDERS = {"mnli": "MNLI", "sst2": "SST-2", "stsb": "STS-B", "rte": "RTE", "qnli": "QNLI", "qqp": "QQP", "mrpc": "MRPC",
           "cola": "CoLA"}
NUMBERS = {"MNLI-m": ("mnli", "accuracy_m"), "MNLI-mm": ("mnli", "accuracy_mm"), "SST-2": ("sst2", "accuracy"),
           "STS-B": ("stsb", "Pearson"), "RTE": ("rte", "accuracy"), "QNLI": ("qnli", "accuracy"), "QQP": ("qqp", "F1"),
           "MRPC": ("mrpc", "F1"), "CoLA": ("cola", "MCC")}
# Table 2 in the order of NUMBERS; Table 1: GLUE, ± over seeds, parameters in millions, speed over Pre-LN.
PAPER = {
    "pre_ln": ((81.2, 81.6, 89.9, 87.6, 56.3, 88.9, 87.1, 88.3, 49.4), 78.9, 0.7, 120, 1.00),
    "parallel": ((80.8, 80.9, 91.0, 87.5, 54.9, 88.0, 87.0, 87.3, 49.0), 78.5, 0.6, 120, 1.05),
    "v_skipinit": ((79.7, 80.4, 90.4, 85.1, 54.4, 87.0, 86.2, 87.9, 51.5), 78.0, 0.3, 120, 0.95),
    "sas": ((79.7, 80.1, 90.3, 84.7, 58.4, 87.5, 86.8, 87.5, 50.6), 78.4, 0.8, 101, 1.09),
    "sas_p": ((79.5, 79.4, 90.8, 85.2, 59.1, 87.5, 86.5, 86.0, 50.5), 78.3, 0.4, 101, 1.16),
}
UNTRAINED = ("pre_ln", "sas_p")
NONE = "–"  # not defined, or not there


def default_folder():
    shared = pathlib.Path(os.environ.get("SKIPLESS_SHARED", ROOT.parent / "shared")) / "data/glue"
    return shared if shared.is_dir() else ROOT / "data/glue"


def tasks_in(glue, wanted):
    """Those of `wanted` that the folder has, which are some; the others are told."""
    wanted = list(FOLDERS) if wanted == "all" else wanted
    there = [task for task in wanted if (glue / FOLDERS[task] / "train.tsv").is_file()]
    if not there:
        refuse(f"glue: {glue} has none of {', '.join(FOLDERS[task] for task in wanted)}; scripts/get_glue.sh FOLDER fetches them, "
               "--glue FOLDER names their folder")
    missing = [FOLDERS[task] for task in wanted if task not in there]
    if missing:
        print(f"  {glue} has no {', '.join(missing)}: scripts/get_glue.sh fetches them", flush=True)
    return there


def first_rows(glue, tasks, rows, place):
    """A folder like `glue`, whose training sets are their first `rows` rows."""
    for task in tasks:
        source, target = glue / FOLDERS[task], place / FOLDERS[task]
        target.mkdir(parents=True, exist_ok=True)
        for file in source.glob("dev*.tsv"):
            shutil.copyfile(file, target / file.name)
        names = 0 if task == "cola" else 1  # lines with the columns' names
        with open(source / "train.tsv", "rb") as lines:
            (target / "train.tsv").write_bytes(b"".join(itertools.islice(lines, names + rows)))
    return place


def finetune(experiment, glue, tasks, models):
    """{model: {task: its part of results.json}} of {model: (Run, options of `skipless finetune`)}."""
    recipe = experiment.scale["glue"]
    place = experiment.folder / "glue"
    if recipe["rows"] is not None:
        glue = first_rows(glue, tasks, recipe["rows"], place / f"first_{recipe['rows']}")

    def one(item):
        name, (run, options) = item
        arguments = [*options, *recipe["settings"]]
        # What is trained from and how; tasks and seeds are added to what is there.
        key = hashlib.sha256(json.dumps([run.folder.name, run.tokens, run.loss, arguments, recipe["rows"]]).encode()).hexdigest()
        out = place / f"{name}-{key[:16]}"
        log = experiment.logs / f"glue_{out.name}.log"
        new = not (out / "results.json").is_file()
        code = experiment.call(["finetune", run.folder, "--task", ",".join(tasks), "--seeds", str(recipe["seeds"]), "--glue", glue,
                                "--out", out, *arguments], log)
        if code != 0:
            last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-5:]
            raise SystemExit("\n".join([f"{log}: fine-tuning ended with code {code}:", *last]))
        if new:
            print(f"  {name}: fine-tuned", flush=True)
        return json.loads((out / "results.json").read_text(encoding="utf-8"))["tasks"]

    found = experiment.side_by_side(one, models.items(), experiment.arguments.jobs or recipe["jobs"])
    return dict(zip(models, found))


def common(results):
    """The paper's numbers that every model has."""
    return [heading for heading, (task, _) in NUMBERS.items() if all(task in tasks for tasks in results.values())]


def scores(tasks, heading):
    """One of the paper's numbers after the last epoch, in per cent, of each seed; NaN where it is not defined."""
    task, score = NUMBERS[heading]
    return [math.nan if value is None else 100 * value for value in tasks[task]["last"][score]["seeds"]]


def means(tasks, headings):
    """Of each seed, the mean of these numbers."""
    return [statistics.mean(values) for values in zip(*(scores(tasks, heading) for heading in headings))]


def cell(values):
    mean = statistics.mean(values)
    if math.isnan(mean):
        return NONE
    return f"{mean:.1f} ± {statistics.stdev(values):.1f}" if len(values) > 1 else f"{mean:.1f}"


def name_of_mean(headings):
    return "GLUE" if len(headings) == len(NUMBERS) else f"mean of {', '.join(headings)}"


def table(results, headings, parameters, speed):
    """Rows of the models, and below them those of the paper for the same numbers."""
    column = name_of_mean(headings)

    def row(model, mean, size, ratio, cells):
        return {"model": model, column: mean, "parameters (M)": size, "speed over Pre-LN": ratio} | dict(zip(headings, cells))

    commonest = [next(iter(results.values()))[task]["commonest_label"].get(score) for task, score in map(NUMBERS.get, headings)]
    rows = [row("commonest label", NONE, NONE, NONE, [NONE if value is None else f"{100 * value:.1f}" for value in commonest])]
    for model, tasks in results.items():
        block = model.removesuffix("_untrained")
        rows.append(row(style.name_of(block) + (", untrained" if model != block else ""), cell(means(tasks, headings)),
                        f"{parameters[block] / 1e6:.2f}", f"{speed[block]:.2f}" if model == block else NONE,
                        [cell(scores(tasks, heading)) for heading in headings]))
    for block, (numbers, average, deviation, size, ratio) in PAPER.items():
        values = [numbers[list(NUMBERS).index(heading)] for heading in headings]
        mean = f"{average} ± {deviation}" if len(headings) == len(NUMBERS) else f"{statistics.mean(values):.1f}"
        rows.append(row(f"{style.name_of(block)} (paper)", mean, size, f"{ratio:.2f}", values))
    return rows


def level(column, block, difference, error):
    """The verdict on a block's mean beside Pre-LN's."""
    claim = f"{column}: {style.name_of(block)} is level with Pre-LN"
    paper = "GLUE " + " against ".join("{} ± {}".format(*PAPER[of][1:3]) for of in (block, "pre_ln"))
    if math.isnan(difference):
        return verdict.reported(claim, paper, "not defined", "a score of one of them is no number")
    return verdict.equal(claim, paper, difference, error, "+.2f")


def verdicts(results, headings, seeds):
    mean = {model: statistics.mean(means(tasks, headings)) for model, tasks in results.items()}
    variances = [statistics.variance(values) for values in (means(tasks, headings) for tasks in results.values())
                 if not math.isnan(sum(values))]
    error = math.sqrt(2 * statistics.mean(variances) / seeds) if variances else math.nan
    column, found = name_of_mean(headings), []
    for block, (_, average, deviation, _, _) in PAPER.items():
        if block != "pre_ln" and block in mean and "pre_ln" in mean:
            found.append(level(column, block, mean[block] - mean["pre_ln"], error))
        if block in mean and len(headings) == len(NUMBERS):
            found.append(verdict.near(f"GLUE of {style.name_of(block)}", f"{average} ± {deviation}", mean[block], average,
                                      2 * deviation, ".1f"))
    for model in results:
        block = model.removesuffix("_untrained")
        if model != block and block in mean:
            found.append(verdict.reported(f"{column}: what pre-training brings to {style.name_of(block)}", "does not say",
                                          f"{mean[block] - mean[model]:+.2f} ± {error:.2f}", "beside an untrained model"))
    if "sas_p_nonorm" in results:
        ended = [run["diverged"] is not None for task in results["sas_p_nonorm"].values() for run in task["runs"]]
        found.append(verdict.reported("SAS-P without norm in fine-tuning", "unstable, no score", f"{sum(ended)} of {len(ended)} diverged",
                                      "at another scale"))
    return found


def main():
    experiment = Experiment("glue", [("--glue", {"type": pathlib.Path, "default": default_folder(), "help": "folder of the tasks"})])
    glue = experiment.arguments.glue
    tasks = tasks_in(glue, experiment.scale["glue"]["tasks"])
    runs = by_block(pretrain(experiment))
    models = {block: (seeds[0], []) for block, seeds in runs.items() if not seeds[0].diverged}
    models |= {f"{block}_untrained": (runs[block][0], ["--untrained"]) for block in UNTRAINED if block in models}
    results = finetune(experiment, glue, tasks, models)
    headings = common(results)
    parameters = {block: seeds[0].parameters for block, seeds in runs.items()}
    left_out = [heading for heading in NUMBERS if heading not in headings]
    note = "In per cent, after the last epoch; ± is the standard deviation over the seeds of fine-tuning; one pre-trained model each."
    if left_out:
        note += f" The paper's average has {', '.join(left_out)} too."
    experiment.finish("GLUE: scores, parameters and speed", table(results, headings, parameters, speeds(experiment)),
                      verdicts(results, headings, experiment.scale["glue"]["seeds"]), note=note)


if __name__ == "__main__":
    main()
