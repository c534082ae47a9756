"""Links of a node that look like ports of cards, as the topology says; see `docs/local.md`.

Run inside a node as `python -m lab.nodes.hardware`, with the links on standard input. What runs on
the node itself sees the cards; what runs in a pod has a sysfs of its own and does not.
"""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec

from lab import CHECKOUT
from lab.errors import BootError
from lab.nodes.linux import Process
from netclaim.local.machine.hardware import show_cards
from netclaim.local.topology import Link

__all__ = ["plug_cards"]

CARDS = Path("/run/cards")  # on the node


def plug_cards(init: Process, links: Iterable[Link]) -> None:
    """Make links of a node look like the hardware that they declare; others are left alone."""
    listed = list(links)
    if not any(link.hardware for link in listed):
        return
    inside = ["nsenter", "-t", str(init.pid), "-m", "-n", "-p", "--wd=/", "--"]
    done = subprocess.run(
        [*inside, sys.executable, "-m", "lab.nodes.hardware"],
        input=msgspec.json.encode(listed), capture_output=True, check=False,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    )  # fmt: skip
    if done.returncode != 0:
        raise BootError("the node's cards failed:", done.stderr.decode().strip())


if __name__ == "__main__":
    show_cards(msgspec.json.decode(sys.stdin.buffer.read(), type=list[Link]), CARDS)
