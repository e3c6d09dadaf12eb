"""Figs. 1, 9 and 10: every block, drawn from the built modules."""
import json
import re
import shutil
import subprocess
import sys

import style
import verdict
from experiment import ROOT, Experiment, block_settings
from files import whole

GPT, BERT = ROOT / "configs/codeparrot.yaml", ROOT / "configs/bert_crammed.yaml"
OTHERS = ("post_ln", "op")  # blocks of the program that the paper does not draw
# Skips and norms.
PAPER = {"pre_ln": (2, 2), "parallel": (1, 1), "v_skipinit": (1, 2), "sas": (1, 2), "sas_p": (0, 1), "sas_p_nonorm": (0, 0)}
LIGHTER = ("sas", "sas_p")  # without W_V and W_P
MILLIONS = {GPT: {"pre_ln": 167, "sas": 146, "sas_p": 146}, BERT: {"pre_ln": 120, "sas": 101, "sas_p": 101}}
COLUMNS = 4  # of blocks in one picture
COUNTED = {GPT: "in the authors' counting", BERT: "trained parameters"}  # the line of skipless info that has them


def settings(block):
    """The overrides of a config that make it this block."""
    made = [f"model.block={block}"] if block in OTHERS else block_settings(block)
    return made + ["model.v_skipinit.form=eq4"] if block == "v_skipinit" else made


def graphviz(text, program, *options):
    """What one of Graphviz's programs makes of a graph."""
    return subprocess.run([program, *options], input=text, capture_output=True, text=True, check=True).stdout


def draw(text, stem, *program):
    """stem.dot, .png and .pdf."""
    stem.with_suffix(".dot").write_text(text, encoding="utf-8")
    for form, dots in (("png", 90), ("pdf", 72)):
        with whole(stem.with_suffix(f".{form}")) as temporary:
            graphviz(text, *program, f"-T{form}", f"-Gdpi={dots}", f"-o{temporary}")


def together(graphs):
    """One graph of all of them in rows, each in a frame, with their places."""
    framed = [re.sub(r'^digraph "(.*?)"', r'digraph "\1" { subgraph "cluster_\1"', text) + "}" for text in graphs]
    placed = [graphviz(text, "dot", "-Tdot") for text in framed]
    return graphviz("".join(placed), "gvpack", f"-array_tu{COLUMNS}")


def parts(block, graph):
    """A row of the CSV for each part."""
    wanted = ("kind", "part", "does", "columns_in", "columns_out", "parameters", "gains")
    return [{"block": block} | {key: node.get(key, "").replace("\n", " ") for key in wanted}
            for node in graph["objects"] if node.get("kind") not in ("input", "output")]


def millions(experiment, config, block):
    text = experiment.ask(["info", config, *settings(block)])
    return int(re.search(rf"^{COUNTED[config]}\s+(\d+)", text, re.MULTILINE)[1]) / 1e6


def verdicts(experiment, graphs):
    def counts(block):
        return int(graphs[block]["skips"]), int(graphs[block]["norms"])

    def of_block(block):
        return int(graphs[block]["parameters"])

    found = [verdict.holds(f"skips and norms of a block: {style.name_of(block)}", "{} and {}".format(*wanted),
                           "{} and {}".format(*counts(block)), "the same", counts(block) == wanted)
             for block, wanted in PAPER.items()]
    found += [verdict.reported(f"a block of {style.name_of(block)} has fewer parameters than one of Pre-LN",
                               "16 % of a whole BERT, with its embeddings", f"{100 * (1 - of_block(block) / of_block('pre_ln')):.1f} %",
                               "of a block alone") for block in LIGHTER]
    found += [verdict.near(f"millions of parameters of {style.name_of(block)}, {config.stem}", str(value),
                           millions(experiment, config, block), value, 0.5, ".1f")
              for config, values in MILLIONS.items() for block, value in values.items()]
    return found


def main():
    experiment = Experiment("blocks")
    if shutil.which("dot") is None:
        sys.exit("there is no dot: scripts/setup.sh installs Graphviz where apt-get does, and draws nothing without it")
    texts = {block: experiment.ask(["info", GPT, *settings(block), "--graph"]) for block in (*style.BLOCKS, *OTHERS)}
    experiment.folder.mkdir(parents=True, exist_ok=True)
    for block, text in texts.items():
        draw(text, experiment.folder / f"block_{block}", "dot")
    draw(together(texts.values()), experiment.folder / "blocks", "neato", "-n2")
    graphs = {block: json.loads(graphviz(text, "dot", "-Tjson0")) for block, text in texts.items()}
    rows = [row for block, graph in graphs.items() for row in parts(block, graph)]
    experiment.finish("Blocks, as they are built", rows, verdicts(experiment, graphs),
                      note="Layer 9 of 18 of the paper's model, width 768. The numbers are the gains at the start.")


if __name__ == "__main__":
    main()
