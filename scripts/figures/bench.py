"""Speeds of the blocks, which take turns in every round of `skipless bench`: what the machine does to one, it does to all."""
import hashlib
import json
import pathlib
import re

import style
from experiment import SKIPLESS
from files import replace_file

# Of a speed over Pre-LN's against the paper's: between hours and precisions it still moved by 0.02, and another processor and model
# weigh the matrix products otherwise.
SPEED_TOLERANCE = 0.05


def processor():
    names = re.findall(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
    return names[0] if names else "unknown"


def kept(experiment, command, measure):
    """What measure() gives for a command, measured once by this program on this machine."""
    version = experiment.ask(["--version"])
    program = hashlib.sha256(SKIPLESS.read_bytes()).hexdigest()
    key = hashlib.sha256(json.dumps([command, version, program, processor()]).encode()).hexdigest()
    file = experiment.folder / "bench" / f"{key[:16]}.json"
    if not file.is_file():
        content = {"command": command, "version": version, "processor": processor(), "result": measure()}
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, lambda output: json.dump(content, output, indent=1))
        print(f"  {' '.join(command)}: measured", flush=True)
    return json.loads(file.read_text(encoding="utf-8"))["result"]


def name(block):
    """As --blocks has it."""
    return block.removesuffix("_nonorm") + (":none" if block.endswith("_nonorm") else "")


def measure(experiment, command, rounds, steps):
    """{block: its part of the JSON of `skipless bench`}, of all blocks; `command` is the config and what differs from it."""
    command = ["bench", *command, "--blocks", ",".join(map(name, style.BLOCKS)), "--rounds", str(rounds), "--steps", str(steps), "--json"]
    found = kept(experiment, command, lambda: json.loads(experiment.ask(command)))
    return dict(zip(style.BLOCKS, found))
