#!/usr/bin/env python3
"""Tests of scripts/export_dataset.py on local files, up to what `skipless prepare` makes of them.

    .venv/bin/python tests/scripts/export_test.py SKIPLESS
"""
import csv
import gzip
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import pyarrow
import pyarrow.parquet

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPLESS = ""


def texts_of(folder):
    texts = []
    for part in json.loads((folder / "export.json").read_text())["parts"]:
        path = folder / part["name"]
        assert path.stat().st_size == part["bytes"]
        if path.suffix == ".zst":
            lines = pyarrow.CompressedInputStream(str(path), "zstd").read().decode()
        else:
            lines = gzip.decompress(path.read_bytes()).decode()
        texts += [json.loads(line)["body"] for line in lines.split("\n")[:-1]]
    return texts


class ExportTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.out = self.folder / "out"
        self.texts = [f"text {i} é\n\"quoted\" \u2028 {'x' * (i % 50)}" for i in range(4000)]
        self.source = self.folder / "set.parquet"
        table = pyarrow.table({"id": list(range(4000)), "body": self.texts})
        pyarrow.parquet.write_table(table, self.source, row_group_size=700)

    def tearDown(self):
        self.temporary.cleanup()

    def command(self, *arguments, source=None):
        return [sys.executable, ROOT / "scripts/export_dataset.py", source or self.source, self.out, "--field", "body",
                *arguments]

    def environment(self):
        return {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(self.folder / "cache")}

    def export(self, *arguments, source=None):
        return subprocess.run(self.command(*arguments, source=source), capture_output=True, text=True,
                              env=self.environment())

    def test_a_killed_export_goes_on_and_prepare_reads_it(self):
        process = subprocess.Popen(self.command("--part-mb", "0.01"), stdout=subprocess.PIPE, text=True,
                                   env=self.environment())
        for _ in range(3):
            process.stdout.readline()  # a line for each part
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        state = json.loads((self.out / "export.json").read_text())
        self.assertTrue(0 < state["rows"] < 4000 and not state["complete"], state["rows"])
        result = self.export("--part-mb", "0.01")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"going on behind row", result.stdout)
        self.assertEqual(texts_of(self.out), self.texts)
        self.assertIn("holds this export already: 4000 rows", self.export("--part-mb", "0.01").stdout)
        other = self.export("--part-mb", "0.02")
        self.assertEqual(other.returncode, 2)
        self.assertIn("holds another export (part_mb: 0.01 there, 0.02 now)", other.stderr)

        prepared = subprocess.run([SKIPLESS, "prepare", self.out, "--field", "body", "--tokenizer",
                                   ROOT / "data/tokenizers/python_4096", "--out", self.folder / "data"],
                                  capture_output=True, text=True)
        self.assertEqual(prepared.returncode, 0, prepared.stderr)
        manifest = json.loads((self.folder / "data/prepare.json").read_text())
        self.assertEqual(manifest["train"]["documents"] + manifest["validation"]["documents"], 4000)

    def test_json_and_csv_and_gzip(self):
        lines = self.folder / "set.jsonl"
        lines.write_text("".join(json.dumps({"body": text}) + "\n" for text in self.texts[:50]) + '{"body": ""}\n')
        result = self.export("--compression", "gzip", source=lines)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(texts_of(self.out), self.texts[:50])
        self.assertIn("1 empty rows were left out", result.stdout)
        table = self.folder / "set.csv"
        with table.open("w", newline="") as file:
            csv.writer(file).writerows([["body"], *([text] for text in self.texts[:50])])
        self.out = self.folder / "of_csv"
        result = self.export("--limit", "20", source=table)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(texts_of(self.out), self.texts[:20])

    def test_mistakes_are_told_without_a_traceback(self):
        empty, broken = self.folder / "empty.csv", self.folder / "broken.jsonl"
        empty.write_text("body\n")
        broken.write_text('{"body": "a"}\n' * 20 + "{]\n")
        for arguments, source, message in (
                (["--field", "none"], None, "there is no column 'none' (--field); it has id, body"),
                (["--field", "id"], None, "row 1: 'id' is 0, expected a text"),
                (["--split", "train[:10%]"], None, "'train[:10%]' is not the name of one split"),
                (["--part-mb", "0"], None, "'0' is not a number above 0"),
                (["--limit", "0"], None, "'0' is not a whole number from 1 on"),
                ([], empty, "no rows"),
                ([], broken, "broken.jsonl"),
                ([], self.folder / "none.parquet", "no such file"),
                ([], self.folder / "out_of_nothing*", "no such file")):
            result = self.export(*arguments, source=source)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(message, result.stderr)
            self.assertNotIn("Traceback", result.stderr)
            for file in self.out.glob("*"):
                file.unlink()
        self.out.rmdir()
        self.out.touch()
        result = self.export()
        self.assertEqual(result.returncode, 2)
        self.assertIn("is a file, expected a folder", result.stderr)
        self.out = self.out / "below"
        result = self.export()
        self.assertEqual(result.returncode, 1)
        self.assertIn("Not a directory", result.stderr)
        self.assertNotIn("Traceback", result.stderr)


if __name__ == "__main__":
    SKIPLESS = sys.argv.pop()
    unittest.main()
