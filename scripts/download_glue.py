#!/usr/bin/env python3
"""Fetches the official files of the GLUE tasks and lays them out, with nothing but Python's standard library.

    python3 scripts/download_glue.py FOLDER [TASK ...]

FOLDER/raw gets what is fetched, FOLDER/TASK the TSV files. Sizes and SHA-256 sums are checked. Safe to run again: what is
whole is not fetched anew, what was cut off goes on where it stopped. A file that somebody else put into FOLDER/raw is taken
as if it had been fetched. Setting from the environment: GLUE_BASE, a mirror of the server.
"""
import argparse
import os
import pathlib
import urllib.parse
import zipfile

from download_dataset import Download, Fault, Mistake, hash_of, megabytes, run

# Path on the server, bytes, SHA-256: as the loader of the `datasets` package had them. They could not be fetched when this
# was written (no network there); the three of MRPC were there, and had these sums.
FILES = {
    "CoLA": [("glue/data/CoLA.zip", 376971, "f212fcd832b8f7b435fb991f101abf89f96b933ab400603bf198960dfc32cbff")],
    "SST-2": [("glue/data/SST-2.zip", 7439277, "d67e16fb55739c1b32cdce9877596db1c127dc322d93c082281f64057c16deaa")],
    "MRPC": [
        ("senteval/senteval_data/msr_paraphrase_train.txt", 1047044,
         "60a9b09084528f0673eedee2b69cb941920f0b8cd0eeccefc464a98768457f89"),
        ("senteval/senteval_data/msr_paraphrase_test.txt", 441275,
         "a04e271090879aaba6423d65b94950c089298587d9c084bf9cd7439bd785f784"),
        ("glue/data/mrpc_dev_ids.tsv", 6222, "971d7767d81b997fd9060ade0ec23c4fc31cbb226a55d1bd4a1bac474eb81dc7")],
    "QQP": [("glue/data/QQP-clean.zip", 41696084, "40e7c862c04eb26ee04b67fd900e76c45c6ba8e6d8fab4f8f1f8072a1a3fbae0")],
    "STS-B": [("glue/data/STS-B.zip", 802872, "e60a6393de5a8b5b9bac5020a1554b54e3691f9d600b775bd131e613ac179c85")],
    "MNLI": [("glue/data/MNLI.zip", 312783507, "e7c1d896d26ed6caf700110645df426cc2d8ebf02a5ab743d5a5c68ac1c83633")],
    "QNLI": [("glue/data/QNLIv2.zip", 10627589, "e634e78627a29adaecd4f955359b22bf5e70f2cbd93b493f2d624138a0c0e5f5")],
    "RTE": [("glue/data/RTE.zip", 697150, "6bf86de103ecd335f3441bd43574d23fef87ecc695977a63b82d5efb206556ee")],
    "WNLI": [("glue/data/WNLI.zip", 28999, "ae0e8e4d16f4d46d4a0a566ec7ecceccfd3fbfaa4a7a4b4e02848c0f2561ac46")],
    "AX": [("glue/data/AX.tsv", 222257, "0e13510b1bb14436ff7e2ee82338f0efb0133ecf2e73507a697dc210db3f05fd")],
}


class GlueServer(Download):
    refusal = "the file is no longer given out there"

    def url_of(self, path):
        return f"{self.base}/{urllib.parse.quote(path)}"

    def authorise(self, request):
        pass


def raw_file(folder, path):
    return folder / "raw" / pathlib.PurePosixPath(path).name


def write(target, data):
    """Whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    part.write_bytes(data)
    os.replace(part, target)


def unpack(archive, target):
    """The TSV files at the top of the archive's one folder; below it is what they were made of."""
    with zipfile.ZipFile(archive) as content:
        for name in content.namelist():
            parts = pathlib.PurePosixPath(name).parts
            if len(parts) == 2 and parts[1].endswith(".tsv") and not parts[0].startswith("__"):
                write(target / parts[1], content.read(name))


