"""Links of a node that look like ports of cards, as the topology says; see `docs/local.md`.

Run inside a node as `python -m lab.hardware NODE`, with the topology on standard input. Limit: what
runs on the node itself sees the cards; what runs in a pod has a sysfs of its own and does not.
"""

import os
import subprocess
import sys
from pathlib import Path

from lab.errors import BootError
from lab.linux import Process
from netclaim.local.machine.hardware import show_cards
from netclaim.local.topology import Topology
from netclaim.local.topology_file import load_topology

__all__ = ["plug_cards"]

CHECKOUT = Path(__file__).parent.parent
CARDS = Path("/run/cards")  # on the node


def plug_cards(init: Process, topology: Topology, file: Path, node: str) -> None:
    """Let a node's links look like what the topology says; a node of plain links is left alone."""
    if not any(link.hardware for link in topology.all_links(node)):
        return
    inside = ["nsenter", "-t", str(init.pid), "-m", "-n", "-p", "--wd=/", "--"]
    done = subprocess.run(
        [*inside, sys.executable, "-m", "lab.hardware", node],
        input=file.read_text(), capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    )  # fmt: skip
    if done.returncode != 0:
        raise BootError(f"the cards of {node} failed:", done.stderr.strip())


if __name__ == "__main__":
    show_cards(load_topology(Path("/dev/stdin")).all_links(sys.argv[1]), CARDS)
