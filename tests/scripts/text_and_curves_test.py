#!/usr/bin/env python3
"""Tests of scripts/collect_text.py and scripts/figures/loss_vs_runtime.py.

    .venv/bin/python tests/scripts/text_and_curves_test.py
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"


def run(script, *arguments):
    return subprocess.run([sys.executable, SCRIPTS / script, *map(str, arguments)], capture_output=True, text=True)


class Temporary(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()


class CollectTextTest(Temporary):
    def texts(self, out):
        return [json.loads(line)["text"] for line in out.read_text(encoding="utf-8").splitlines()]

    def test_texts_are_cut_at_empty_lines_and_nothing_is_lost(self):
        paragraphs = [f"Paragraph {i}, über {'x' * (i % 7)} lines\nof two." for i in range(50)]
        (self.folder / "in").mkdir()
        (self.folder / "in/book.txt").write_text("\n\n".join(paragraphs), encoding="utf-8")
        (self.folder / "in/lines.txt").write_text("\n".join(f"line {i}" for i in range(1000)), encoding="utf-8")
        (self.folder / "in/index.tsv").write_text("not a text")
        (self.folder / "in/bad.txt").write_bytes(b"abc \xff")
        out = self.folder / "out/texts.jsonl"
        result = run("collect_text.py", "--out", out, "--characters", 100, self.folder / "in")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("bad.txt is not UTF-8 (byte 4)", result.stderr)
        texts = self.texts(out)
        self.assertEqual([p for text in texts for p in text.split("\n\n")],
                         paragraphs + [f"line {i}" for i in range(1000)])
        self.assertGreater(len(texts), 50)
        self.assertTrue(all(len(text) < 200 for text in texts))
        # What is there is left alone.
        before = out.stat().st_mtime_ns
        self.assertEqual(run("collect_text.py", "--out", out, self.folder / "in").returncode, 0)
        self.assertEqual(out.stat().st_mtime_ns, before)

    def test_mistakes_are_told(self):
        out = self.folder / "texts.jsonl"
        for arguments, message in (([], "give PATHs"), ([self.folder / "nowhere"], "nowhere"), ([self.folder], "no text"),
                                   (["--docstrings", self.folder], "give PATHs")):
            result = run("collect_text.py", "--out", out, *arguments)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(message, result.stderr)
            self.assertFalse(out.exists())


class LossVsRuntimeTest(Temporary):
    def make_run(self, name, losses, speed):
        lines = [{"kind": "start", "step": 0, "parameters": 2_000_000}]
        for i, loss in enumerate(losses, 1):
            lines.append({"kind": "train", "step": i, "tokens_per_second": 1 if i == 1 else speed})
            lines.append({"kind": "eval", "step": i, "loss": loss, "tokens": 1000 * i, "seconds": 10.0 * i})
        (self.folder / name).mkdir()
        (self.folder / name / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return self.folder / name

    def test_the_table_has_the_figures_of_the_metrics(self):
        runs = [self.make_run("pre_ln", [9.0, 6.0, 4.0], 100), self.make_run("sas_p", [9.0, 5.0, 3.0], 125),
                self.make_run("mine", [8.0, None], 90)]
        out = self.folder / "pictures/curves.png"
        result = run("figures/loss_vs_runtime.py", *runs, out)
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in result.stdout.splitlines()]
        self.assertEqual(rows[2], ["Pre-LN", "2.00 M", "100", "1.00", "3", "0.00 M", "30", "4.0000", "+0.0000", "30"])
        # From 5 to 3 within 10 s: at 4 after 5 of them.
        self.assertEqual(rows[3][3:], ["1.25", "3", "0.00 M", "30", "3.0000", "-1.0000", "25"])
        self.assertEqual(rows[4][0], "mine")
        self.assertEqual(rows[4][7:], ["n/a", "n/a", "n/a"])
        self.assertEqual(out.with_suffix(".md").read_text(), result.stdout)
        self.assertEqual(out.read_bytes()[:4], b"\x89PNG")

    def test_mistakes_are_told(self):
        one = self.make_run("pre_ln", [], 1)
        for arguments, message in (([one, one], "does not end in .png"), ([one, "out.png"], "no evaluation yet"),
                                   ([self.folder / "nowhere", "out.png"], "not a run")):
            result = run("figures/loss_vs_runtime.py", *arguments)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(message, result.stderr)


if __name__ == "__main__":
    unittest.main()
