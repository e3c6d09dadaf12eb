#!/usr/bin/env python3
"""scripts/build_device_check.sh names the sources of a program that needs LibTorch alone. Holds its list to the build that is
there anyway: its objects must link without our libraries, and nothing in it may read a header of a package that a machine with a
card need not have.

    .venv/bin/python tests/device/check_sources.py build/release
"""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOREIGN = re.compile(r"/(nlohmann|yaml-cpp|spdlog|hwy|catch2|CLI|utf8proc|unicode)/|/(xxhash|zlib|zstd|pcre2|utf8proc)\.h$")


def run(*command, folder=ROOT):
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def unresolved(build, objects, sources):
    """What is undefined where the program is linked from the listed sources, and the kernels of a build with CUDA, instead of our
    libraries."""
    listed = [target for target, source in objects.items()
              if re.search(r"(skipless_\w+|plain_parity|device_check|bare_kernels)\.dir/", target)
              and (source in sources or source.endswith(".cu"))]
    command = run("ninja", "-t", "commands", "tests/device_check", folder=build).splitlines()[-1]
    words = command.removeprefix(": && ").removesuffix(" && :").split()
    words = [word for word in words if not re.search(r"lib(skipless_\w+|plain_parity)\.a$", word) and "device_check.dir/" not in word]
    words[words.index("-o") + 1] = "/dev/null"
    result = subprocess.run([*words[:1], *listed, *words[1:]], cwd=build, capture_output=True, text=True)
    if result.returncode == 0:
        return []
    missing = sorted(set(re.findall(r"undefined (?:symbol:|reference to) (.*)", result.stderr)))
    return missing or [result.stderr.strip()]


def headers_of(build):
    """Object -> the files that the compiler read for it."""
    headers, target = {}, None
    for line in run("ninja", "-t", "deps", folder=build).splitlines():
        if line.startswith("    "):
            headers[target].append(line.strip())
        elif line:
            target = line.split(":")[0]
            headers[target] = []
    return headers


def main():
    build = ROOT / sys.argv[1]
    objects = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        if source.is_relative_to(ROOT):
            target = re.search(r" -o (\S+\.o)( |$)", entry["command"])
            if target:  # not of a precompiled header
                objects[target[1]] = str(source.relative_to(ROOT))
    listed = set(run("scripts/build_device_check.sh", "--list").split())
    problems = [f"{source}: listed, and not there" for source in listed if not (ROOT / source).is_file()]
    problems += [f"{symbol}: in no source of scripts/build_device_check.sh" for symbol in unresolved(build, objects, listed)]
    for source in listed:
        # LibTorch's fmt is newer than the system's, with which the build is made.
        text = (ROOT / source).read_text()
        if "fmt::join" in text and "<fmt/ranges.h>" not in text:
            problems.append(f"{source}: fmt::join is in <fmt/ranges.h>")
    headers = headers_of(build)
    for target, source in objects.items():
        if source not in listed:
            continue
        foreign = sorted(header for header in headers.get(target, []) if FOREIGN.search(header))
        problems += [f"{source} reads {foreign[0]}"] if foreign else []
    checked = len({source for target, source in objects.items() if source in listed and headers.get(target)})
    if checked < len(listed):
        problems.append(f"the build knows the headers of {checked} of {len(listed)} sources only")
    print("\n".join(sorted(set(problems))) or f"{len(listed)} sources: they link, and none reads a foreign header")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
