"""What a pod's interface had before it was lost, as a wish to the plugins that make it again.

The wish is in CNI_ARGS, which the reference plugins read as well: MAC, and IP for host-local, which
leases addresses anew at every ADD, and for our dhcp, which asks the server for it. Other kinds of
address management decide by themselves, and `static` would add the addresses to its own.

No I/O.
"""

from typing import Final

from netclaim.cni import CniArgs, NetworkList
from netclaim.model.on_node.attachment import Interface

ASKED: Final = frozenset({"dhcp", "host-local"})  # which ask for an address, or look for it


def wished_args(network: NetworkList, had: Interface) -> CniArgs:
    """Return what to add to CNI_ARGS so that an interface becomes what it was."""
    wish = []
    if had.hardware_address:
        wish.append(("MAC", had.hardware_address))
    if had.ips and any(plugin.ipam_type in ASKED for plugin in network.plugins):
        wish.append(("IP", ",".join(ip.partition("/")[0] for ip in had.ips)))
    return tuple(wish)
