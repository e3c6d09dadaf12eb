#!/usr/bin/env python3
"""scripts/build_device_check.sh names the sources of a program that needs LibTorch alone. Holds its list to the build that is
there anyway: what the linker takes for tests/device_check must be in it, and nothing in it may read a header of a package
that a machine with a card need not have.

    .venv/bin/python tests/device/check_sources.py build/release
"""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOREIGN = re.compile(r"/(nlohmann|yaml-cpp|spdlog|hwy|catch2|CLI|utf8proc|unicode)/|/(xxhash|zlib|zstd|pcre2|utf8proc)\.h$")
# In the place of these the list has tests/device/bare.
KERNELS = re.compile(r"^models/kernels/[a-z_]+\.cpp$")


def run(*command, folder=ROOT):
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def linked_sources(build, objects):
    """The sources whose objects are in tests/device_check: its own, and the members that the linker takes from libraries."""
    command = run("ninja", "-t", "commands", "tests/device_check", folder=build).splitlines()[-1]
    command = command.removeprefix(": && ").removesuffix(" && :").replace("-fuse-ld=mold", "-fuse-ld=bfd")
    # With two -t, GNU ld tells every member that it takes.
    trace = run("sh", "-c", command.replace("-o tests/device_check", "-o /dev/null -Wl,-t,-t"), folder=build)
    members = set(re.findall(r"libskipless_(\w+)\.a\)(\S+\.o)", trace))
    found = set()
    for target, source in objects.items():
        library = re.search(r"skipless_(\w+)\.dir/", target)
        if library and (library[1], pathlib.Path(target).name) in members:
            found.add(source)
        if "device_check.dir/" in target:
            found.add(source)
    return found


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
            objects[entry["output"]] = str(source.relative_to(ROOT))
    listed = set(run("scripts/build_device_check.sh", "--list").split())
    own = {source for source in listed if not source.startswith("tests/device/bare/")}
    problems = [f"{source}: listed, and not there" for source in listed if not (ROOT / source).is_file()]
    linked = {source for source in linked_sources(build, objects) if not KERNELS.match(source)}
    problems += [f"{source}: linked into device_check, but not in scripts/build_device_check.sh" for source in linked - own]
    for source in listed:
        # LibTorch's fmt is newer than the system's, with which the build is made.
        text = (ROOT / source).read_text()
        if "fmt::join" in text and "<fmt/ranges.h>" not in text:
            problems.append(f"{source}: fmt::join is in <fmt/ranges.h>")
    headers = headers_of(build)
    for target, source in objects.items():
        if source not in own:
            continue
        foreign = sorted(header for header in headers.get(target, []) if FOREIGN.search(header))
        problems += [f"{source} reads {foreign[0]}"] if foreign else []
    checked = sum(1 for target, source in objects.items() if source in own and headers.get(target))
    if checked < len(own):
        problems.append(f"the build knows the headers of {checked} of {len(own)} sources only")
    print("\n".join(sorted(set(problems))) or f"{len(own)} sources, {len(linked)} of them linked, none reads a foreign header")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
