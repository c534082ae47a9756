"""The machine under an embedded cluster.

containment   namespaces that end with what runs in them
file_system   the files that it sees
netns         its network namespaces
wiring        bridges and cables between the nodes
borrowed      cards of the machine itself
hardware      links that look like ports of cards
"""

from netclaim.local.machine.borrowed import borrowed_links
from netclaim.local.machine.containment import contained
from netclaim.local.machine.file_system import NETNS, NodePlace, build_world, enter_node
from netclaim.local.machine.netns import add_netns, remove_netns
from netclaim.local.machine.wiring import POD_BRIDGE, wire_cluster

__all__ = [
    "NETNS",
    "POD_BRIDGE",
    "NodePlace",
    "add_netns",
    "borrowed_links",
    "build_world",
    "contained",
    "enter_node",
    "remove_netns",
    "wire_cluster",
]
