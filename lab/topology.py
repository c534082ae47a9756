"""What a lab looks like: the same files as the embedded cluster's, read by the same code.

The form is described in `netclaim.local.input.topology_file`; a mistake in it is a UsageError.
Limit: nodes have IPv4 addresses, and links the default MTU of the kernel. What a file says beyond
that is refused, except for labels, which the lab leaves out.
"""

from pathlib import Path

from lab.errors import UsageError
from netclaim.local.input.topology_file import TopologyError
from netclaim.local.input.topology_file import load_topology as read_topology
from netclaim.local.topology import DEFAULT_TOPOLOGY, Hardware, Link, Network, Topology

__all__ = ["DEFAULT_TOPOLOGY", "Hardware", "Link", "Network", "Topology", "load_topology"]


def load_topology(path: Path) -> Topology:
    """Read and check a topology file."""
    try:
        topology = read_topology(path)
    except TopologyError as error:
        raise UsageError(str(error)) from error
    if any(subnet.version == 6 for subnet in topology.primary.subnets):
        raise UsageError(f"{path}: the lab's nodes have IPv4 addresses only; remove IPv6 subnets")
    links = [link for network in topology.networks for link in network.links]
    if any(link.mtu is not None for link in links):
        raise UsageError(f"{path}: the lab does not set the MTU of links; remove mtu")
    if topology.borrowed:
        raise UsageError(f"{path}: the lab borrows no cards of this machine; remove ofMachine")
    return topology
