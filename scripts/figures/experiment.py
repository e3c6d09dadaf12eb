"""What every figure's script does alike: options, data, training what is missing, and the files that it ends with.

    experiment = Experiment("schedule")                       # reads --scale, --out and --jobs
    runs = experiment.train({"linear": Spec("sas_p"), ...})   # label -> Run
    experiment.finish("Linear against cosine decay", rows, verdicts, picture)
"""
import argparse
import concurrent.futures
import csv
import dataclasses
import json
import math
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import threading

import yaml

import data
import style
from files import replace_file
from mistakes import make_out
from runs import Run

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SKIPLESS = ROOT / "build/release/skipless"
SCALES = yaml.safe_load((HERE / "scales.yaml").read_text(encoding="utf-8"))

# The block whose seeds say how far a block's loss swings: one with a skip around the attention, and one without.
RULERS = {"pre_ln": "pre_ln", "parallel": "pre_ln", "v_skipinit": "sas_p", "sas": "sas_p", "sas_p": "sas_p", "sas_p_nonorm": "sas_p"}

NOT_FINITE = "not finite"  # of the message that train ends with when a run diverges


@dataclasses.dataclass(frozen=True)
class Spec:
    """One run: a block of the tables, what differs from the scale's recipe, and for how long."""

    block: str
    settings: tuple = ()
    length: str = "short"  # a key of the scale's `steps`
    seed: int = 0
    rate: float | None = None  # None: the block's own, from the grid


def block_settings(block):
    """The overrides that make a block of style.BLOCKS out of a config."""
    if block not in style.BLOCKS:
        raise ValueError(f"{block} is not one of {', '.join(style.BLOCKS)}")
    settings = [f"model.block={block.removesuffix('_nonorm')}"]
    return settings + ["model.norm=none"] if block.endswith("_nonorm") else settings


