"""Which links are not offered to pods: kinds that cannot be used, and the node's own links.

A link is withheld if it
1. is the loopback;
2. is neither Ethernet nor InfiniBand (tunnels, tun), or is an ifb, which only shapes traffic:
   nothing can be put on these;
3. leads into a pod: its other end lives in a pod's namespace, or is not there, as for a moment
   while such a link is made or deleted;
4. is a port of a bridge, bond or other master, which is offered instead (a VRF is no such master);
5. has an address of the node's pod network (the primary network's bridge, its tunnel, the host
   ends of its point-to-point links);
6. has a name that a pod network is known to give its links;
7. is a bridge that a plugin made for a claim: the network behind it is that claim's;
8. stands for a function of a card in the card's own switch (a representor): who has it has what
   reaches the function, which is a device of its own.

Everything else is offered, the uplinks too. An uplink that is itself a veth, as in a node that is a
container, differs from a pod's veth by rule 3: the namespace at its other end is no pod's.
Promise: who uses a link now does not count, so attaching a pod never withdraws a device.
Limit: rules 3 and 5 depend on `NodeView`; without it only the names of rule 6 are left. Those
are guesses, and the settings may show such a link after all; the other rules are facts.
"""

import fnmatch
import ipaddress
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from netclaim.kernel import Address, Link
from netclaim.kernel.netlink import uapi
from netclaim.kernel.requests.ip import Network

USABLE_TYPES: Final = {uapi.ARPHRD_ETHER, uapi.ARPHRD_INFINIBAND}
POD_NETWORK_NAMES: Final = (
    "cni0",  # flannel and many configurations of the bridge plugin
    "flannel*",
    "vxlan.calico",
    "cali*",
    "cilium_*",
    "lxc*",  # Cilium, towards its pods
    "antrea-*",
    "ovn-k8s-*",
    "ovs-system",
    "br-int",
    "genev_sys_*",
    "vxlan_sys_*",
    "weave",
    "kube-bridge",
    "kube-ipvs0",
    "nodelocaldns",
    "cbr0",
    "docker0",
)
# One expression for all: every link's name is compared whenever a link of the node changes.
IS_POD_NETWORK: Final = re.compile("|".join(map(fnmatch.translate, POD_NETWORK_NAMES)))
PAIRS: Final = frozenset({"veth", "netkit"})  # kinds that have an other end
INTO_POD: Final = "it leads into a pod"
NOWHERE: Final = "it has no other end: it is being made or deleted"
BY_NAME: Final = "its name is one that pod networks use"


class NodeView(msgspec.Struct, frozen=True):
    """What must be known of the node, beyond its links, to know its own ones."""

    pod_nsids: frozenset[int] = frozenset()  # by which the node's namespace knows the pods'
    pod_networks: tuple[Network, ...] = ()  # the node's spec.podCIDRs
    made_bridges: frozenset[str] = frozenset()  # by plugins, for claims


def withheld(
    links: Collection[Link], addresses: Iterable[Address], node: NodeView
) -> Mapping[int, str]:
    """Say which links are not offered: index, and the reason in words."""
    facts = _facts(links, addresses, node)
    guesses = {link.index: BY_NAME for link in links if _has_pod_network_name(link)}
    return {**guesses, **facts}


def withheld_by_name(
    links: Collection[Link], addresses: Iterable[Address], node: NodeView
) -> frozenset[int]:
    """Say which links are not offered for their name alone, which is a guess."""
    named = frozenset(link.index for link in links if _has_pod_network_name(link))
    return named - _facts(links, addresses, node).keys() if named else named


def _facts(
    links: Collection[Link], addresses: Iterable[Address], node: NodeView
) -> Mapping[int, str]:
    """All rules but the sixth."""
    names = {link.index: link.name for link in links}
    in_pod_network = {
        address.index for address in addresses if _is_within(address, node.pod_networks)
    }
    reasons = {
        link.index: _reason(link, node) or _reason_by_place(link, names, in_pod_network)
        for link in links
    }
    return {index: reason for index, reason in reasons.items() if reason}


def leads_away(link: Link, pod_nsids: Collection[int]) -> str:
    """Say why a link is withheld by the third rule; empty if it is not."""
    if link.parent_nsid in pod_nsids:
        return INTO_POD
    return NOWHERE if link.kind in PAIRS and not link.parent_index else ""


def _reason(link: Link, node: NodeView) -> str:
    if link.loopback:
        return "it is the loopback interface"
    if link.arphrd not in USABLE_TYPES or link.kind == "ifb":
        return "links of this kind cannot be used"
    if reason := leads_away(link, node.pod_nsids):
        return reason
    if link.is_representor:
        return "it stands for a function in its card's switch"
    if link.name in node.made_bridges:
        return "a plugin created it for a claim"
    return ""


def _reason_by_place(link: Link, names: Mapping[int, str], in_pod_network: Collection[int]) -> str:
    if link.master_index and link.port_kind != "vrf":
        return f"it is a port of {names.get(link.master_index, 'another link')}"
    if link.index in in_pod_network:
        return "it has an address of the pod network"
    return ""


def _has_pod_network_name(link: Link) -> bool:
    return IS_POD_NETWORK.match(link.name) is not None


def _is_within(address: Address, networks: Iterable[Network]) -> bool:
    ip = ipaddress.ip_address(address.ip)
    return any(ip in network for network in networks)