def rows_of(path):
    """(label, id, id, sentence, sentence) of the lines of a file of the paraphrase corpus, its header first."""
    text = path.read_text(encoding="utf-8-sig")
    return [line.strip().split("\t") for line in text.split("\n") if line.strip()]


def lay_out_mrpc(train, test, dev_ids, target):
    """By the rule of GLUE's own script: the test set as it is, without labels; the rest divided by the list of ids."""
    def text(rows):
        return "".join("\t".join(row) + "\n" for row in rows).encode()

    ids = {tuple(row) for row in rows_of(dev_ids)}
    header, *rows = rows_of(train)
    write(target / "train.tsv", text([header] + [row for row in rows if tuple(row[1:3]) not in ids]))
    write(target / "dev.tsv", text([header] + [row for row in rows if tuple(row[1:3]) in ids]))
    _, *rows = rows_of(test)
    write(target / "test.tsv", text([["index", *header[1:]]] +
                                    [[str(index), *row[1:]] for index, row in enumerate(rows)]))


def lay_out(task, folder):
    sources = [raw_file(folder, path) for path, _, _ in FILES[task]]
    if task == "MRPC":
        lay_out_mrpc(*sources, folder / task)
    elif task == "AX":
        write(folder / "diagnostic" / "diagnostic.tsv", sources[0].read_bytes())
    else:
        unpack(sources[0], folder / task)


def by_hand(server, folder, files):
    lines = [f"  {server.url_of(path)}   ({size} bytes)" for path, size, _ in files]
    return (f"\nWhere there is no network: fetch these files elsewhere, put them into {folder / 'raw'} under their own "
            "names and run the same command again:\n" + "\n".join(lines) +
            "\nOr give a folder that has the tasks already to `skipless finetune --glue FOLDER`.")


def fetch(server, folder, files):
    for path, size, sha256 in files:
        target = raw_file(folder, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            raise Fault(f"{target}: {target.stat().st_size} bytes, but not those of the official file ({size} bytes, "
                        f"SHA-256 {sha256}); remove it to fetch it anew")
        server.fetch(path, size, sha256, target)
        print(f"{path}: {megabytes(size)}, SHA-256 checked", flush=True)


def download(arguments):
    known = {task.lower().replace("-", ""): task for task in FILES}
    names = [task.lower().replace("-", "").replace("_", "") for task in arguments.task]
    for given, name in zip(arguments.task, names):
        if name not in known:
            raise Mistake(f"there is no task {given!a:.100}; the tasks are {', '.join(FILES)}")
    tasks = [known[name] for name in dict.fromkeys(names)] or list(FILES)
    server = GlueServer(arguments.base, "GLUE", "", arguments.timeout, arguments.retries, arguments.pause)
    missing = []
    for path, size, sha256 in (file for task in tasks for file in FILES[task]):
        target = raw_file(arguments.folder, path)
        if not target.is_file() or target.stat().st_size != size or hash_of(target) != sha256:
            missing.append((path, size, sha256))
    print(f"GLUE: {', '.join(tasks)}; to fetch: {len(missing)} files, {megabytes(sum(file[1] for file in missing))}")
    try:
        fetch(server, arguments.folder, missing)
    except Fault as fault:
        left = [file for file in missing if not raw_file(arguments.folder, file[0]).is_file()]
        raise Fault(f"{fault}{by_hand(server, arguments.folder, left)}" if left else str(fault)) from fault
    for task in tasks:
        lay_out(task, arguments.folder)
    print(f"skipless finetune RUN --task all --glue {arguments.folder}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("task", nargs="*", help=f"of {', '.join(FILES)}; default: all")
    run("download_glue", parser, "server", "GLUE_BASE", "dl.fbaipublicfiles.com", 3, download, zipfile.BadZipFile,
        UnicodeDecodeError)


if __name__ == "__main__":
    main()