class Experiment:
    def __init__(self, name, options=()):
        """`options`: (flag, keywords of add_argument) of those beyond the common ones."""
        parser = argparse.ArgumentParser(prog=name, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
        parser.add_argument("--scale", choices=SCALES, default="micro", help="what it costs: scripts/figures/scales.yaml")
        parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("figures"), help="folder of data, runs and pictures")
        parser.add_argument("--jobs", type=int, help="runs trained side by side; by default the scale's")
        for flag, keywords in options:
            parser.add_argument(flag, **keywords)
        self.arguments = parser.parse_args()
        self.name, self.scale_name, self.scale = name, self.arguments.scale, SCALES[self.arguments.scale]
        self.jobs = self.scale["jobs"] if self.arguments.jobs is None else self.arguments.jobs
        if self.jobs < 1:
            parser.error(f"--jobs {self.jobs}: at least 1 is needed")
        make_out(self.arguments.out)
        # A run's key is made of its config, and so of the path of its data: however that folder is given, it has one name.
        self.out = self.arguments.out.resolve()
        if self.out.is_relative_to(ROOT):
            self.out = self.out.relative_to(ROOT)
        self.folder = self.out / self.scale_name
        self.store, self.logs = self.out / "runs", self.out / "logs"
        self.trained = {}  # label -> Run, of all that the figure asked for
        self._grids = {}  # block -> losses of its grid, of those that were asked for
        self._variances = {}  # ruler -> variance of its loss over seeds, of those that were asked for
        self._children, self._lock, self._stopping = set(), threading.Lock(), False
        # A run saves a checkpoint and ends when its figure is told to.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    # -- training

    def overrides(self, spec):
        """The arguments of `skipless train` for a Spec, whose rate is known. Its settings replace the scale's."""
        settings = [
            f"data.folder={data.folder(self.out, self.scale['data'])}", *block_settings(spec.block),
            f"train.steps={self.scale['steps'][spec.length]}", f"train.seed={spec.seed}", f"train.data_seed={spec.seed}",
            f"train.lr={spec.rate}", *self.scale["settings"], *spec.settings,
        ]
        return [self.scale["config"], *{setting.partition("=")[0]: setting for setting in settings}.values()]

    def setting(self, key):
        """The scale's value of a key that its recipe names, "model.d_model"."""
        for setting in self.scale["settings"]:
            name, _, value = setting.partition("=")
            if name == key:
                return yaml.safe_load(value)
        value = yaml.safe_load((ROOT / self.scale["config"]).read_text(encoding="utf-8"))
        for part in key.split("."):
            value = value[part]
        return value

    def train(self, wanted):
        """{label: Spec} -> {label: Run}. Trains what the store lacks, grids of rates first."""
        rates = self.rates({spec.block for spec in wanted.values() if spec.rate is None})
        known = {label: dataclasses.replace(spec, rate=rates[spec.block]) if spec.rate is None else spec
                 for label, spec in wanted.items()}
        runs = self._train_all({label: self.overrides(spec) for label, spec in known.items()})
        self.trained |= runs
        return runs

    def grids(self, blocks):
        """{block: {rate: validation loss after `short` steps}}; one rate alone is not tried out: its loss is None."""
        data.prepare(self.out, self.scale["data"])
        rates = self.scale["rates"]
        if len(rates) == 1:
            return {block: {rates[0]: None} for block in blocks}
        new = [block for block in sorted(blocks) if block not in self._grids]
        runs = self._train_all({(block, rate): self.overrides(Spec(block, rate=rate)) for block in new for rate in rates})
        self._grids |= {block: {rate: runs[block, rate].loss for rate in rates} for block in new}
        return {block: self._grids[block] for block in blocks}

    def rates(self, blocks):
        """{block: rate with the lowest loss of its grid}"""
        return {block: min(losses, key=losses.get) for block, losses in self.grids(blocks).items()}

    def error(self, first, second=None):
        """Standard error of the difference of two single runs of these blocks (one block: of two of its settings): the root of
        the sum of the variances of their RULERS over seeds, at the ablations' length. 0.01 where the scale has one seed."""
        seeds = range(self.scale["seeds"]["reference"])
        if len(seeds) < 2:
            return 0.01
        rulers = [RULERS[first], RULERS[second or first]]
        for ruler in sorted(set(rulers) - self._variances.keys()):
            runs = self.train({f"{ruler} seed {seed}": Spec(ruler, seed=seed) for seed in seeds})
            self._variances[ruler] = statistics.variance(run.loss for run in runs.values())
        return math.sqrt(sum(self._variances[ruler] for ruler in rulers))

    def train_commands(self, commands, jobs):
        """{label: arguments of `skipless train`} -> {label: Run}, for runs by a recipe of their own."""
        runs = self._train_all(commands, jobs)
        self.trained |= runs
        return runs

    def _train_all(self, commands, jobs=None):
        """{label: arguments of train} -> {label: Run}; equal commands are one run."""
        folders = {}
        for label, command in commands.items():
            where = self.ask(["train", *command, "--store", self.store, "--where"])
            folders[label] = pathlib.Path(where.strip())
        unique = {folders[label]: command for label, command in commands.items()}
        ended = dict(zip(unique, self.side_by_side(lambda item: self._train_one(*item), unique.items(), jobs)))
        return {label: Run(folder, ended[folder]) for label, folder in folders.items()}

    def side_by_side(self, function, items, jobs=None):
        """[function(item), ...], `jobs` at a time. Where one fails, what skipless does for the others is stopped."""
        with concurrent.futures.ThreadPoolExecutor(jobs or self.jobs) as pool:
            try:
                return list(pool.map(function, items))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                with self._lock:
                    self._stopping = True
                    for child in self._children:
                        child.terminate()
                raise

    def _train_one(self, folder, command):
        """None, or why the run diverged; SystemExit where it failed for another reason."""
        marker = self.logs / f"{folder.name}.diverged"
        if marker.is_file():
            return marker.read_text(encoding="utf-8")
        log = self.logs / f"{folder.name}.log"
        new = not (folder / "metrics.jsonl").is_file()
        code = self.call(["train", *command, "--store", self.store], log)
        if code == 0:
            if new:
                print(f"  {folder.name}: trained", flush=True)
            return None
        last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-5:]
        if code == 1 and any(NOT_FINITE in line for line in last):
            why = next(line for line in last if NOT_FINITE in line)
            marker.write_text(why, encoding="utf-8")
            print(f"  {folder.name}: diverged", flush=True)
            return why
        raise SystemExit("\n".join([f"{log}: the run ended with code {code}:", *last]))

    def call(self, arguments, log):
        """The exit code of skipless, whose output goes to the end of the file `log`."""
        log.parent.mkdir(parents=True, exist_ok=True)
        with open(log, "a", encoding="utf-8") as output:
            with self._lock:
                if self._stopping:
                    raise SystemExit(f"{self.name}: stopped")
                # Ends, with a checkpoint, when this process does.
                child = subprocess.Popen(["setpriv", "--pdeathsig", "TERM", SKIPLESS, *arguments], stdout=output,
                                         stderr=output, env=environment())
                self._children.add(child)
            code = child.wait()
            with self._lock:
                self._children.discard(child)
        return code

    def ask(self, arguments):
        """Standard output of one call of skipless."""
        done = subprocess.run([SKIPLESS, "--log-level", "warning", *map(str, arguments)], capture_output=True, text=True,
                              env=environment(), check=False)
        if done.returncode != 0:
            raise SystemExit(f"{self.name}: skipless {arguments[0]} ended with code {done.returncode}:\n{done.stderr.strip()}")
        return done.stdout

    # -- what a figure ends with

    def finish(self, title, rows, verdicts, picture=None, note=""):
        """Writes NAME.csv (of `rows`, dictionaries with the same keys), NAME.json and, of `picture`, NAME.png and .pdf;
        prints the verdicts' lines."""
        self.folder.mkdir(parents=True, exist_ok=True)
        stem = self.folder / self.name
        if picture is not None:
            style.save(picture, stem.with_suffix(".png"), stem.with_suffix(".pdf"))
        replace_file(stem.with_suffix(".csv"), lambda file: _write_csv(file, rows))
        summary = {
            "figure": self.name, "title": title, "scale": self.scale_name, "settings": self.scale, "note": note,
            "verdicts": [dataclasses.asdict(verdict) for verdict in verdicts],
            "runs": {str(label): run.folder.name for label, run in self.trained.items()},
        }
        replace_file(stem.with_suffix(".json"), lambda file: json.dump(summary, file, indent=1))
        for verdict in verdicts:
            print(verdict.line())
        print(f"{stem}{'.png, .pdf, ' if picture is not None else ''}.csv and .json are written")


def environment():
    return os.environ | {"OMP_WAIT_POLICY": "passive"}


def _write_csv(file, rows):
    writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
