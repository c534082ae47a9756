"""The embedded cluster: whole manifests on one machine in seconds, with real interfaces.

    topology     what it looks like          machine      namespaces, mounts and cables under it
    api          a small API server          control      controllers and a scheduler
    node         kubelet, runtime, driver    cluster      all of it put together
    manifests    what a user wants run       outcome      what became of it, and how to show it
    trial        `netclaim try`              story        `netclaim demo`

The driver in it is the real program; its peers are small stand-ins that speak the real protocols.
Only the topology is imported here: the rest takes a while, and who draws nodes does not need it.
"""

from netclaim.local.topology import DEFAULT_TOPOLOGY, Topology
from netclaim.local.topology_file import TopologyError, load_topology

__all__ = ["DEFAULT_TOPOLOGY", "Topology", "TopologyError", "load_topology"]
