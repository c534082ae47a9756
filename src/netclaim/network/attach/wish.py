"""What a pod's interface had before it was lost, as a wish to the plugins that make it again.

The wish is in CNI_ARGS, which the reference plugins read as well: MAC, and IP for host-local, which
leases addresses anew at every ADD. Other kinds of address management decide by themselves, and
`static` would add the addresses to its own.

No I/O.
"""

from typing import Final

from netclaim.cni import CniArgs, NetworkList
from netclaim.model.on_node.attachment import Interface

HOST_LOCAL: Final = "host-local"


def wished_args(network: NetworkList, had: Interface) -> CniArgs:
    """Return what to add to CNI_ARGS so that an interface becomes what it was."""
    wish = []
    if had.hardware_address:
        wish.append(("MAC", had.hardware_address))
    if had.ips and any(plugin.ipam_type == HOST_LOCAL for plugin in network.plugins):
        wish.append(("IP", ",".join(ip.partition("/")[0] for ip in had.ips)))
    return tuple(wish)
