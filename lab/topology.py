"""What a lab looks like: the same files as the embedded cluster's, read by the same code.

The form is told in `netclaim.local.topology`; a mistake in it is the lab's UsageError.
"""

from pathlib import Path

from lab.errors import UsageError
from netclaim.local.topology import DEFAULT_TOPOLOGY, Network, Topology, TopologyError
from netclaim.local.topology import load_topology as read_topology

__all__ = ["DEFAULT_TOPOLOGY", "Network", "Topology", "load_topology"]


def load_topology(path: Path) -> Topology:
    """Read and check a topology file."""
    try:
        return read_topology(path)
    except TopologyError as error:
        raise UsageError(str(error)) from error
