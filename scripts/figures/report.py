"""One HTML page of all that the figures of a scale left: verdicts, pictures, tables and settings. It works offline."""
import argparse
import base64
import csv
import html
import json
import pathlib

from files import replace_file
from mistakes import refuse

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = (HERE / "order.txt").read_text(encoding="utf-8").split()

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-size: 13px; margin: .5rem 0; }
td, th { border: 1px solid #8886; padding: .2rem .5rem; text-align: left; vertical-align: top; }
img { max-width: 100%; background: white; }
pre { overflow-x: auto; font-size: 12px; }
.wide { overflow-x: auto; }
.agrees { color: #2a8a3e; } .differs { color: #d04a2a; } .undecided { color: #b08000; } .reported { color: #808080; }
.word { font-weight: 600; }
"""
WORDS = ("agrees", "differs", "undecided", "reported")


def figure_of(script):
    """The name that a script's figure has: of fig_depth, depth."""
    return script.removeprefix("fig_").removeprefix("table_")


def text(value):
    return html.escape(str(value))


def table(heads, rows):
    """`rows`: of cells that are HTML already."""
    lines = ["<div class='wide'><table>", "<tr>" + "".join(f"<th>{text(head)}</th>" for head in heads) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows]
    return "\n".join([*lines, "</table></div>"])


def folded(title, content):
    return f"<details><summary>{text(title)}</summary>\n{content}\n</details>"


def word(name):
    return f"<span class='word {name if name in WORDS else ''}'>{text(name)}</span>"


def csv_table(file):
    with open(file, encoding="utf-8", newline="") as lines:
        heads, *rows = csv.reader(lines)
    return table(heads, [[text(cell) for cell in row] for row in rows])


def section(name, summary, folder):
    """One figure."""
    parts = [f"<h2 id='{text(name)}'>{text(summary['title'])}</h2>"]
    if summary["note"]:
        parts.append(f"<p>{text(summary['note'])}</p>")
    picture = folder / f"{name}.png"
    if picture.is_file():
        data = base64.b64encode(picture.read_bytes()).decode("ascii")
        parts.append(f"<img alt='{text(summary['title'])}' src='data:image/png;base64,{data}'>")
    parts.append(table(("verdict", "claim", "paper", "measured", "tolerance"),
                       [[word(verdict["word"]), *(text(verdict[key]) for key in ("claim", "paper", "measured", "tolerance"))]
                        for verdict in summary["verdicts"]]))
    parts.append(folded("Numbers", csv_table(folder / f"{name}.csv")))
    parts.append(folded("Settings", f"<pre>{text(json.dumps(summary['settings'], indent=1))}</pre>"))
    if summary["runs"]:
        parts.append(folded(f"Runs ({len(summary['runs'])})", table(("label", "run"), [[text(label), text(run)]
                                                                                      for label, run in summary["runs"].items()])))
    return "\n".join(parts)


def page(folder):
    """The HTML of the figures in OUT/SCALE."""
    found = {}
    for numbers in sorted(folder.glob("*.csv")):
        file = numbers.with_suffix(".json")
        if file.is_file():
            found[numbers.stem] = json.loads(file.read_text(encoding="utf-8"))
    known = [figure_of(script) for script in SCRIPTS]
    names = [name for name in known if name in found] + [name for name in found if name not in known]
    missing = [f"scripts/{script}.sh" for script in SCRIPTS if figure_of(script) not in found]
    counts = {one: sum(verdict["word"] == one for name in names for verdict in found[name]["verdicts"]) for one in WORDS}
    parts = [
        "<!DOCTYPE html>", "<html lang='en'>", "<head><meta charset='utf-8'><meta name='viewport' content='width=device-width'>",
        f"<title>skipless: figures at scale {text(folder.name)}</title><style>{STYLE}</style></head>", "<body>",
        f"<h1>Figures and tables at scale {text(folder.name)}</h1>",
        "<p>He and Hofmann, “Simplifying Transformer Blocks” (ICLR 2024): what the paper reports, and what was measured here.</p>",
        "<p>" + ", ".join(f"{word(one)} {count}" for one, count in counts.items()) + "</p>",
    ]
    if missing:
        parts.append(f"<p>Missing: {text(', '.join(missing))}</p>")
    parts.append(table(("figure", "verdict", "claim", "paper", "measured"),
                       [[f"<a href='#{text(name)}'>{text(name)}</a>", word(verdict["word"]),
                         *(text(verdict[key]) for key in ("claim", "paper", "measured"))]
                        for name in names for verdict in found[name]["verdicts"]]))
    parts += [section(name, found[name], folder) for name in names]
    times = folder / "times.csv"
    if times.is_file():
        parts += ["<h2>Wall times</h2>", csv_table(times)]
    return "\n".join([*parts, "</body>", "</html>", ""])


def main():
    parser = argparse.ArgumentParser(prog="report", description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--scale", choices=("smoke", "micro", "small", "paper"), default="micro")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("figures"), help="folder of data, runs and pictures")
    arguments = parser.parse_args()
    folder = arguments.out / arguments.scale
    if not folder.is_dir():
        refuse(f"report: there is no {folder}: no figure of this scale was drawn")
    target = folder / "report.html"
    content = page(folder)
    replace_file(target, lambda file: file.write(content))
    print(f"{target} is written")


if __name__ == "__main__":
    main()
