"""Runs every figure's script, one after another, and then report.sh. Called again, each trains only what is missing."""
import argparse
import csv
import datetime
import json
import pathlib
import signal
import subprocess
import sys
import time

from mistakes import make_out
from report import SCRIPTS, WORDS, figure_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = ("begun", "script", "seconds", "exit code", *WORDS)


def written(file):
    """When, or None where there is no such file."""
    return file.stat().st_mtime_ns if file.is_file() else None


def counts(file):
    """How many verdicts of each word a figure's JSON has."""
    words = [verdict["word"] for verdict in json.loads(file.read_text(encoding="utf-8"))["verdicts"]]
    return {word: words.count(word) for word in WORDS}


def add_time(file, row):
    """Every execution has a row, those that were stopped too: what a figure cost is their sum."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = not file.is_file()
    with open(file, "a", encoding="utf-8", newline="") as output:
        writer = csv.DictWriter(output, COLUMNS, lineterminator="\n", restval="")
        if new:
            writer.writeheader()
        writer.writerow(row)


def draw(script, arguments, folder):
    """The exit code of a script, whose time is noted."""
    print(f"\n== {script}", flush=True)
    begun, summary = time.time(), folder / f"{figure_of(script)}.json"
    before = written(summary)
    # Ends when this process does.
    child = subprocess.Popen(["setpriv", "--pdeathsig", "TERM", ROOT / "scripts" / f"{script}.sh", *arguments])
    code = 143
    try:
        code = child.wait()
    finally:
        if child.poll() is None:
            child.terminate()
            child.wait()
        found = counts(summary) if written(summary) != before else {}
        seconds = round(time.time() - begun)
        add_time(folder / "times.csv", {"begun": datetime.datetime.fromtimestamp(begun).isoformat(timespec="seconds"),
                                        "script": script, "seconds": seconds, "exit code": code} | found)
    verdicts = ", ".join(f"{count} {word}" for word, count in found.items())
    print(f"-- {script}: {seconds} s, {f'failed with code {code}' if code else verdicts or 'drew nothing'}", flush=True)
    return code


def stop(*_):
    """Ends this process, once: a second signal would cut off what it still has to write."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(143)


def main():
    parser = argparse.ArgumentParser(prog="reproduce_all", description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--scale", choices=("smoke", "micro", "small", "paper"), required=True)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("figures"), help="folder of data, runs and pictures")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, stop)
    make_out(arguments.out)
    out = arguments.out.absolute()
    options = ["--scale", arguments.scale, "--out", str(out)]
    failed = [script for script in SCRIPTS if draw(script, options, out / arguments.scale) != 0]
    if subprocess.run([ROOT / "scripts/report.sh", *options], check=False).returncode != 0:
        failed.append("report")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
