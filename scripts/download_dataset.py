#!/usr/bin/env python3
"""Fetches files of a dataset on the Hugging Face hub, with nothing but Python's standard library.

    python3 scripts/download_dataset.py REPOSITORY FOLDER --match GLOB [--match GLOB...] [--revision REV]

Sizes and SHA-256 sums come from the hub's own listing and are checked. Safe to run again: files that are whole are not
fetched anew, a file that was cut off goes on where it stopped (HTTP ranges). A connection that breaks, stalls for
--timeout seconds, or a server that answers 429 or 5xx is tried again, --retries times without progress. Settings from the
environment: HF_ENDPOINT, the address of the hub or of a mirror; HF_TOKEN, for datasets that need a login.
"""
import argparse
import fnmatch
import hashlib
import http.client
import json
import os
import pathlib
import re
import shutil
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

BLOCK = 1 << 20


class Fault(Exception):
    """What no retry cures."""


class Mistake(Exception):
    """What the user can put right in the arguments or the environment."""


def address_of_hub(text):
    """The address without a slash behind it."""
    try:
        parts = urllib.parse.urlsplit(text)
        whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # brackets or a port that are none
        whole = False
    if not whole or any(c.isspace() or not c.isprintable() for c in text):
        raise Mistake(f"the address of the hub (HF_ENDPOINT, --base) is {text!a:.200}; expected http://HOST or "
                      "https://HOST, with :PORT and /PATH where they are needed")
    return text.rstrip("/")


class Download:
    """Files of one dataset. Another kind of server overrides url_of, authorise and refusal."""

    refusal = "this dataset needs a login: accept its terms on its page and set HF_TOKEN"

    def __init__(self, base, repository, revision, timeout, retries, pause):
        self.base = address_of_hub(base)
        self.repository = repository
        self.revision = revision
        self.timeout = timeout
        self.retries = retries
        self.pause = pause

    def url_of(self, path):
        return (f"{self.base}/datasets/{self.repository}/resolve/{urllib.parse.quote(self.revision, safe='')}/"
                f"{urllib.parse.quote(path)}")

    def authorise(self, request):
        if os.environ.get("HF_TOKEN"):
            # Not sent on to the storage that the hub redirects to.
            request.add_unredirected_header("Authorization", f"Bearer {os.environ['HF_TOKEN']}")

    def open(self, url, first=0):
        request = urllib.request.Request(url, headers={"User-Agent": "skipless", "Accept-Encoding": "identity"})
        if first > 0:
            request.add_header("Range", f"bytes={first}-")
        self.authorise(request)
        return urllib.request.urlopen(request, timeout=self.timeout)

    def retrying(self, what, attempt):
        """Calls attempt() until it returns something; it raises for what failed. attempt.progress: bytes so far."""
        failures, before = 0, attempt.progress()
        while True:
            try:
                return attempt()
            except urllib.error.HTTPError as error:
                if error.code in (401, 403):
                    raise Fault(f"{what}: the server answers {error.code}: {self.refusal}") from error
                if error.code == 404:
                    raise Fault(f"{what}: the server answers 404: there is no such dataset or file") from error
                if error.code not in (408, 416, 429) and error.code < 500:
                    raise Fault(f"{what}: the server answers {error.code} {error.reason}") from error
                problem = f"the server answers {error.code}"
            except (OSError, http.client.HTTPException, ConnectionError) as error:
                if isinstance(error, OSError) and error.errno in (28, 122, 13, 30):  # of the disk, not of the network
                    raise Fault(f"{what}: {error}") from error
                problem = f"no answer for {self.timeout:g} s" if isinstance(error, TimeoutError) else str(error)
            now = attempt.progress()
            failures = 1 if now > before else failures + 1
            before = max(before, now)
            if failures > self.retries:
                raise Fault(f"{what}: {problem}; gave up after {failures} tries without progress. The same command "
                            "goes on from here")
            print(f"{what}: {problem}; trying again, {failures} of {self.retries}", file=sys.stderr)
            time.sleep(min(60.0, self.pause * 2 ** (failures - 1)))

    def listing(self):
        """Path -> (size, SHA-256 or None) of the files of the dataset."""
        files = {}
        url = (f"{self.base}/api/datasets/{self.repository}/tree/{urllib.parse.quote(self.revision, safe='')}"
               "?recursive=true")
        while url:
            def attempt(url=url):
                with self.open(url) as answer:
                    return json.loads(answer.read()), answer.headers.get("Link", "")
            attempt.progress = lambda: 0
            entries, link = self.retrying(f"the list of files of {self.repository}", attempt)
            for entry in entries:
                if entry.get("type") == "file":
                    lfs = entry.get("lfs") or {}
                    files[entry["path"]] = (lfs.get("size", entry["size"]), lfs.get("oid"))
            following = re.search(r'<([^>]+)>\s*;\s*rel="next"', link)
            url = urllib.parse.urljoin(url, following.group(1)) if following else None
        return files

    def fetch(self, path, size, sha256, target):
        part = target.with_name(target.name + ".part")
        url = self.url_of(path)
        for last in (False, True):
            self.fetch_part(url, path, size, part)
            if sha256 is None or hash_of(part) == sha256:
                os.replace(part, target)
                return
            part.unlink()
            print(f"{path}: its SHA-256 is not the published one; fetching it anew", file=sys.stderr)
            if last:
                raise Fault(f"{path}: its SHA-256 is not {sha256}, twice")

    def fetch_part(self, url, path, size, part):
        def attempt():
            have = attempt.progress()
            if have > size:
                part.unlink()
                have = 0
            if have == size:
                return True
            with self.open(url, have) as answer:
                if have > 0 and answer.status != 206:
                    have = 0  # the server knows no ranges
                total = have + int(answer.headers.get("Content-Length", size - have))
                if total != size:
                    raise Fault(f"{path}: the server would send {total} bytes, but its list says {size}; the dataset "
                                "changed meanwhile: run the command again")
                with part.open("r+b" if have > 0 else "wb") as out:
                    out.seek(have)
                    while block := answer.read1(BLOCK):  # what came so far: a stall must not lose it
                        out.write(block)
                    out.truncate()
            if attempt.progress() < size:
                raise ConnectionError(f"the connection ended after {attempt.progress()} of {size} bytes")
            return True

        attempt.progress = lambda: part.stat().st_size if part.exists() else 0
        self.retrying(path, attempt)


