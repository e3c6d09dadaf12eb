"""The texts that figures train on, made where they are missing."""
import os
import pathlib
import subprocess
import sys
import sysconfig

from mistakes import refuse

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPLESS = ROOT / "build/release/skipless"
FETCHED = {name: ROOT / "data" / name / "data" for name in ("codeparrot", "pile")}  # by scripts/get_NAME.sh data/NAME

# The interpreter's standard library under a committed tokenizer: a BPE, and for masked language models a WordPiece.
LIBRARY = {"python": "python_4096", "python_words": "english_8192"}


def folder(out, name):
    """Where the tokens of the text `name` are."""
    return FETCHED.get(name, pathlib.Path(out) / "data" / name)


def prepare(out, name):
    """Makes them. What is there is left alone."""
    place = folder(out, name)
    if name in LIBRARY:
        _run(SKIPLESS, "prepare", sysconfig.get_paths()["stdlib"], "--glob", "*.py", "--exclude", "site-packages",
             "--exclude", "dist-packages", "--tokenizer", ROOT / "data/tokenizers" / LIBRARY[name], "--out", place)
    elif name == "english":
        _english(place)
    elif not place.is_dir():
        refuse(f"there is no {place}: scripts/get_{name}.sh makes it in data/{name}, and says how where there is no network")


def _english(place):
    """The English text of SKIPLESS_SHARED (../shared), else the docstrings of the machine's Python packages, under a
    WordPiece of 8,192 tokens trained on it."""
    texts = pathlib.Path(os.environ.get("SKIPLESS_SHARED", ROOT.parent / "shared")) / "data/text"
    collected, tokenizer = place.with_name("english.jsonl"), place.with_name("english_tokenizer")
    source = [texts] if texts.is_dir() else ["--docstrings"]
    _run(sys.executable, ROOT / "scripts/collect_text.py", "--out", collected, *source)
    if not (tokenizer / "tokenizer.json").is_file():
        _run(sys.executable, ROOT / "scripts/train_wordpiece.py", "--vocab-size", "8192", "--field", "text",
             "--out", tokenizer / "tokenizer.json", collected)
    _run(SKIPLESS, "prepare", collected, "--field", "text", "--tokenizer", tokenizer, "--validation-fraction", "0.01",
         "--out", place)


def _run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{pathlib.Path(command[0]).name} {command[1]} ended with code {done.returncode}:\n{done.stdout[-2000:]}"
                 f"{done.stderr[-2000:]}")
