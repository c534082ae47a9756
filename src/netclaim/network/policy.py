"""What a claim may set, and what it takes: the whole policy of the network driver, as one table.

What a class says, an admin said; what a claim says, a tenant said. A class is trusted. A claim is
held to the level of its namespace:

    restricted   the interface's name, and what the class's `allow` lists
    baseline     a network of its own, on its link, of the types and keys below
    privileged   everything

Promise: a type or key that is not in this table is not for claims below `privileged`; nothing in it
reaches the node or another tenant's link. Limit: values only. The keys beside
`config` are in `parameter_keys`. `judge` applies the table, `canonical` spells keys as it does,
docs/security.md and deploy/claim-admission.yaml show it.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = [
    "COMMON_KEYS",
    "IPAM_TYPES",
    "LABEL",
    "LEVELS",
    "NETWORK_BYTES_MAX",
    "NETWORK_KEYS",
    "PLUGINS_MAX",
    "ROUTES_MAX",
    "SUBNETS_MAX",
    "SYSCTLS",
    "TYPES",
    "Key",
    "Level",
    "Type",
]


class Level(enum.IntEnum):
    """How far a namespace's claims are trusted; each includes the ones before it."""

    RESTRICTED = 0
    BASELINE = 1
    PRIVILEGED = 2

    def __str__(self) -> str:
        return self.name.lower()


LEVELS: Final[Mapping[str, Level]] = {str(level): level for level in Level}
"""The levels by their names."""

