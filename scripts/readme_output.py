"""Bring the outputs that the documentation shows in line with what the commands print.

A shown output is a fenced block after a marker, and the marker names the command:

    <!-- output of: netclaim try -f examples/manifests/poc-demo-a.yaml -->

`--check` changes nothing and fails where a block is not current. Times and hardware addresses
differ from run to run and are not compared.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parent.parent
DOCUMENTS = ("README.md", "docs/status.md", "docs/tenant-network.md")
SHOWN = re.compile(
    r"(<!-- output of: (?P<command>.+?) -->\n```console\n)(?P<text>.*?)(```\n)", re.DOTALL
)
VARYING = re.compile(r"\b\d+(?:\.\d+)? s\b|\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b")


def output(command: str) -> str:
    """What the command shows on a screen without colours, below the command itself."""
    arguments = shlex.split(command)
    if arguments[0] == "netclaim":
        arguments[:1] = [sys.executable, "-m", "netclaim"]
    done = subprocess.run(
        arguments, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False, env={**os.environ, "PYTHONUNBUFFERED": "1"},  # both streams in true order
    )  # fmt: skip
    return f"$ {command}\n{done.stdout}"


def current(document: str) -> str:
    """The document with every shown output as it is now; times stay where nothing else changed."""

    def renew(match: re.Match[str]) -> str:
        text = output(match["command"])
        same = VARYING.sub("", text) == VARYING.sub("", match["text"])
        return match[1] + (match["text"] if same else text) + match[4]

    return SHOWN.sub(renew, document)


def main() -> None:
    """Write, or only look."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="Change nothing; fail if not current.")
    check = parser.parse_args().check
    stale = []
    for name in DOCUMENTS:
        path = CHECKOUT / name
        before = path.read_text()
        after = current(before)
        if after != before:
            stale.append(name)
            if not check:
                path.write_text(after)
    if check and stale:
        sys.exit(f"not current: {', '.join(stale)}; run scripts/readme_output.py")


if __name__ == "__main__":
    main()
