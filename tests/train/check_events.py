#!/usr/bin/env python3
"""Reads a run's event files with the tensorboard package: after a kill and a resume, no curve folds back.

    .venv/bin/python tests/train/check_events.py build/release/skipless

A small run is killed between two checkpoints and continued. What tensorboard then shows, to one who opens the run now
and to one who watched it all the time, must be every step once, with the numbers of metrics.jsonl.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = 60
KILL_AFTER = 25  # behind the checkpoint of step 20


def last_step(metrics):
    lines = metrics.read_text().splitlines() if metrics.exists() else []
    try:
        return json.loads(lines[-1])["step"] if lines else 0
    except json.JSONDecodeError:  # a line that is being written
        return json.loads(lines[-2])["step"] if len(lines) > 1 else 0


def accumulator(run):
    return EventAccumulator(str(run), size_guidance={"tensors": 0})


def curves(events):
    """{tag: [(step, value)]}; scalars become tensors on their way through tensorboard."""
    events.Reload()
    return {tag: [(event.step, event.tensor_proto.float_val[0]) for event in events.Tensors(tag)]
            for tag in events.Tags()["tensors"]}


def expected_curves(metrics):
    wanted = {}
    for line in map(json.loads, metrics.read_text().splitlines()):
        kind, step = line.pop("kind"), line.pop("step")
        if kind == "start":
            continue
        numbers = {}
        for key, value in line.items():
            if isinstance(value, dict):
                numbers.update({f"{key}/{inner}": number for inner, number in value.items()})
            else:
                numbers[f"{kind}/{key}"] = value
        for tag, value in numbers.items():
            values = {f"{tag}[{i}]": v for i, v in enumerate(value)} if isinstance(value, list) else {tag: value}
            for name, number in values.items():
                if isinstance(number, (int, float)):
                    wanted.setdefault(name, []).append((step, number))
    return wanted


def same(shown, wanted):
    return (shown.keys() == wanted.keys() and
            all([step for step, _ in shown[tag]] == [step for step, _ in wanted[tag]] and
                all(abs(a - b) <= 1e-6 * abs(b) for (_, a), (_, b) in zip(shown[tag], wanted[tag]))
                for tag in wanted))


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "text").mkdir()
        for i in range(12):
            (place / "text" / f"{i}.txt").write_text(f"line {i} of a text, and {i * i} more of it\n" * 60)
        quiet = {"cwd": place, "stdout": subprocess.DEVNULL, "check": True}
        subprocess.run([program, "prepare", "text", "--tokenizer", str(ROOT / "data/tokenizers/python_4096"), "--out",
                        "data", "--validation-fraction", "0.3"], **quiet)
        (place / "run.yaml").write_text(f"""
model: {{block: sas, n_layer: 2, d_model: 16, n_head: 2, vocab_size: 4096, context_length: 16}}
data: {{folder: data}}
train: {{steps: {STEPS}, batch_size: 4, save_every: 10, eval_every: 5, eval_tokens: 256, log_every: 1, stats_every: 4,
         warmup_steps: 10, threads: 1}}
""")
        command = [program, "train", "run.yaml", "--run", "run"]
        run = place / "run"
        with subprocess.Popen(command, cwd=place, stdout=subprocess.DEVNULL) as process:
            while last_step(run / "metrics.jsonl") < KILL_AFTER and process.poll() is None:
                time.sleep(0.001)
            process.kill()
        watcher = accumulator(run)
        before = curves(watcher)
        subprocess.run(command, **quiet)

        wanted = expected_curves(run / "metrics.jsonl")
        files = sorted(str(path) for path in run.glob("events.out.tfevents.*"))
        stored = [event.step for file in files for event in EventFileLoader(file).Load() if event.HasField("summary")]
        checks = {
            "it was killed where a curve could fold back":
                KILL_AFTER <= max(step for step, _ in before["train/loss"]) < STEPS,
            "a resumed run has a second file": len(files) == 2,
            "stored steps never go back": stored == sorted(stored),
            "every kind of curve is there":
                all(tag in wanted for tag in ("train/loss", "eval/loss", "rms/block_1", "grad_norm/block_0.attention",
                                              "entropy/block_0[1]", "gain/block_1.beta_sa")),
            "opened now: every step once, as in metrics.jsonl": same(curves(accumulator(run)), wanted),
            "watched all the time: the same": same(curves(watcher), wanted),
        }
    for check, holds in checks.items():
        print(f"{'ok' if holds else 'NOT SO'}: {check}")
    print(f"{len(wanted)} curves, killed after step {max(step for step, _ in before['train/loss'])} of {STEPS}")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
