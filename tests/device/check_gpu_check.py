#!/usr/bin/env python3
"""Every step of scripts/gpu_check.sh that can be taken without a card: its arguments, all sections on the CPU with tiny models,
the report, the record of what has passed, and no record where a section has failed.

    .venv/bin/python tests/device/check_gpu_check.py build/release/tests/device_check
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECTIONS = ("card", "parity", "gradients", "kernels", "training", "host", "bench", "peers of sas_p", "limited bench", "limited fits")


def gpu_check(*arguments, state):
    environment = {**os.environ, "XDG_STATE_HOME": str(state), "OMP_WAIT_POLICY": "passive"}
    return subprocess.run([ROOT / "scripts/gpu_check.sh", *map(str, arguments)], cwd=ROOT, env=environment, text=True,
                          capture_output=True)


def require(holds, what, result=None):
    if not holds:
        sys.exit(f"check_gpu_check: {what}" + (f"\n{result.stdout}{result.stderr}" if result else ""))


def refusals(state):
    for arguments, message in (
            (["--nothing"], "'--nothing' is not an option"),
            (["--out"], "--out needs a value"),
            (["--python", "a", "--libtorch", "b"], "exclude each other"),
            (["--device", "gpu"], "not one of cuda"),
            (["--device", "cpu"], "a CPU is no card"),
            (["--device", "cuda:7"], "no card"),
            (["--device", "cpu", "--smoke", "--python", "/bin/false"], "no Python with torch"),
            (["--device", "cpu", "--smoke", "--program", "/nowhere"], "is no program"),
            (["--device", "cpu", "--smoke", "--python", sys.executable, "--out", "/dev/null/here"], "cannot be made"),
            (["--device", "cpu", "--smoke", "--libtorch", "/nowhere", "--out", state / "out"], "no LibTorch in '/nowhere'")):
        result = gpu_check(*arguments, state=state)
        require(result.returncode == 2, f"{arguments} ended with code {result.returncode}", result)
        require(message in result.stderr and result.stderr.count("\n") == 1, f"{arguments} was not refused in one line", result)


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        state = pathlib.Path(folder) / "state"
        record = state / "skipless/checked_cards.tsv"
        smoke = ["--device", "cpu", "--smoke", "--python", sys.executable, "--program", program]
        refusals(pathlib.Path(folder))
        require(not record.exists(), "a check that did not run was recorded")

        cases = pathlib.Path(folder) / "cases"
        shutil.copytree(ROOT / "tests/reference/device", cases)
        broken = cases / "sas.pt"
        broken.write_bytes(broken.read_bytes()[:2000])
        bare = ["--device", "cpu", "--smoke", "--libtorch", pathlib.Path(torch.__file__).parent, "--program", program]
        result = gpu_check(*bare, "--cases", cases, "--out", pathlib.Path(folder) / "failed", state=state)
        report = (pathlib.Path(folder) / "failed/gpu_check.md").read_text()
        require(result.returncode == 1 and "| parity | **FAILED** |" in report, "a broken case did not fail the check", result)
        require("skipped: no Python" in report, "the report does not say that peers need a Python")
        require("Not recorded" in report and not record.exists(), "a check that failed was recorded")

        others = "hash\t9.0\tNVIDIA H200\tabc\n"
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(others)
        result = gpu_check(*smoke, "--out", pathlib.Path(folder) / "passed", state=state)
        report = (pathlib.Path(folder) / "passed/gpu_check.md").read_text()
        require(result.returncode == 0, "the check did not pass", result)
        for section in SECTIONS:
            require(f"\n## {section}\n" in report and f"| {section} | " in report, f"the report has no section {section}")
        require("FAILED" not in report and "OUTSIDE" not in report, "something failed, and the check has passed")
        lines = record.read_text().splitlines()
        require(lines[0] + "\n" == others and len(lines) == 2 and "\ta CPU\t" in lines[1], f"the record is {lines}")
        print(report[report.index("## Result"):])


if __name__ == "__main__":
    main()
