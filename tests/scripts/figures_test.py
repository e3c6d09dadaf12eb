#!/usr/bin/env python3
"""Tests of what the figures' scripts share: scripts/figures.

    .venv/bin/python tests/scripts/figures_test.py [SKIPLESS]     without the program, what trains is left out
"""
import contextlib
import csv
import html.parser
import io
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIGURES = ROOT / "scripts/figures"
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else None
sys.path.insert(0, str(FIGURES))

import bench  # noqa: E402
import data  # noqa: E402
import energy  # noqa: E402
import experiment  # noqa: E402
import glue  # noqa: E402
import report  # noqa: E402
import reproduce_all  # noqa: E402
import runs  # noqa: E402
import style  # noqa: E402
import verdict  # noqa: E402


class Temporary(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def write(self, path, text, mode=0o644):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        file.chmod(mode)
        return file


class VerdictTest(unittest.TestCase):
    def words(self, kind, *differences):
        return [kind("claim", "paper", difference, 0.5).word for difference in differences]

    def test_words_change_beyond_two_standard_errors(self):
        self.assertEqual(self.words(verdict.equal, 0, 1, -1, 1.001, -1.001), ["agrees"] * 3 + ["differs"] * 2)
        self.assertEqual(self.words(verdict.at_most, -9, 1, 1.001), ["agrees", "agrees", "differs"])
        self.assertEqual(self.words(verdict.above, 1.001, 1, 0, -1, -1.001), ["agrees"] + ["undecided"] * 3 + ["differs"])

    def test_a_run_that_diverged_agrees_with_no_claim_of_being_as_good(self):
        self.assertEqual(self.words(verdict.equal, math.inf), ["differs"])
        self.assertEqual(self.words(verdict.at_most, math.inf), ["differs"])
        self.assertEqual(self.words(verdict.above, math.inf), ["agrees"])

    def test_a_loss_that_is_a_little_above_is_not_far_above(self):
        def a_little(*arguments):
            return verdict.a_little_above(*arguments, most=3)

        self.assertEqual(self.words(a_little, 1.001, 3, 3.001, math.inf, 0.9, -1.001),
                         ["agrees", "agrees", "differs", "differs", "undecided", "differs"])

    def test_a_number_agrees_up_to_its_tolerance(self):
        words = [verdict.near("claim", "1.5", value, 1.5, 0.25).word for value in (1.25, 1.75, 1.2, 1.8)]
        self.assertEqual(words, ["agrees", "agrees", "differs", "differs"])
        self.assertIn("within 0.25 of 1.500", verdict.near("claim", "1.5", 1.5, 1.5, 0.25).line())


class ErrorTest(Temporary):
    def test_a_difference_has_the_variances_of_both_blocks_and_each_is_trained_once(self):
        losses = {"pre_ln": (5.0, 5.3, 5.6), "sas_p": (4.0, 4.1, 4.2)}
        with mock.patch("sys.argv", ["x", "--scale", "micro", "--out", str(self.folder)]), mock.patch("signal.signal"):
            tried = experiment.Experiment("x")
        trained = mock.Mock(side_effect=lambda wanted: {label: mock.Mock(loss=losses[spec.block][spec.seed])
                                                        for label, spec in wanted.items()})
        with mock.patch.object(tried, "train", trained):
            for blocks, variance in ((("sas",), 0.02), (("parallel", "sas_p"), 0.1), (("pre_ln",), 0.18)):
                self.assertAlmostEqual(tried.error(*blocks), math.sqrt(variance), 12)
        self.assertEqual(trained.call_count, 2)


class StyleTest(unittest.TestCase):
    def test_six_blocks_have_colours_and_dashes_of_their_own(self):
        for place in (0, 1, 2):
            self.assertEqual(len({str(entry[place]) for entry in style.BLOCKS.values()}), 6)


class RunTest(Temporary):
    def run_of(self, lines, diverged=None):
        self.write("run/metrics.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        return runs.Run(self.folder / "run", diverged)

    def test_a_run_that_diverged_has_an_infinite_loss_and_the_curve_up_to_there(self):
        lines = [{"kind": "start", "parameters": 5}, {"kind": "train", "tokens_per_second": 9.0, "tokens": 8, "seconds": 2.0},
                 {"kind": "eval", "step": 1, "loss": 4.0}]
        run = self.run_of(lines, "loss is not finite")
        self.assertEqual((run.loss, run.curve(), run.parameters, run.seconds), (math.inf, [(1, 4.0)], 5, 2.0))
        self.assertEqual(self.run_of(lines).loss, 4.0)
        self.assertEqual(self.run_of([*lines, {"kind": "eval", "step": 2, "loss": None}]).loss, math.inf)
        self.assertEqual(runs.Run(self.folder / "nothing was written", "loss is not finite").loss, math.inf)


class OrderTest(unittest.TestCase):
    def test_every_script_is_in_the_order_and_draws_the_figure_of_its_name(self):
        there = {file.stem for pattern in ("fig_*.sh", "table_*.sh") for file in (ROOT / "scripts").glob(pattern)}
        self.assertLessEqual(there, set(report.SCRIPTS))
        self.assertEqual(len(report.SCRIPTS), len(set(report.SCRIPTS)))
        for script in report.SCRIPTS:
            file, name = ROOT / "scripts" / f"{script}.sh", report.figure_of(script)
            self.assertTrue(os.access(file, os.X_OK), file)
            self.assertIn(f'draw.sh" {name} "$@"', file.read_text(encoding="utf-8"))
            self.assertTrue((FIGURES / f"{name}.py").is_file(), name)
            self.assertIn(f'Experiment("{name}"', (FIGURES / f"{name}.py").read_text(encoding="utf-8"))


class Balance(html.parser.HTMLParser):
    """Tags that are open, and all that would be loaded from elsewhere."""

    def __init__(self):
        super().__init__()
        self.open, self.sources, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.sources += [value for key, value in attrs if key in ("src", "href")]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text.append(data)


class ReportTest(Temporary):
    def page(self):
        with mock.patch("sys.argv", ["report", "--out", str(self.folder), "--scale", "smoke"]), contextlib.redirect_stdout(io.StringIO()):
            report.main()
        text = (self.folder / "smoke/report.html").read_text(encoding="utf-8")
        parsed = Balance()
        parsed.feed(text)
        self.assertEqual(parsed.open, [])
        return text, parsed

    def figure(self, name, words, title="Title", note=""):
        self.write(f"smoke/{name}.csv", "a,b\n1,<b>&\n")
        verdicts = [{"claim": "a < b", "paper": "\"p\"", "measured": "<script>alert(1)</script>", "tolerance": "&", "word": word}
                    for word in words]
        self.write(f"smoke/{name}.json", json.dumps({"figure": name, "title": title, "note": note, "settings": {"x": "</pre>"},
                                                     "verdicts": verdicts, "runs": {"('a', 1)": "a-1"}}))

    def test_the_page_escapes_all_and_loads_nothing(self):
        self.figure("schedule", ["agrees", "differs"], "<i>Title</i>", "note & <note>")
        self.figure("of_my_own", ["<b>"])
        (self.folder / "smoke/schedule.png").write_bytes(b"\x89PNG picture")
        text, parsed = self.page()
        self.assertNotIn("<script", text)
        self.assertNotIn("<i>", text)
        self.assertNotIn("http", text)
        self.assertEqual([source for source in parsed.sources if not source.startswith(("#", "data:image/png;base64,"))], [])
        self.assertIn("data:image/png;base64,iVBORyBwaWN0dXJl", text)
        shown = " ".join(parsed.text)
        for part in ("<i>Title</i>", "note & <note>", "<script>alert(1)</script>", "a < b", "</pre>", "<b>&", "a-1"):
            self.assertIn(part, shown)

    def test_verdicts_are_counted_and_missing_figures_named(self):
        self.figure("schedule", ["agrees", "agrees", "undecided"])
        text, parsed = self.page()
        shown = "".join(parsed.text)
        self.assertIn("agrees 2, differs 0, undecided 1, reported 0", shown)
        self.assertIn("scripts/fig_depth.sh", text)
        self.assertNotIn("scripts/fig_schedule.sh", text)

    def test_without_figures_there_is_no_page(self):
        with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(io.StringIO()) as errors:
            self.page()
        self.assertEqual(ended.exception.code, 2)
        self.assertIn("no figure of this scale", errors.getvalue())


def task(**seeds):
    """A task's part of results.json, of the scores of each seed."""
    return {"commonest_label": {name: 0.5 for name in seeds}, "last": {name: {"seeds": values} for name, values in seeds.items()},
            "runs": [{"diverged": None}] * len(next(iter(seeds.values())))}


class GlueTest(Temporary):
    RTE, SST2 = task(accuracy=[0.5, 0.6]), task(accuracy=[0.7, 0.9])

    def test_the_mean_is_over_what_every_model_has(self):
        results = {"pre_ln": {"rte": self.RTE, "sst2": self.SST2}, "sas_p": {"sst2": self.SST2}}
        self.assertEqual(glue.common(results), ["SST-2"])
        rows = glue.table(results, ["SST-2"], dict.fromkeys(results, 2e6), dict.fromkeys(results, 1.0))
        self.assertEqual(rows[1]["mean of SST-2"], "80.0 ± 14.1")
        self.assertEqual([row["mean of SST-2"] for row in rows if row["model"] == "Pre-LN (paper)"], ["89.9"])
        results["sas_p"]["rte"] = self.RTE
        self.assertEqual(glue.common(results), ["SST-2", "RTE"])
        self.assertEqual([round(value, 6) for value in glue.means(results["sas_p"], ["SST-2", "RTE"])], [60.0, 75.0])
        self.assertEqual(len({tuple(row) for row in glue.table(results, ["SST-2", "RTE"], dict.fromkeys(results, 2e6),
                                                               dict.fromkeys(results, 1.0))}), 1)

    def test_nine_numbers_are_the_papers_average(self):
        tasks = {}
        for name, score in glue.NUMBERS.values():
            tasks.setdefault(name, task(accuracy=[0.5, 0.5]))["last"][score] = {"seeds": [0.5, 0.5]}
        self.assertEqual(glue.name_of_mean(glue.common({"sas_p": tasks})), "GLUE")
        for values, average, _, _, _ in glue.PAPER.values():
            self.assertAlmostEqual(sum(values) / 9, average, delta=0.1)  # of numbers that were rounded

    def test_what_is_not_a_number_leaves_no_mean(self):
        tasks = {"stsb": task(Pearson=[None, 0.3])}
        self.assertEqual(glue.cell(glue.means(tasks, ["STS-B"])), "–")
        results = {"pre_ln": tasks, "sas_p": tasks, "sas": {"stsb": task(Pearson=[0.2, 0.3])}}
        words = {one.claim.split(": ")[-1]: one.word for one in glue.verdicts(results, ["STS-B"], 2)}
        self.assertEqual(words["SAS-P is level with Pre-LN"], "reported")

    def test_training_sets_are_cut_to_their_first_rows(self):
        self.write("glue/RTE/train.tsv", "index\tlabel\n0\ta\n1\tb\n2\tc\n")
        self.write("glue/RTE/dev.tsv", "dev")
        self.write("glue/CoLA/train.tsv", "0\n1\n2\n")
        place = glue.first_rows(self.folder / "glue", ["rte", "cola"], 2, self.folder / "cut")
        self.assertEqual((place / "RTE/train.tsv").read_text(), "index\tlabel\n0\ta\n1\tb\n")
        self.assertEqual((place / "RTE/dev.tsv").read_text(), "dev")
        self.assertEqual((place / "CoLA/train.tsv").read_text(), "0\n1\n")

    def test_without_glue_the_script_that_fetches_it_is_named(self):
        done = subprocess.run([sys.executable, FIGURES / "glue.py", "--scale", "smoke", "--out", self.folder, "--glue", self.folder],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("scripts/get_glue.sh", done.stderr)
        self.write("MRPC/train.tsv", "")
        with contextlib.redirect_stdout(io.StringIO()) as output:
            self.assertEqual(glue.tasks_in(self.folder, "all"), ["mrpc"])
        self.assertIn("MNLI, SST-2, STS-B, RTE, QNLI, QQP, CoLA", output.getvalue())


class EfficiencyTest(Temporary):
    def test_a_point_is_measured_once_by_each_program(self):
        measured = []
        program = self.write("skipless", "one")
        asked = mock.Mock(folder=self.folder / "smoke")
        asked.ask.return_value = "version"
        with mock.patch.object(bench, "SKIPLESS", program), contextlib.redirect_stdout(io.StringIO()):
            for command, content in ((["bench", "a"], "one"), (["bench", "a"], "one"), (["bench", "b"], "one"), (["bench", "a"], "two")):
                program.write_text(content)
                bench.kept(asked, command, lambda: measured.append(content) or len(measured))
        self.assertEqual(measured, ["one", "one", "two"])
        self.assertEqual(len(list((self.folder / "smoke/bench").glob("*.json"))), 3)

    def test_rapl_adds_up_packages_and_counters_that_begin_anew(self):
        for index, (name, value) in enumerate((("package-0", 1_000_000), ("package-1", 9_000_000), ("psys", 5))):
            for file, text in (("name", name + "\n"), ("energy_uj", str(value)), ("max_energy_range_uj", "10000000")):
                self.write(f"intel-rapl:{index}/{file}", text)
        meter, _ = energy.find_meter("cpu", self.folder)
        self.write("intel-rapl:0/energy_uj", "3000000")
        self.write("intel-rapl:1/energy_uj", "500000")
        self.assertAlmostEqual(meter.joules(), 2.0 + 1.5)
        self.assertAlmostEqual(meter.joules(), 3.5)
        self.assertEqual(energy.find_meter("cpu", self.folder / "nowhere"), (None, "this machine shows no RAPL"))

    def test_nvidia_smi_is_added_up_over_time(self):
        self.write("nvidia-smi", '#!/bin/sh\ncase "$*" in *loop*) while echo 100; do sleep 0.1; done ;; *) echo 100 ;; esac\n', 0o755)
        with mock.patch.dict(os.environ, {"PATH": f"{self.folder}:/usr/bin:/bin"}):
            meter, why = energy.find_meter("cuda")
        self.assertIsNone(why)
        self.addCleanup(meter.close)
        time.sleep(0.6)
        self.assertGreater(meter.joules(), 20)
        self.assertLess(meter.joules(), 90)
        self.write("nvidia-smi", "#!/bin/sh\necho '[N/A]'\n", 0o755)
        with mock.patch.dict(os.environ, {"PATH": f"{self.folder}:/usr/bin:/bin"}):
            self.assertIsNone(energy.find_meter("cuda")[0])
        with mock.patch.dict(os.environ, {"PATH": "/nowhere"}):
            self.assertEqual(energy.find_meter("cuda"), (None, "there is no nvidia-smi"))


class ReproduceAllTest(Temporary):
    def test_it_goes_on_after_a_failure_and_says_so(self):
        summary = json.dumps({"verdicts": [{"word": "agrees"}, {"word": "differs"}]})
        self.write("scripts/fig_bad.sh", "#!/bin/sh\nexit 3\n", 0o755)
        self.write("scripts/fig_good.sh", f"#!/bin/sh\necho '{summary}' > \"$4/smoke/good.json\"\n", 0o755)
        self.write("scripts/report.sh", "#!/bin/sh\necho reported > \"$4/report\"\n", 0o755)
        out = self.folder / "out"
        errors = io.StringIO()
        for _ in range(2):
            with mock.patch.object(reproduce_all, "ROOT", self.folder), \
                    mock.patch.object(reproduce_all, "SCRIPTS", ["fig_bad", "fig_good"]), \
                    mock.patch("sys.argv", ["reproduce_all", "--scale", "smoke", "--out", str(out)]), \
                    contextlib.redirect_stdout(io.StringIO()) as output, contextlib.redirect_stderr(errors), \
                    self.assertRaises(SystemExit) as ended:
                reproduce_all.main()
            self.assertEqual(ended.exception.code, 1)
        self.assertIn("failed: fig_bad", errors.getvalue())
        self.assertIn("fig_bad: 0 s, failed with code 3", output.getvalue())
        self.assertIn("1 agrees, 1 differs, 0 undecided, 0 reported", output.getvalue())
        self.assertTrue((out / "report").is_file())
        with open(out / "smoke/times.csv", encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        self.assertEqual([(row["script"], row["exit code"], row["agrees"]) for row in rows],
                         [("fig_bad", "3", ""), ("fig_good", "0", "1")] * 2)


class OptionsTest(Temporary):
    def test_bad_options_end_with_code_2(self):
        for command in (["schedule.py", "--scale", "huge"], ["schedule.py", "--jobs", "0"], ["reproduce_all.py"]):
            done = subprocess.run([sys.executable, FIGURES / command[0], *command[1:]], cwd=self.folder, capture_output=True, text=True,
                                  check=False)
            self.assertEqual(done.returncode, 2, command)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_an_output_folder_that_cannot_be_made_is_named(self):
        file = self.write("file", "")
        for out in (file, file / "below"):
            for script in ("schedule.py", "reproduce_all.py"):
                done = subprocess.run([sys.executable, FIGURES / script, "--scale", "smoke", "--out", out], capture_output=True, text=True,
                                      check=False)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(f"--out {out}: not a folder", done.stderr)

    def test_data_that_a_script_fetches_are_asked_for(self):
        with mock.patch.object(data, "FETCHED", {"pile": self.folder / "pile"}), contextlib.redirect_stderr(io.StringIO()) as errors, \
                self.assertRaises(SystemExit) as ended:
            data.prepare(self.folder, "pile")
        self.assertEqual(ended.exception.code, 2)
        self.assertIn("scripts/get_pile.sh", errors.getvalue())


# A figure of three small runs.
FIGURE = """
import pathlib, sys
sys.path.insert(0, {figures!r})
import data, experiment
experiment.SKIPLESS = data.SKIPLESS = pathlib.Path({program!r})
tiny = experiment.Experiment("tiny")
runs = tiny.train({{seed: experiment.Spec("sas_p", ("train.steps=60", "train.save_every=5", "train.log_every=1"), seed=seed, rate=1e-3)
                   for seed in range(3)}})
tiny.finish("Tiny", [{{"seed": seed, "loss": run.loss}} for seed, run in runs.items()], [])
"""


@unittest.skipIf(PROGRAM is None or not PROGRAM.is_file(), "without the program")
class StoreTest(Temporary):
    def experiment(self, *options):
        with mock.patch("sys.argv", ["test", "--scale", "smoke", "--out", str(self.folder), *options]):
            return experiment.Experiment("test")

    def test_a_run_is_named_by_what_it_computes(self):
        def name(spec, *more):
            arguments = [*asked.overrides(spec), *more]
            return asked.ask(["train", *arguments, "--store", asked.store, "--where"]).strip()

        with mock.patch.object(experiment, "SKIPLESS", PROGRAM):
            asked = self.experiment()
            spec = experiment.Spec("sas_p", rate=1e-3)
            first = name(spec)
            self.assertTrue(first.startswith(f"{self.folder}/runs/sas_p-"), first)
            self.assertEqual(first, name(experiment.Spec("sas_p", rate=0.001)))
            self.assertEqual(first, name(spec, "train.threads=2", "train.save_every=7"))
            others = [name(experiment.Spec("sas_p", rate=1e-3, seed=1)), name(experiment.Spec("sas_p", rate=2e-3)),
                      name(experiment.Spec("sas_p", ("model.d_ff=96",), rate=1e-3)), name(experiment.Spec("sas_p_nonorm", rate=1e-3)),
                      name(experiment.Spec("sas_p", rate=1e-3, length="main"))]
            self.assertEqual(len({first, *others}), 6)

    def steps(self):
        """{run: the steps that its log has, in their order}"""
        return {file.parent.name: [line["step"] for line in map(json.loads, file.read_text().splitlines()) if line["kind"] == "train"]
                for file in self.folder.glob("runs/*/metrics.jsonl")}

    def test_a_figure_that_was_killed_goes_on_and_trains_nothing_twice(self):
        script = self.write("tiny.py", FIGURE.format(figures=str(FIGURES), program=str(PROGRAM)))
        command = [sys.executable, script, "--scale", "smoke", "--out", self.folder, "--jobs", "1"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as figure:
            self.assertIn("trained", figure.stdout.readline())
            figure.send_signal(signal.SIGTERM)
            figure.stdout.read()
        self.assertNotEqual(figure.returncode, 0)
        self.assertFalse((self.folder / "smoke/tiny.json").exists())
        finished = {name: steps for name, steps in self.steps().items() if steps[-1] == 60}
        self.assertGreaterEqual(len(finished), 1)
        self.assertLess(len(finished), 3)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name, steps in self.steps().items():
            self.assertEqual(steps, list(range(1, 61)), name)
        before = {file: file.stat().st_mtime_ns for file in self.folder.glob("runs/*/metrics.jsonl")}
        self.assertEqual(len(before), 3)
        self.assertEqual(subprocess.run(command, capture_output=True, check=False).returncode, 0)
        self.assertEqual({file: file.stat().st_mtime_ns for file in before}, before)


if __name__ == "__main__":
    unittest.main()