def hash_of(path):
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def megabytes(size):
    return f"{size / 1e6:,.1f} MB"


def download(arguments):
    hub = Download(arguments.base, arguments.repository, arguments.revision, arguments.timeout, arguments.retries,
                   arguments.pause)
    listing = hub.listing()
    chosen = sorted(path for path in listing if any(fnmatch.fnmatchcase(path, glob) for glob in arguments.match))
    if not chosen:
        raise Fault(f"{arguments.repository} has no file that matches {', '.join(arguments.match)}; it has "
                    f"{', '.join(sorted(listing)[:20]) or 'none'}")
    missing = []
    for path in chosen:
        target = arguments.folder / path
        if not target.is_file() or target.stat().st_size != listing[path][0]:
            missing.append(path)
    wanted = sum(listing[path][0] for path in missing)
    print(f"{arguments.repository}: {len(chosen)} files, {megabytes(sum(listing[path][0] for path in chosen))}; "
          f"to fetch: {len(missing)}, {megabytes(wanted)}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    have = sum(part.stat().st_size for part in arguments.folder.rglob("*.part"))
    free = shutil.disk_usage(arguments.folder).free
    if wanted - have > free:
        raise Fault(f"{arguments.folder}: {megabytes(free)} are free, {megabytes(wanted - have)} are needed")
    for path in missing:
        target = arguments.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        start = time.monotonic()
        hub.fetch(path, *listing[path], target)
        checked = "SHA-256 checked" if listing[path][1] else "size checked, no SHA-256 is published"
        print(f"{path}: {megabytes(listing[path][0])} in {time.monotonic() - start:.0f} s, {checked}", flush=True)


def run(name, parser, server, variable, address, retries, download, *faults):
    """The rest of the program `name`: the options of the network, then download(arguments). `faults`: exceptions that end
    it with their message, besides those of files."""
    parser.add_argument("--base", default=os.environ.get(variable, f"https://{address}"),
                        help=f"address of the {server} (default: {variable}, or {address})")
    parser.add_argument("--timeout", type=float, default=60, help="seconds without a byte (default: 60)")
    parser.add_argument("--retries", type=int, default=retries, help=f"tries without progress (default: {retries})")
    parser.add_argument("--pause", type=float, default=1, help="seconds before the first new try, then doubled")
    try:
        download(parser.parse_args())
    except (Fault, OSError, *faults) as fault:
        sys.exit(f"{name}: {fault}")
    except Mistake as mistake:
        print(f"{name}: {mistake}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(f"{name}: interrupted; the same command goes on from here")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", help="such as huggingface-course/codeparrot-ds-valid")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--match", action="append", required=True, help="files to fetch; may be repeated")
    parser.add_argument("--revision", default="main")
    run("download_dataset", parser, "hub", "HF_ENDPOINT", "huggingface.co", 8, download)


if __name__ == "__main__":
    main()
