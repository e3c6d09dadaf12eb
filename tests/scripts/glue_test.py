#!/usr/bin/env python3
"""Tests of scripts/download_glue.py and get_glue.sh against a local server. Usage: python3 tests/scripts/glue_test.py
"""
import argparse
import contextlib
import hashlib
import io
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile

from download_test import Hub, Server

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import download_glue  # noqa: E402


def archive(folder, **files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as content:
        for name, text in files.items():
            content.writestr(f"{folder}/{name}.tsv", text)
        content.writestr(f"{folder}/original/train.tsv", "not this one")
        content.writestr(f"__MACOSX/{folder}/train.tsv", "nor this one")
        content.writestr("__MACOSX/train.tsv", "nor this one")
    return out.getvalue()


class GlueTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(("127.0.0.1", 0), Hub)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.base = f"http://127.0.0.1:{cls.server.server_port}"
        cls.official = download_glue.FILES

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()
        download_glue.FILES = cls.official

    def setUp(self):
        header = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
        bodies = {
            "glue/data/RTE.zip": archive("RTE", train="a train\n", dev="a dev\n"),
            "glue/data/QQP-clean.zip": archive("QQP-clean", train="pairs\n"),
            "glue/data/AX.tsv": b"index\tsentence1\tsentence2\n",
            "senteval/train.txt": (header + "1\t10\t11\ta \"b\tc\r\n0\t12\t13\td\te").encode(),
            "senteval/test.txt": (header + "1\t14\t15\tf\tg\r\n").encode(),
            "glue/data/ids.tsv": b"12\t13\n",
        }
        tasks = {"RTE": ["glue/data/RTE.zip"], "QQP": ["glue/data/QQP-clean.zip"], "AX": ["glue/data/AX.tsv"],
                 "MRPC": ["senteval/train.txt", "senteval/test.txt", "glue/data/ids.tsv"]}
        download_glue.FILES = {task: [(path, len(bodies[path]), hashlib.sha256(bodies[path]).hexdigest())
                                      for path in paths] for task, paths in tasks.items()}
        Hub.files = {"/" + path: body for path, body in bodies.items()}
        Hub.faults, Hub.requests = {}, []
        self.folder = tempfile.TemporaryDirectory()
        self.out = pathlib.Path(self.folder.name) / "glue"

    def tearDown(self):
        self.folder.cleanup()

    def download(self, *tasks):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            download_glue.download(argparse.Namespace(folder=self.out, task=tasks, base=self.base, timeout=0.3,
                                                      retries=1, pause=0.01))

    def text(self, name):
        return (self.out / name).read_bytes().decode()

    def test_files_are_fetched_once_and_laid_out(self):
        self.download()
        self.assertEqual(self.text("RTE/train.tsv"), "a train\n")
        self.assertEqual(self.text("RTE/dev.tsv"), "a dev\n")
        self.assertEqual(self.text("QQP/train.tsv"), "pairs\n")
        self.assertEqual(self.text("diagnostic/diagnostic.tsv"), "index\tsentence1\tsentence2\n")
        header = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
        self.assertEqual(self.text("MRPC/train.tsv"), header + "1\t10\t11\ta \"b\tc\n")
        self.assertEqual(self.text("MRPC/dev.tsv"), header + "0\t12\t13\td\te\n")
        self.assertEqual(self.text("MRPC/test.tsv"), "index\t#1 ID\t#2 ID\t#1 String\t#2 String\n0\t14\t15\tf\tg\n")
        self.assertEqual({file.name for file in self.out.rglob("*") if file.suffix == ".part"}, set())
        Hub.requests.clear()
        self.download()
        self.assertEqual(Hub.requests, [])

    def test_only_the_tasks_that_are_asked_for(self):
        self.download("rte")
        self.assertEqual({name for name, _ in Hub.requests}, {"/glue/data/RTE.zip"})
        self.assertFalse((self.out / "QQP").exists())

    def test_wrong_bytes_are_noticed(self):
        Hub.faults = {"/glue/data/RTE.zip": ["wrong", "wrong"]}
        with self.assertRaisesRegex(download_glue.Fault, "its SHA-256 is not"):
            self.download("RTE")
        Hub.faults = {"/glue/data/RTE.zip": ["longer"]}
        with self.assertRaisesRegex(download_glue.Fault, "the server would send"):
            self.download("RTE")
        self.assertFalse((self.out / "RTE").exists())

    def test_without_a_network_it_says_what_to_do_and_takes_what_is_put_there(self):
        body = Hub.files.pop("/glue/data/RTE.zip")
        with self.assertRaises(download_glue.Fault) as caught:
            self.download("RTE")
        told = str(caught.exception)
        self.assertIn(f"{self.base}/glue/data/RTE.zip   ({len(body)} bytes)", told)
        self.assertIn(str(self.out / "raw"), told)
        self.assertIn("--glue", told)
        (self.out / "raw").mkdir(parents=True, exist_ok=True)
        (self.out / "raw" / "RTE.zip").write_bytes(body)
        self.download("RTE")
        self.assertEqual(self.text("RTE/train.tsv"), "a train\n")

    def test_a_file_of_somebody_else_is_not_overwritten(self):
        (self.out / "raw").mkdir(parents=True)
        (self.out / "raw" / "RTE.zip").write_bytes(b"mine")
        with self.assertRaisesRegex(download_glue.Fault, "4 bytes, but not those of the official file"):
            self.download("RTE")
        self.assertEqual((self.out / "raw" / "RTE.zip").read_bytes(), b"mine")

    def test_mistakes(self):
        with self.assertRaisesRegex(download_glue.Mistake, "no task 'XX'"):
            self.download("XX")
        script = ROOT / "scripts/get_glue.sh"
        for arguments in ([], [""], [self.out, "XX"]):
            self.assertEqual(subprocess.run(["bash", script, *arguments], capture_output=True).returncode, 2)
        told = subprocess.run(["bash", script, "--help"], capture_output=True, text=True)
        self.assertEqual(told.returncode, 0)
        self.assertIn("Usage:", told.stdout)
        self.assertIn("GLUE_BASE", told.stdout)

    def test_the_table_has_the_tasks_of_the_readers(self):
        table = (ROOT / "data/glue_tasks.cpp").read_text()
        for task, files in self.official.items():
            self.assertIn(f'.title = "{task}"', table)
            for path, size, sha256 in files:
                self.assertTrue(size > 0 and len(sha256) == 64, path)


if __name__ == "__main__":
    unittest.main()
