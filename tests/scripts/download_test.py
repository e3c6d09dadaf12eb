#!/usr/bin/env python3
"""Tests of scripts/download_dataset.py, get_codeparrot.sh and get_pile.sh against a local server that truncates, stalls,
ignores ranges, answers 404, 429 and 500, and sends wrong bytes. Usage: python3 tests/scripts/download_test.py
"""
import hashlib
import http.server
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Hub(http.server.BaseHTTPRequestHandler):
    """A hub with one dataset. `faults`: path -> what happens at its next requests."""

    files = {}
    faults = {}
    requests = []
    listing_fault = []
    page = 2

    def log_message(self, *_):
        pass

    def answer(self, code, body=b"", headers=(), length=None):
        self.send_response(code)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        path = urllib.parse.unquote(url.path)
        if path.startswith("/api/datasets/"):
            return self.list_files(urllib.parse.parse_qs(url.query))
        name = path.split("/resolve/main/", 1)[-1]
        first = int(self.headers.get("Range", "bytes=0-")[6:].split("-")[0])
        Hub.requests.append((name, first))
        fault = Hub.faults[name].pop(0) if Hub.faults.get(name) else None
        if isinstance(fault, int):
            return self.answer(fault)
        if name not in Hub.files:
            return self.answer(404)
        body = Hub.files[name]
        if fault == "wrong":
            body = bytes(len(body))
        if fault == "longer":
            body += b"!"
        if fault == "no ranges":
            first = 0
        body = body[first:]
        code = 206 if first > 0 else 200
        if fault == "truncate":
            self.answer(code, body[: len(body) // 2], length=len(body))
            self.close_connection = True
        elif fault == "stall":
            self.answer(code, body[: len(body) // 3], length=len(body))
            self.wfile.flush()
            time.sleep(0.8)
        else:
            self.answer(code, body)

    def list_files(self, query):
        if Hub.listing_fault:
            return self.answer(Hub.listing_fault.pop(0))
        names = sorted(Hub.files)
        start = int(query.get("cursor", ["0"])[0])
        entries = [{"type": "directory", "path": "train", "size": 0}]
        for name in names[start : start + Hub.page]:
            entry = {"type": "file", "path": name, "size": len(Hub.files[name])}
            if not name.startswith("small"):
                entry["lfs"] = {"oid": hashlib.sha256(Hub.files[name]).hexdigest(), "size": entry["size"]}
            entries.append(entry)
        link = []
        if start + Hub.page < len(names):
            link = [("Link", f'<http://{self.headers["Host"]}{self.path.split("?")[0]}?recursive=true'
                             f'&cursor={start + Hub.page}>; rel="next"')]
        self.answer(200, json.dumps(entries).encode(), link)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # a client that went away


class DownloadTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(("127.0.0.1", 0), Hub)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.base = f"http://127.0.0.1:{cls.server.server_port}"

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def setUp(self):
        numbers = random.Random(1)
        Hub.files = {
            "README.md": b"read me",
            "small.json.gz": b"no published sum",
            "a b.json.gz": numbers.randbytes(3_000_000),
            "train/00.jsonl.zst": numbers.randbytes(300_000),
            "train/01.jsonl.zst": numbers.randbytes(1000),
        }
        Hub.faults, Hub.requests, Hub.listing_fault = {}, [], []
        self.folder = tempfile.TemporaryDirectory()
        self.out = pathlib.Path(self.folder.name) / "out"

    def tearDown(self):
        self.folder.cleanup()

    def download(self, *arguments, match=("*.json.gz",)):
        command = [sys.executable, ROOT / "scripts/download_dataset.py", "some/set", self.out, "--base", self.base,
                   "--timeout", "0.3", "--pause", "0.01", "--retries", "3", *arguments]
        for glob in match:
            command += ["--match", glob]
        return subprocess.run(command, capture_output=True, text=True)

    def check_whole(self, *names):
        for name in names:
            self.assertEqual((self.out / name).read_bytes(), Hub.files[name])
        self.assertEqual(list(self.out.rglob("*.part")), [])

    def test_files_arrive_whole_and_are_not_fetched_twice(self):
        result = self.download()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.check_whole("a b.json.gz", "small.json.gz")
        self.assertFalse((self.out / "README.md").exists())
        self.assertIn("SHA-256 checked", result.stdout)
        self.assertIn("no SHA-256 is published", result.stdout)
        Hub.requests.clear()
        self.assertEqual(self.download().returncode, 0)
        self.assertEqual(Hub.requests, [])

    def test_a_file_that_is_cut_off_or_stalls_goes_on_where_it_stopped(self):
        for fault in ("truncate", "stall"):
            with self.subTest(fault):
                (self.out / "a b.json.gz").unlink(missing_ok=True)
                Hub.requests.clear()
                Hub.faults = {"a b.json.gz": [fault, 500, fault, 429]}
                result = self.download()
                self.assertEqual(result.returncode, 0, result.stderr)
                self.check_whole("a b.json.gz")
                starts = [first for name, first in Hub.requests if name == "a b.json.gz"]
                self.assertEqual(starts[0], 0)
                self.assertTrue(0 < starts[1] == starts[2] < starts[3] == starts[4], starts)

    def test_a_later_run_goes_on_too(self):
        Hub.faults = {"a b.json.gz": ["truncate"] + [500] * 10}
        result = self.download()
        self.assertEqual(result.returncode, 1)
        self.assertIn("trying again, 3 of 3", result.stderr)
        self.assertIn("gave up after 4 tries without progress", result.stderr)
        self.assertIn("goes on from here", result.stderr)
        Hub.faults, Hub.requests[:] = {}, []
        self.assertEqual(self.download().returncode, 0)
        self.check_whole("a b.json.gz")
        self.assertEqual(Hub.requests[0], ("a b.json.gz", 1_500_000))

    def test_a_server_without_ranges_sends_all_again(self):
        Hub.faults = {"a b.json.gz": ["truncate", "no ranges"]}
        self.assertEqual(self.download().returncode, 0)
        self.check_whole("a b.json.gz")

    def test_wrong_bytes_are_noticed(self):
        Hub.faults = {"a b.json.gz": ["wrong"]}
        result = self.download()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.check_whole("a b.json.gz")
        self.assertIn("not the published one", result.stderr)
        (self.out / "a b.json.gz").unlink()
        Hub.faults = {"a b.json.gz": ["wrong", "wrong"]}
        result = self.download()
        self.assertEqual(result.returncode, 1)
        self.assertIn("twice", result.stderr)
        self.assertFalse((self.out / "a b.json.gz").exists())

    def test_a_file_of_another_size_is_noticed(self):
        Hub.faults = {"a b.json.gz": ["longer"]}
        result = self.download()
        self.assertEqual(result.returncode, 1)
        self.assertIn("would send 3000001 bytes, but its list says 3000000", result.stderr)
        (self.out / "small.json.gz").write_bytes(b"cut")
        self.assertEqual(self.download().returncode, 0)
        self.check_whole("a b.json.gz", "small.json.gz")

    def test_what_no_retry_cures_ends_at_once(self):
        for code, message in ((404, "there is no such dataset or file"), (401, "set HF_TOKEN"), (403, "set HF_TOKEN")):
            Hub.listing_fault = [code]
            result = self.download()
            self.assertEqual(result.returncode, 1)
            self.assertIn(message, result.stderr)
            self.assertNotIn("Traceback", result.stderr)
        Hub.faults = {"a b.json.gz": [404]}
        self.assertIn("404", self.download().stderr)
        self.assertIn("it has README.md, a b.json.gz", self.download(match=["*.parquet"]).stderr)
        result = self.download("--base", "http://127.0.0.1:9", "--retries", "1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("gave up after 2 tries", result.stderr)

    def run_script(self, *command, **settings):
        environment = {**os.environ, "HF_ENDPOINT": self.base, "SKIPLESS": "/bin/echo", **settings}
        return subprocess.run(["bash", *map(str, command)], capture_output=True, text=True, env=environment)

    def test_get_codeparrot(self):
        tokenizer = pathlib.Path(self.folder.name) / "tokenizer.json"
        tokenizer.touch()
        result = self.run_script(ROOT / "scripts/get_codeparrot.sh", self.out, tokenizer)
        self.assertEqual(result.returncode, 0, result.stderr)
        for split in ("train", "valid"):
            self.assertEqual((self.out / "raw" / split / "small.json.gz").read_bytes(), Hub.files["small.json.gz"])
        self.assertIn(f"prepare {self.out}/raw/train {self.out}/raw/valid --field content", result.stdout)
        self.assertEqual(self.run_script(ROOT / "scripts/get_codeparrot.sh").returncode, 2)

    def test_get_pile(self):
        result = self.run_script(ROOT / "scripts/get_pile.sh", self.out, 2)
        self.assertEqual(result.returncode, 0, result.stderr)
        for name in ("train/00.jsonl.zst", "train/01.jsonl.zst"):
            self.assertEqual((self.out / "raw" / name).read_bytes(), Hub.files[name])
        for wrong in (["0"], ["31"], ["x"], ["1", "t", "more"]):
            self.assertEqual(self.run_script(ROOT / "scripts/get_pile.sh", self.out, *wrong).returncode, 2)

    def test_mistakes_are_told_before_anything_is_fetched(self):
        for script, between in (("get_codeparrot.sh", ()), ("get_pile.sh", ("1",))):
            script = ROOT / "scripts" / script
            Hub.requests.clear()
            result = self.run_script(script, self.out, *between, "none")
            self.assertEqual(result.returncode, 2)
            self.assertIn("no tokenizer in 'none'", result.stderr)
            result = self.run_script(script, self.out, *between, ROOT / "README.md", SKIPLESS="/none/skipless")
            self.assertEqual(result.returncode, 2)
            self.assertIn("'/none/skipless' is no program", result.stderr)
            self.assertEqual(self.run_script(script, "").returncode, 2)
            self.assertEqual(Hub.requests, [])
            self.assertFalse(self.out.exists())
            told = self.run_script(script, "--help")
            self.assertEqual(told.returncode, 0)
            self.assertIn("Usage:", told.stdout)
            self.assertIn("SKIPLESS", told.stdout)

    def test_an_address_that_is_none_is_a_mistake_without_retry(self):
        for address in ("ftp://host", "host:80", "http://", "http://[::1", "http://host:port", "http://a b", ""):
            result = self.run_script(ROOT / "scripts/get_pile.sh", self.out, HF_ENDPOINT=address)
            self.assertEqual(result.returncode, 2, address)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertIn("expected http://HOST", result.stderr)


if __name__ == "__main__":
    unittest.main()
