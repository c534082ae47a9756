"""Bring the outputs that the documentation shows in line with what the commands print.

A shown output is a fenced block after a marker, and the marker names the command:

    <!-- output of: netclaim try -f examples/manifests/poc-demo-a.yaml -->

The command runs in a directory that has the repository's `examples` and the page's own files: its
fenced blocks with a title, such as ```yaml title="pod.yaml". `--check` changes nothing and fails
where a block is not current. Times, hardware addresses, UIDs and the ends of generated names differ
from run to run and are not compared. Which of the pods that start together gets which address
differs as well: the same addresses have to be shown, in any order.
"""

import argparse
import difflib
import itertools
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).parent.parent
DOCUMENTS: Final = (CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md")))
SHOWN: Final = re.compile(
    r"(<!-- output of: (?P<command>.+?) -->\n```console\n)(?P<text>.*?)(```\n)", re.DOTALL
)
TITLED: Final = re.compile(
    r'^```\w+ title="(?P<name>[\w.-]+)"\n(?P<text>.*?)^```$', re.DOTALL | re.MULTILINE
)
VARYING: Final = re.compile(
    r"\b\d+(?:\.\d+)? s\b|\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b"
    r"|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"  # UIDs
    r"|(?<=-)[bcdfghjklmnpqrstvwxz2456789]{5}\b"  # the end of a name that a controller made
)
# With four numbers or two colons, which times of day do not have in these outputs.
ADDRESS: Final = re.compile(r"\b\d+(?:\.\d+){3}\b|\b[0-9a-f]*(?::[0-9a-f]*){2,}\b")


def unvarying(text: str) -> tuple[str, list[str]]:
    """Return what is the same in every run: the text around addresses, and the addresses sorted."""
    text = VARYING.sub("", text)
    return ADDRESS.sub("", text), sorted(ADDRESS.findall(text))


def titled(document: str) -> dict[str, str]:
    """Return the files that a page shows, by name."""
    return {match["name"]: match["text"] for match in TITLED.finditer(document)}


def commands(document: str) -> list[str]:
    """Return the commands whose output a page shows."""
    return [match["command"] for match in SHOWN.finditer(document)]


def output(command: str, where: Path) -> str:
    """Return what the command shows on a screen without colours, below the command itself."""
    piped = itertools.groupby(shlex.split(command), lambda word: word == "|")
    parts = [_program(list(words)) for is_pipe, words in piped if not is_pipe]
    done = subprocess.run(
        ["sh", "-c", " | ".join(map(shlex.join, parts))],
        cwd=where, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False, env={**os.environ, "PYTHONUNBUFFERED": "1"},  # both streams in true order
    )  # fmt: skip
    return f"$ {command}\n{done.stdout}"


def _program(words: list[str]) -> list[str]:
    """Return a command with this checkout's netclaim."""
    return [sys.executable, "-m", *words] if words[0] == "netclaim" else words


def current(document: str) -> str:
    """Return the document with current outputs; times stay where nothing else changed."""
    with tempfile.TemporaryDirectory(prefix="netclaim-page-") as name:
        where = Path(name)
        (where / "examples").symlink_to(CHECKOUT / "examples")
        for file, text in titled(document).items():
            (where / file).write_text(text)

        def renew(match: re.Match[str]) -> str:
            text = output(match["command"], where)
            same = unvarying(text) == unvarying(match["text"])
            return match[1] + (match["text"] if same else text) + match[4]

        return SHOWN.sub(renew, document)


def main() -> None:
    """Write, or only look."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="Change nothing; fail if not current.")
    parser.add_argument("pages", nargs="*", type=Path, help="Pages; all by default.")
    options = parser.parse_args()
    stale = []
    for path in options.pages or DOCUMENTS:
        before = path.read_text()
        after = current(before)
        if after != before:
            stale.append(path.name)
            if options.check:
                lines = difflib.unified_diff(
                    before.splitlines(), after.splitlines(), path.name, "as printed now", n=1
                )
                print(*lines, sep="\n", file=sys.stderr)
            else:
                path.write_text(after)
    if options.check and stale:
        sys.exit(f"not current: {', '.join(stale)}; run scripts/shown_output.py")


if __name__ == "__main__":
    main()