LABEL: Final = "cni.networking.x-k8s.io/policy"
"""The label of a namespace that chooses its level. Labels of namespaces are an admin's to set."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a configuration: what a claim needs in order to set it.

    `own` asks for a link that the claim has to itself: no other claim can have it, and the node
    does not live on it. `values` are all that a claim may give, `own_values` further ones on a link
    of its own. `inside` names the keys of the objects that the value is made of; without names,
    keys in there are left as they are written.
    """

    about: str
    level: Level = Level.BASELINE
    own: bool = False
    values: tuple[str, ...] = ()
    own_values: tuple[str, ...] = ()
    inside: Mapping[str, "Key"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Type:
    """A plugin type: what a claim needs in order to name it, and its keys.

    `follows`: it changes an interface that another plugin made, and comes after that one. All
    others make the interface, so that a claim's network has one of them, at its beginning.
    """

    about: str
    keys: Mapping[str, Key]
    level: Level = Level.BASELINE
    own: bool = False
    follows: bool = False


def _plain(*names: str) -> dict[str, Key]:
    """Keys of an object that are checked as a whole, by the key that holds them."""
    return {name: Key("") for name in names}


_DNS: Final = _plain("nameservers", "domain", "search", "options")
_ROUTES: Final = Key(
    "routes in the pod only",
    inside=_plain("dst", "gw", "mtu", "advmss", "priority", "table", "scope"),
)
_LINK: Final = Key("the allocated link, or left out")
_IN_POD: Final = Key("the link is looked for in the pod", Level.PRIVILEGED)
_FILES: Final = Key("names a directory of the node", Level.PRIVILEGED)
_MTU: Final = Key("at most the link's")
_MAC: Final = Key("a MAC on a shared link can be another tenant's", own=True)
_MASQUERADE: Final = {
    "ipMasq": Key("changes the node's packet rules", Level.PRIVILEGED),
    "ipMasqBackend": Key("like ipMasq", Level.PRIVILEGED),
}

_BRIDGE: Final = (
    "bridge", "isGateway", "isDefaultGateway", "forceAddress", "mtu", "hairpinMode", "promiscMode",
    "vlan", "preserveDefaultVlan", "macspoofchk", "enabledad", "disableContainerInterface",
    "portIsolation",
)  # fmt: skip

NETWORK_KEYS: Final[Mapping[str, Key]] = {
    "cniVersion": Key("the CNI version"),
    "cniVersions": Key("the CNI versions"),
    "name": Key("the network's name; its addresses are kept for each namespace"),
    "disableCheck": Key("skips CHECK"),
    "disableGC": Key("skips GC"),
    "plugins": Key("the plugins"),
}

COMMON_KEYS: Final[Mapping[str, Key]] = {
    "type": Key("the plugin"),
    "name": Key("the network's name is used"),
    "cniVersion": Key("the network's version is used"),
    "ipam": Key("address management, see below"),
    "dns": Key("part of the result only", inside=_DNS),
    "capabilities": Key("what the runtime passes on", Level.PRIVILEGED),
    "runtimeConfig": Key("set by the runtime only", Level.PRIVILEGED),
    "args": Key("set by the runtime only", Level.PRIVILEGED),
    "prevResult": Key("set by the runtime only", Level.PRIVILEGED),
}

TYPES: Final[Mapping[str, Type]] = {
    "macvlan": Type(
        "a link of its own on the allocated link",
        {
            "master": _LINK,
            "mode": Key(
                "passthru takes all traffic of the link",
                values=("bridge", "private", "vepa"),
                own_values=("passthru",),
            ),
            "mtu": _MTU,
            "mac": _MAC,
            "bcqueuelen": Key("sets a queue of the link itself", Level.PRIVILEGED),
            "linkInContainer": _IN_POD,
        },
    ),
    "ipvlan": Type(
        "shares the link's MAC; all ipvlans on a link have one mode, and take the link's "
        "packets by address",
        {
            "master": _LINK,
            "mode": Key("the mode of the whole link", values=("l2", "l3", "l3s")),
            "mtu": _MTU,
            "linkInContainer": _IN_POD,
        },
        own=True,
    ),
    "vlan": Type(
        "reaches every VLAN of the link",
        {"master": _LINK, "vlanId": Key("any VLAN"), "mtu": _MTU, "linkInContainer": _IN_POD},
        own=True,
    ),
    "host-device": Type(
        "takes the link itself into the pod",
        {
            "device": _LINK,
            "hwaddr": Key("names a link of the node", Level.PRIVILEGED),
            "kernelpath": Key("names a link of the node", Level.PRIVILEGED),
            "pciBusID": Key("names a link of the node", Level.PRIVILEGED),
        },
        own=True,
    ),
    "dummy": Type("a link without a network behind it", {}),
    "tap": Type(
        "a link for a program in the pod",
        {
            "multiQueue": Key("true or false"),
            "mtu": Key("the tap's MTU"),
            "mac": Key("the tap's MAC"),
            "owner": Key("who may open it"),
            "group": Key("who may open it"),
            "bridge": Key("a bridge in the pod"),
            "selinuxContext": Key("runs a program with that label", Level.PRIVILEGED),
        },
    ),
    "tuning": Type(
        "settings of the pod's interface",
        {
            "sysctl": Key("only those listed below"),
            "mac": _MAC,
            "promisc": Key("also changes the link below", own=True),
            "allmulti": Key("also changes the link below", own=True),
            "mtu": _MTU,
            "txQLen": Key("the interface's queue length", own=True),
            "dataDir": _FILES,
        },
        follows=True,
    ),
    "sbr": Type(
        "routing by source, in the pod", {"table": Key("a routing table of the pod")}, follows=True
    ),
    "vrf": Type(
        "a routing domain in the pod",
        {"vrfname": Key("its name"), "table": Key("a routing table of the pod")},
        follows=True,
    ),
    "bandwidth": Type(
        "creates links and queues on the node",
        {
            "ingressRate": Key("bits per second", Level.PRIVILEGED),
            "ingressBurst": Key("bits", Level.PRIVILEGED),
            "egressRate": Key("bits per second", Level.PRIVILEGED),
            "egressBurst": Key("bits", Level.PRIVILEGED),
        },
        level=Level.PRIVILEGED,
        follows=True,
    ),
    "bridge": Type(
        "creates bridges on the node, gives them addresses, enables forwarding",
        {
            **{name: Key("part of the bridge", Level.PRIVILEGED) for name in _BRIDGE},
            "vlanTrunk": Key(
                "part of the bridge", Level.PRIVILEGED, inside=_plain("minID", "maxID", "id")
            ),
            **_MASQUERADE,
        },
        level=Level.PRIVILEGED,
    ),
    "ptp": Type(
        "creates a link on the node, routes to it, enables forwarding",
        {"mtu": Key("the MTU of both ends", Level.PRIVILEGED), **_MASQUERADE},
        level=Level.PRIVILEGED,
    ),
}
"""Any other type is a program of the node, run as root on what the claim says: it needs
`privileged`, or the admin's `--claim-plugins`, which lets claims name it with all its own keys."""

IPAM_TYPES: Final[Mapping[str, Type]] = {
    "host-local": Type(
        "addresses from ranges, kept for each namespace on each node",
        {
            "ranges": Key(
                "not the node's own network, on a link that carries the node",
                inside=_plain("subnet", "rangeStart", "rangeEnd", "gateway"),
            ),
            "subnet": Key("like ranges"),
            "rangeStart": Key("like ranges"),
            "rangeEnd": Key("like ranges"),
            "gateway": Key("like ranges"),
            "routes": _ROUTES,
            "dataDir": _FILES,
            "resolvConf": Key("names a file of the node", Level.PRIVILEGED),
        },
    ),
    "static": Type(
        "the addresses that are listed",
        {
            "addresses": Key(
                "not the node's own network, on a link that carries the node",
                inside=_plain("address", "gateway"),
            ),
            "routes": _ROUTES,
            "dns": Key("part of the result only", inside=_DNS),
        },
    ),
}

SYSCTLS: Final = (
    # Those that kubelet calls safe: of the pod's own namespace, and harmless to others.
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
    # Of the interface itself; IFNAME is the claim's own.
    "net.ipv4.conf.IFNAME.accept_redirects",
    "net.ipv4.conf.IFNAME.arp_announce",
    "net.ipv4.conf.IFNAME.arp_filter",
    "net.ipv4.conf.IFNAME.arp_ignore",
    "net.ipv4.conf.IFNAME.arp_notify",
    "net.ipv4.conf.IFNAME.rp_filter",
    "net.ipv4.conf.IFNAME.send_redirects",
    "net.ipv6.conf.IFNAME.accept_dad",
    "net.ipv6.conf.IFNAME.accept_ra",
    "net.ipv6.conf.IFNAME.accept_redirects",
    "net.ipv6.conf.IFNAME.addr_gen_mode",
    "net.ipv6.conf.IFNAME.autoconf",
    "net.ipv6.conf.IFNAME.dad_transmits",
    "net.ipv6.conf.IFNAME.disable_ipv6",
    "net.ipv6.conf.IFNAME.ndisc_notify",
    "net.ipv6.conf.IFNAME.use_tempaddr",
)

PLUGINS_MAX: Final = 8  # of a claim's network; the longest chains in use have four
NETWORK_BYTES_MAX: Final = 4096  # as JSON; a plan is kept for each device of each claim, and twice
SUBNETS_MAX: Final = 32  # of one `ipam`; each is compared with every other
ROUTES_MAX: Final = 64  # of one `ipam`: each takes the kernel and us some 50 us of a hook's time
