"""What a claim may set, and what it takes: the whole policy of the network driver, as one table.

What a class says, an admin said; what a claim says, a tenant said. A class is trusted. A claim is
held to the level of its namespace:

    restricted   the interface's name, and what the class's `allow` lists
    baseline     a network of its own, on its link, of the types and keys below
    privileged   everything

Promise: what has no row here is not for claims below `privileged`: a plugin's new key is an admin's
until a row says otherwise. Nothing that is for claims reaches the node or another tenant's link.
Limit: values only. The keys beside `config` are in `request/into_config/wishes.py`. `judge` applies
the table, `canonical` spells keys as it does, docs/security.md and deploy/claim-admission.yaml show
it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from netclaim.network.policy.levels import Level
from netclaim.plugins.engine.key_rules import DeclaredKey, declared, keys_within
from netclaim.plugins.engine.plugin import Plugin
from netclaim.plugins.registry import IPAM_CLASSES, LINK_SETTINGS, PLUGIN_CLASSES
from netclaim.plugins.strict import CommonConf, ipam_keys, own_keys


@dataclass(frozen=True, slots=True)
class KeyPolicy:
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
    inside: Mapping[str, "KeyPolicy"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TypePolicy:
    """A plugin type: what a claim needs in order to name it, and its keys.

    `follows`: it changes an interface that another plugin made, and comes after that one. All
    others make the interface, so that a claim's network has one of them, at its beginning.
    """

    about: str
    keys: Mapping[str, KeyPolicy]
    level: Level = Level.BASELINE
    own: bool = False
    follows: bool = False
    others: str = ""  # what is said of keys without a row; empty: what the plugin says


_ROUTES: Final = KeyPolicy("routes in the pod only")
_LINK: Final = KeyPolicy("the allocated link, or left out")
_IN_POD: Final = KeyPolicy("the link is looked for in the pod", Level.PRIVILEGED)
_FILES: Final = KeyPolicy("names a directory of the node", Level.PRIVILEGED)
_MTU: Final = KeyPolicy("at most the link's")
_MAC: Final = KeyPolicy("a MAC on a shared link can be another tenant's", own=True)
_MASQUERADE: Final = {
    "ipMasq": KeyPolicy("changes the node's packet rules", Level.PRIVILEGED),
    "ipMasqBackend": KeyPolicy("like ipMasq", Level.PRIVILEGED),
}

SETTINGS: Final[Mapping[str, KeyPolicy]] = {
    "routes": KeyPolicy("routes in the pod, over the interface; 64 at most"),
    "rules": KeyPolicy("which packets of the pod use which routing table; 64 at most"),
    "neighbors": KeyPolicy("a host's MAC on a shared link can be another tenant's", own=True),
    "ethtool": KeyPolicy(
        "offloads; some change the link below. privateFlags need privileged", own=True
    ),
    "gsoMaxSize": KeyPolicy("sizes of packets on the way to the card", own=True),
    "groMaxSize": KeyPolicy("sizes of packets that the card joins", own=True),
    "gsoIPv4MaxSize": KeyPolicy("like gsoMaxSize", own=True),
    "groIPv4MaxSize": KeyPolicy("like groMaxSize", own=True),
    "disableEbpfPrograms": KeyPolicy("programs of the node that guard a link", Level.PRIVILEGED),
}
"""The keys of link-settings, and the parameters of the same names."""

NETWORK_KEYS: Final[Mapping[str, KeyPolicy]] = {
    "cniVersion": KeyPolicy("the CNI version"),
    "cniVersions": KeyPolicy("the CNI versions"),
    "name": KeyPolicy("the network's name; its addresses are kept for each namespace"),
    "disableCheck": KeyPolicy("skips CHECK"),
    "disableGC": KeyPolicy("skips GC"),
    "plugins": KeyPolicy("the plugins"),
}

_COMMON_ROWS: Final = {
    "type": KeyPolicy("the plugin"),
    "name": KeyPolicy("the network's name is used"),
    "cniVersion": KeyPolicy("the network's version is used"),
    "ipam": KeyPolicy("address management, see below"),
    "dns": KeyPolicy("part of the result only"),
    "capabilities": KeyPolicy("what the runtime passes on", Level.PRIVILEGED),
    "runtimeConfig": KeyPolicy("set by the runtime only", Level.PRIVILEGED),
    "args": KeyPolicy("set by the runtime only", Level.PRIVILEGED),
    "prevResult": KeyPolicy("set by the runtime only", Level.PRIVILEGED),
}

_TYPE_ROWS: Final = {
    "macvlan": TypePolicy(
        "a link of its own on the allocated link",
        {
            "master": _LINK,
            "mode": KeyPolicy(
                "passthru takes all traffic of the link",
                values=("bridge", "private", "vepa"),
                own_values=("passthru",),
            ),
            "mtu": _MTU,
            "mac": _MAC,
            "bcqueuelen": KeyPolicy("sets a queue of the link itself", Level.PRIVILEGED),
            "linkInContainer": _IN_POD,
        },
    ),
    "ipvlan": TypePolicy(
        "shares the link's MAC; all ipvlans on a link have one mode, and take the link's "
        "packets by address",
        {
            "master": _LINK,
            "mode": KeyPolicy("the mode of the whole link", values=("l2", "l3", "l3s")),
            "mtu": _MTU,
            "linkInContainer": _IN_POD,
        },
        own=True,
    ),
    "vlan": TypePolicy(
        "reaches every VLAN of the link",
        {"master": _LINK, "vlanId": KeyPolicy("any VLAN"), "mtu": _MTU, "linkInContainer": _IN_POD},
        own=True,
    ),
    "host-device": TypePolicy(
        "takes the link itself into the pod",
        {
            "device": _LINK,
            "hwaddr": KeyPolicy("names a link of the node", Level.PRIVILEGED),
            "kernelpath": KeyPolicy("names a link of the node", Level.PRIVILEGED),
            "pciBusID": KeyPolicy("names a link of the node", Level.PRIVILEGED),
            "keep": KeyPolicy("what the node has on the link, where a claim may have it"),
            "vf": KeyPolicy(
                "what a card decides about its virtual function: the VLAN it is in, its limits, "
                "what it may ask for",
                Level.PRIVILEGED,
            ),
            "vfio": KeyPolicy(
                "a program drives the hardware, by files of the node", Level.PRIVILEGED
            ),
        },
        own=True,
    ),
    "dummy": TypePolicy("a link without a network behind it", {}),
    "tap": TypePolicy(
        "a link for a program in the pod",
        {
            "multiQueue": KeyPolicy("true or false"),
            "mtu": KeyPolicy("the tap's MTU"),
            "mac": KeyPolicy("the tap's MAC"),
            "owner": KeyPolicy("who may open it"),
            "group": KeyPolicy("who may open it"),
            "bridge": KeyPolicy("a bridge in the pod"),
            "selinuxContext": KeyPolicy("runs a program with that label", Level.PRIVILEGED),
        },
    ),
    "tuning": TypePolicy(
        "settings of the pod's interface",
        {
            "sysctl": KeyPolicy("only those listed below"),
            "mac": _MAC,
            "promisc": KeyPolicy("also changes the link below", own=True),
            "allmulti": KeyPolicy("also changes the link below", own=True),
            "mtu": _MTU,
            "txQLen": KeyPolicy("the interface's queue length", own=True),
            "dataDir": _FILES,
        },
        follows=True,
    ),
    "sbr": TypePolicy(
        "routing by source, in the pod",
        {"table": KeyPolicy("a routing table of the pod")},
        follows=True,
    ),
    "vrf": TypePolicy(
        "a routing domain in the pod",
        {"vrfname": KeyPolicy("its name"), "table": KeyPolicy("a routing table of the pod")},
        follows=True,
    ),
    LINK_SETTINGS: TypePolicy(
        "routing over the pod's interface, and its offloads",
        SETTINGS,
        follows=True,
    ),
    "bandwidth": TypePolicy(
        "creates links and queues on the node",
        {
            "ingressRate": KeyPolicy("bits per second", Level.PRIVILEGED),
            "ingressBurst": KeyPolicy("bits", Level.PRIVILEGED),
            "egressRate": KeyPolicy("bits per second", Level.PRIVILEGED),
            "egressBurst": KeyPolicy("bits", Level.PRIVILEGED),
        },
        level=Level.PRIVILEGED,
        follows=True,
    ),
    "bridge": TypePolicy(
        "creates bridges on the node, gives them addresses, enables forwarding",
        _MASQUERADE,
        level=Level.PRIVILEGED,
        others="part of the bridge",
    ),
    "ptp": TypePolicy(
        "creates a link on the node, routes to it, enables forwarding",
        {"mtu": KeyPolicy("the MTU of both ends", Level.PRIVILEGED), **_MASQUERADE},
        level=Level.PRIVILEGED,
    ),
}

_IPAM_ROWS: Final = {
    "dhcp": TypePolicy(
        "an address of the DHCP server in the link's network; judged when the server gives it",
        {
            "request": KeyPolicy("options to ask for"),
            "provide": KeyPolicy("can say that the pod is another client", Level.PRIVILEGED),
            "priority": KeyPolicy("a metric in the pod only"),
        },
    ),
    "host-local": TypePolicy(
        "addresses from ranges, kept for each namespace on each node",
        {
            "ranges": KeyPolicy("not the node's own network, on a link that carries the node"),
            "subnet": KeyPolicy("like ranges"),
            "rangeStart": KeyPolicy("like ranges"),
            "rangeEnd": KeyPolicy("like ranges"),
            "gateway": KeyPolicy("like ranges"),
            "routes": _ROUTES,
            "dataDir": _FILES,
            "resolvConf": KeyPolicy("names a file of the node", Level.PRIVILEGED),
        },
    ),
    "netclaim": TypePolicy(
        "addresses of an AddressPool, leased for the whole cluster",
        {
            "pool": KeyPolicy("a pool that is for the claim's namespace"),
            "routes": _ROUTES,
        },
    ),
    "static": TypePolicy(
        "the addresses that are listed",
        {
            "addresses": KeyPolicy("not the node's own network, on a link that carries the node"),
            "routes": _ROUTES,
            "dns": KeyPolicy("part of the result only"),
        },
    ),
}


def _complete(
    rows: Mapping[str, KeyPolicy], keys: Mapping[str, DeclaredKey], others: str = ""
) -> dict[str, KeyPolicy]:
    """Add what the configuration classes know: keys without a row, and the keys within keys."""
    found: dict[str, KeyPolicy] = dict(rows)
    for key in keys.values():
        row = rows.get(key.name) or KeyPolicy(others or key.rule.about, Level.PRIVILEGED)
        inside = {each.name: KeyPolicy("") for each in keys_within(key)[1].values()}
        found[key.name] = replace(row, inside=inside)
    return found


def _types(
    rows: Mapping[str, TypePolicy],
    classes: Mapping[str, type[Plugin]],
    keys_of: Callable[[type[Plugin]], Mapping[str, DeclaredKey]],
) -> dict[str, TypePolicy]:
    return {
        name: replace(row, keys=_complete(row.keys, keys_of(classes[name]), row.others))
        for name, row in rows.items()
    }


COMMON_KEYS: Final[Mapping[str, KeyPolicy]] = {
    name: row
    for name, row in _complete(_COMMON_ROWS, declared(CommonConf)).items()
    if name in _COMMON_ROWS
}
TYPES: Final[Mapping[str, TypePolicy]] = _types(_TYPE_ROWS, PLUGIN_CLASSES, own_keys)
"""Any other type is a program of the node, run as root on what the claim says: it needs
`privileged`, or the admin's `--claim-plugins`, which lets claims name it with all its own keys."""
IPAM_TYPES: Final[Mapping[str, TypePolicy]] = _types(_IPAM_ROWS, IPAM_CLASSES, ipam_keys)

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
