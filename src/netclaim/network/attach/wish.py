"""What a pod's interface had before it was lost, as a wish to the plugins that make it again.

The wish is in CNI_ARGS, which the reference plugins read as well: MAC, and IP for host-local, which
leases addresses anew at every ADD, and for our dhcp, which asks the server for it. Other kinds of
address management decide by themselves, and `static` would add the addresses to its own.

And the MAC of an interface that asks a DHCP server, the same in each sandbox of its pod: some
servers know their clients by nothing else.

No I/O.
"""

import hashlib
from typing import Final

from netclaim.cni import CniArgs, NetworkList
from netclaim.model.on_node.attachment import Interface

DHCP: Final = "dhcp"
MAKERS: Final = frozenset({"bridge", "macvlan"})  # whose interface is made for the pod
OWN_MAC: Final = 0x02  # of the first byte: nobody has bought it, and it is no group's
MAC_BYTES: Final = 6
ASKED: Final = frozenset({"dhcp", "host-local"})  # which ask for an address, or look for it


def wished_args(network: NetworkList, had: Interface) -> CniArgs:
    """Return what to add to CNI_ARGS so that an interface becomes what it was."""
    wish = []
    if had.hardware_address:
        wish.append(("MAC", had.hardware_address))
    if had.ips and any(plugin.ipam_type in ASKED for plugin in network.plugins):
        wish.append(("IP", ",".join(ip.partition("/")[0] for ip in had.ips)))
    return tuple(wish)


def steady_mac(network: NetworkList, pod_uid: str, ifname: str) -> CniArgs:
    """Return what to add to CNI_ARGS for the MAC that belongs to a pod's interface.

    Nothing where the network names one, or has no DHCP, or does not make the interface.
    """
    first = network.plugins[0]
    takes_parents = first.config.get("mode") == "passthru"
    if first.ipam_type != DHCP or first.type not in MAKERS or takes_parents:
        return ()
    if first.config.get("mac") or (first.config.get("runtimeConfig") or {}).get("mac"):
        return ()
    digest = hashlib.sha256(f"netclaim/{pod_uid}/{ifname}".encode()).digest()
    mac = bytes((digest[0] & 0xFC | OWN_MAC, *digest[1:MAC_BYTES]))
    return (("MAC", mac.hex(":")),)
