"""The machine under an embedded cluster: namespaces that end with it, file systems, cables."""

from netclaim.local.machine.containment import contained
from netclaim.local.machine.netns import add_netns, remove_netns
from netclaim.local.machine.wiring import POD_BRIDGE, wire_cluster
from netclaim.local.machine.world import NETNS, NodePlace, build_world, enter_node

__all__ = [
    "NETNS",
    "POD_BRIDGE",
    "NodePlace",
    "add_netns",
    "build_world",
    "contained",
    "enter_node",
    "remove_netns",
    "wire_cluster",
]
