"""`skipless analyze` for the figures: a model at its start and a run at a checkpoint, on the same text."""
import json
import pathlib
import sysconfig

TEXT = pathlib.Path(sysconfig.get_paths()["stdlib"]) / "argparse.py"  # Python, as what the models are trained on


def at_start(experiment, spec, sequences):
    """Of the model with which the training of a Spec begins, whose rate is known."""
    return _analyze(experiment, experiment.overrides(spec), sequences)


def of_run(experiment, run, sequences, step="last"):
    return _analyze(experiment, [run.folder, "--checkpoint", step], sequences)


def _analyze(experiment, model, sequences):
    return json.loads(experiment.ask(["analyze", *model, "--text", TEXT, "--sequences", sequences]))
