"""What an attacker may write: claims made of choices, each of which is one byte.

Promise: the same bytes give the same claim, and fewer or smaller bytes a plainer one; no bytes at
all give a claim that is accepted. So Hypothesis can make a failing claim small.
Limit: knows how claims look, not what is allowed of them; that is the driver's to say.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from netclaim.model import AllocatedDevice, Claim, OpaqueConfig
from netclaim.network.policy.levels import LABEL
from netclaim.network.policy.table import COMMON_KEYS, IPAM_TYPES, NETWORK_KEYS, SYSCTLS, TYPES
from tests.support.network_parts import DRIVER

__all__ = ["BYTES", "claim_from"]

T = TypeVar("T")

BYTES: Final = 96  # choices in a claim; what a claim has no byte for, it does not have


class Pairs(list[tuple[str, Any]]):
    """An object of JSON, in which a key can stand twice."""


class Choices:
    """Choices that bytes make; after the last byte, always the first choice."""

    def __init__(self, data: bytes) -> None:
        self._data = iter(data)

    def below(self, count: int) -> int:
        """Choose a number from 0 on."""
        return next(self._data, 0) % count

    def one(self, options: Sequence[T]) -> T:
        """Choose one of some things."""
        return options[self.below(len(options))]

    def chance(self, in_256: int) -> bool:
        """Whether something happens that happens so often in 256 times."""
        return next(self._data, 0) >= 256 - in_256


IFNAMES: Final = (
    "net1", "net1", "net1", "net2", "eth1", "net1.5", "IFNAME", "a.b", "all.", "uplink", "own1",
    "ipv4", "xIFNAMEx", "lock", "n" * 15, "é1", "-net", "v-shared1",
    # These are refused.
    "all", "default", "lo", "eth0", "..", ".", "", "net%d", "a/b", "n" * 16, "a b", "a:b", "\x00",
)  # fmt: skip
LINKS: Final = (
    "own1", "shared1", "shared-too", "uplink", "addr1", "api1", "admin1", "other1", "br1", "cni0",
    "to-pod", "lo", "eth0", "net1", "nosuch", "p-own1",
)  # fmt: skip
MACS: Final = (
    "02:42:0a:0a:01:07", "0242.0a0a.0107", "02-42-0a-0a-01-07", "00:00:00:00:00:00",
    "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "02:42", "zz:42:0a:0a:01:07",
)  # fmt: skip
CIDRS: Final = (
    "10.10.1.7/24", "10.10.2.0/24", "fd00:10::7/64", "10.77.0.2/24", "192.0.2.10/24",
    "192.0.2.99/24", "192.0.2.1/32", "198.51.100.10/24", "203.0.113.5/32", "10.66.0.1/24",
    "10.244.0.1/16", "0.0.0.0/0", "::/0", "::ffff:192.0.2.10/120", "::ffff:192.0.2.10/64",
    "2001:db8:1::10/64", "fe80::1/64", "127.0.0.1/8", "169.254.1.1/16", "224.0.0.1/4",
    "10.10.1.7", "10.10.1.300/24", "10.10.1.7/33", "10.10.1.7/255.255.255.0", " 10.10.1.7/24",
    "010.10.1.7/24", "\u06610.10.1.7/24",
)  # fmt: skip
SUBNETS: Final = (
    "10.10.1.0/24", "10.10.0.0/16", "fd00:10::/64", "10.77.0.0/24", "192.0.2.0/24",
    "192.0.0.0/8", "198.51.100.0/28", "0.0.0.0/0", "::/0", "::ffff:192.0.2.0/120",
    "2001:db8:1::/64", "10.10.1.0/31", "10.10.1.9/24", "10.10.1.0/30",
)  # fmt: skip
PATHS: Final = (
    "/etc/resolv.conf", "/etc/passwd", "/etc/cni/net.d", "/var/lib/cni/networks", "/run/cni",
    "/var/lib/netclaim", "/dev/zero", "/proc/self/environ", "../../../../etc", "/", ".", "~",
    "HOME/file", "HOME/link", "HOME/directory", "HOME/fifo", "HOME/new", "HOME/new/deep",
)  # fmt: skip
NUMBERS: Final[Sequence[Any]] = (
    1400, 1, 68, 0, -1, 9000, 65536, 1 << 31, 1 << 32, 1 << 63, 1 << 70, 1.5, 1e400, True,
)  # fmt: skip
STRANGE: Final[Sequence[Any]] = (
    None, "", 0, False, True, [], {}, 1, -1, 1.5, 1 << 31, 1 << 63, 1 << 70, "x", "x" * 5000,
    [None], [[]], [{}], {"a": 1}, {"type": "evil"}, ["evil"], "true", "1", "\x00", "\n", "é",
    "\ud800", "IFNAME", "%d", "all", "../evil", float("nan"), {"master": "uplink"},
)  # fmt: skip
NAMES: Final = (
    "a-network", "a-network", "b", "c.d", "last_reserved_ip.0", "lock", "n" * 174, "10.10.1.2",
    "..", "../x", "a/b", "", "-a", "n" * 175, "é",
)  # fmt: skip
VERSIONS: Final = ("1.0.0", "1.1.0", "0.4.0", "0.3.1", "0.2.0", "", "9.9.9", "1.0", "x")

SYSCTL_NAMES: Final = (
    *SYSCTLS,
    "net/ipv4/conf/IFNAME/rp_filter", "net.ipv4.conf.net1.rp_filter",
    "net.ipv4.conf.eth0.rp_filter", "net/ipv4/conf/net1.5/rp_filter",
    "net.ipv4.conf.all.rp_filter", "net.ipv4.conf.all./rp_filter",
    "net.ipv4.conf.default.arp_ignore", "net.ipv4.conf.uplink.rp_filter", "net.ipv4.ip_forward",
    "net.ipv4.conf.IFNAME.forwarding", "net.ipv4.conf.IFNAME.proxy_arp", "net.core.somaxconn",
    "net.core.rmem_max", "kernel.core_pattern", "net/../kernel/core_pattern", "net.ipv4.tcp_mem",
    "net.ipv4.conf.IFNAME.rp_filter/../../all/rp_filter", "NET.IPV4.TCP_RMEM", "net.ipv4.tcp_rmem.",
    "net..ipv4.tcp_rmem", "/net/ipv4/tcp_rmem", "net.ipv6.conf.IFNAME.forwarding", "", ".", "..",
    "net.ipv4.conf.IFNAME/IFNAME.rp_filter", "net.ipv4.IFNAME", "net.netfilter.nf_conntrack_max",
)  # fmt: skip
SYSCTL_VALUES: Final[Sequence[Any]] = (
    "1",
    "0",
    "2",
    "1024 60999",
    "4096 16384 65536",
    "-1",
    "x",
    "",
    1,
    None,
    [],
)

ROUTES: Final[Sequence[Mapping[str, Any]]] = (
    {"dst": "10.20.0.0/16"}, {"dst": "0.0.0.0/0", "gw": "10.10.1.1"}, {"dst": "::/0"},
    {"dst": "10.20.0.0/16", "gw": "10.10.1.1", "table": 255}, {"dst": "10.21.0.0/16", "table": 77},
    {"dst": "192.0.2.0/24", "scope": 253}, {"dst": "10.22.0.0/16", "mtu": 1280, "advmss": 1 << 33},
    {"dst": "nonsense"}, {"gw": "10.10.1.1"}, {"dst": "10.20.0.1/16"},
    {"dst": "10.23.0.0/16", "priority": 1 << 31}, {"dst": "10.24.0.0/16", "scope": 254},
)  # fmt: skip

# Values that make sense for a key, the plainest first; for keys of the table and their neighbours.
VALUES: Final[Mapping[str, Sequence[Any]]] = {
    "type": (*TYPES, "evil", "host-local", "static", "sriov", "portmap", "Macvlan", "../evil",
             "traps/evil", "mac\u017flan", "evil\x00", ""),
    "master": LINKS,
    "device": LINKS,
    "mode": ("bridge", "private", "vepa", "passthru", "l2", "l3", "l3s", "source", "Passthru", ""),
    "mtu": NUMBERS,
    "mac": MACS,
    "hwaddr": MACS,
    "vlanId": (100, 0, 1, 4095, -1, 1 << 16),
    "vlan": (100, 0),
    "table": (100, 0, 254, 255, -1, 77, 1 << 32),
    "vrfname": ("blue", "eth0", "net1", "lo", "%d", "a/b", ""),
    "kernelpath": ("/sys/devices/virtual/net/uplink", "/sys/devices/../class/net/uplink"),
    "pciBusID": ("0000:00:01.0", "../../.."),
    "bridge": ("br1", "cni0", "br9", "eth0", "net1"),
    "owner": (1000, 0, -1, 1 << 32),
    "group": (1000, 0, -1),
    "selinuxContext": ("system_u:system_r:container_t:s0", "x"),
    "dataDir": PATHS,
    "resolvConf": PATHS,
    "linkInContainer": (True, False, "true", 1),
    "promisc": (True, False, 1),
    "allmulti": (True, False),
    "txQLen": (500, 0, -1, 1 << 32),
    "bcqueuelen": (2000, 0),
    "name": NAMES,
    "cniVersion": VERSIONS,
    "cniVersions": (["1.0.0"], ["0.3.0", "9.0.0"], [], "1.0.0"),
    "capabilities": ({"mac": True, "ips": True}, {"portMappings": True}, {"mac": False}, {}),
    "runtimeConfig": ({"mac": "02:42:0a:0a:01:07"}, {"ips": ["192.0.2.10/24"]},
                      {"deviceID": "0000:00:01.0"}, {"ipRanges": [[{"subnet": "192.0.2.0/24"}]]}),
    "args": ({"cni": {"ips": ["192.0.2.10/24"]}}, {"cni": {"mac": "02:42:0a:0a:01:07"}},
             {"cni": {"promisc": True}}, {"cni": {"sysctl": {"net.ipv4.ip_forward": "1"}}}),
    "prevResult": ({"cniVersion": "1.0.0", "interfaces": [{"name": "uplink"}],
                    "ips": [{"address": "192.0.2.10/24", "interface": 0}]},),
    "dns": ({"nameservers": ["10.0.0.53"]}, {"search": ["x"]}, {"nameservers": "10.0.0.53"}),
    "subnet": SUBNETS,
    "rangeStart": ("10.10.1.10", "192.0.2.10", "10.10.9.9", "x"),
    "rangeEnd": ("10.10.1.20", "192.0.2.10", "x"),
    "gateway": ("10.10.1.1", "192.0.2.10", "fe80::1", "x"),
    "address": CIDRS,
    "ranges": ([[{"subnet": "10.10.1.0/24"}]], [[{"subnet": "192.0.2.0/24"}]], [[]], [{}]),
    "addresses": ([{"address": "10.10.1.7/24"}], [{"address": "192.0.2.10/24"}], [None]),
    "routes": ([{"dst": "10.20.0.0/16"}], [{"dst": "0.0.0.0/0"}], [{"dst": "x"}], [None]),
    "ipam": ({"type": "host-local", "subnet": "10.10.1.0/24"}, {"type": "static"}, {"type": "ovn"},
             {"type": "evil"}, {"type": ""}, {}, {"type": "bridge"}, {"type": "../evil"}),
    "sysctl": ({"net.ipv4.conf.IFNAME.rp_filter": "1"}, {"net.ipv4.ip_forward": "1"}),
    "plugins": ([], None, [{"type": "evil"}], {}),
    "ipMasq": (True, False),
    "isGateway": (True, False),
    "forceAddress": (True,),
}  # fmt: skip

NEIGHBOURS: Final = (  # keys of nobody, or of others
    "Master", "masters", "link", "uplink", "parent", "delegate", "DPDKMode", "deviceID", "ifName",
    "netns", "CNI_NETNS", "logFile", "logLevel", "kubeconfig", "socket", "hostInterface",
    "cni.dev/valid-attachments", "snat", "portMappings", "bandwidth", "flag", "macspoofchk",
)  # fmt: skip
ALL_KEYS: Final = tuple(
    dict.fromkeys(
        (
            *VALUES,
            *COMMON_KEYS,
            *NETWORK_KEYS,
            *(key for known in (TYPES, IPAM_TYPES) for each in known.values() for key in each.keys),
            *NEIGHBOURS,
        )
    )
)

KEYS_OF: Final[Mapping[str, Sequence[str]]] = {
    **{name: (*known.keys, *COMMON_KEYS, "linkInContainer") for name, known in TYPES.items()},
    **{name: (*known.keys, "type", "dns") for name, known in IPAM_TYPES.items()},
}

SPELLINGS: Final[Sequence[Callable[[str], str]]] = (
    str.upper,
    str.title,
    str.swapcase,
    lambda key: key[:1].swapcase() + key[1:],
    lambda key: key.replace("s", "\u017f", 1),
    lambda key: key.replace("k", "\u212a", 1),
    lambda key: key + " ",
    lambda key: key.replace("e", "\u0435", 1),  # Cyrillic: another letter, however it looks
)

# What a chain begins with, and what may follow; those that work here come most often.
FIRST: Final = (
    *("macvlan",) * 8, *("tap",) * 3, *("host-device",) * 3, "ipvlan", "vlan", "dummy", "tuning",
    "bridge", "ptp", "evil", "host-local", "sriov",
)  # fmt: skip
NEXT: Final = (
    *("tuning",) * 6, *("sbr",) * 3, "vrf", "macvlan", "tap", "host-device", "bandwidth", "portmap",
    "evil", *("link-settings",) * 2,
)  # fmt: skip
# Keys that a claim may have on a link of its own, with values that it may have.
USUAL: Final[Mapping[str, Mapping[str, Sequence[Any]]]] = {
    "macvlan": {"mode": ("bridge", "private", "vepa", "passthru"), "mtu": (1400, 1500, 68),
                "mac": ("02:42:0a:0a:01:07",), "dns": ({"nameservers": ["10.0.0.53"]},)},
    "ipvlan": {"mode": ("l2", "l3", "l3s"), "mtu": (1400,)},
    "vlan": {"vlanId": (100, 4094), "mtu": (1400,)},
    "host-device": {"dns": ({"search": ["x"]},)},
    "dummy": {},
    "tap": {"multiQueue": (True, False), "mtu": (1400, 9000), "mac": ("02:42:0a:0a:01:08",),
            "owner": (1000,), "group": (1000,), "bridge": ("eth0", "br1")},
    "tuning": {"mac": ("02:42:0a:0a:01:09",), "promisc": (True, False), "allmulti": (True, False),
               "mtu": (1300, 9000), "txQLen": (500, 0)},
    "sbr": {"table": (100, 0)},
    "vrf": {"vrfname": ("blue",), "table": (100,)},
    "link-settings": {
        "routes": ([{"destination": "10.77.0.0/16"}], [{"destination": "0.0.0.0/0", "table": 9}]),
        "rules": ([{"source": "10.77.0.0/16", "table": 9}],),
        "neighbors": ([{"destination": "10.77.0.1", "hardwareAddr": "02:42:0a:0a:01:07"}],),
        "gsoMaxSize": (32768,),
    },
}  # fmt: skip

DEVICES: Final = (
    AllocatedDevice("net", DRIVER, "node", "own1"),
    AllocatedDevice("net", DRIVER, "node", "own1"),
    AllocatedDevice("net", DRIVER, "node", "own1"),
    AllocatedDevice("net", DRIVER, "node", "shared1", share_id="a1b2"),
    AllocatedDevice("net", DRIVER, "node", "shared1", share_id="a1b2"),
    AllocatedDevice("net", DRIVER, "node", "shared1-slot-2"),
    AllocatedDevice("net", DRIVER, "node", "cni", share_id="c3d4"),
    AllocatedDevice("net", DRIVER, "node", "cni"),
    AllocatedDevice("net", DRIVER, "node", "admin1", admin_access=True),
    AllocatedDevice("net", DRIVER, "node", "uplink"),
    AllocatedDevice("net", DRIVER, "node", "addr1"),
    AllocatedDevice("net", DRIVER, "node", "api1"),
    AllocatedDevice("net", DRIVER, "node", "nosuch"),
    AllocatedDevice("net/fast", DRIVER, "node", "own1"),
)
LEVELS: Final = ("", "baseline", "baseline", "privileged", "restricted", "Baseline", "none")
NAMESPACES: Final = ("default", "tenant-b")

OF_CLASS: Final = {
    "cniVersion": "1.0.0",
    "name": "a-network",
    "plugins": [{"type": "macvlan", "ipam": {"type": "host-local", "subnet": "10.30.0.0/24"}}],
}
CLASSES: Final[Sequence[Mapping[str, Any] | None]] = (
    None,
    None,
    None,
    None,
    {"allow": ["config", "ips", "mac", "mtu"]},
    {"allow": ["config"]},
    {"allow": []},
    {"config": OF_CLASS},
    {"config": OF_CLASS, "allow": ["ips"]},
    {"config": OF_CLASS, "allow": ["config", "mac", "mtu"]},
    {"config": OF_CLASS, "ifName": "net7"},
    {"config": json.dumps({**OF_CLASS, "plugins": [{"type": "host-device"}]})},
    {"config": {**OF_CLASS, "plugins": [{"type": "macvlan", "ipam": {"type": "static"}}]},
     "allow": ["ips", "mac"]},
)  # fmt: skip
TYPED: Final = {"apiVersion": "cni.networking.x-k8s.io/v1alpha1", "kind": "CNI"}


def claim_from(data: bytes, *, home: str) -> Claim:
    """Return the claim that bytes choose; `home` is a directory that an attacker knows of."""
    choices = Choices(data)
    device = choices.one(DEVICES)
    ifname = choices.one(IFNAMES) if choices.chance(50) else "net1"
    of_class = choices.one(CLASSES)
    level = choices.one(LEVELS) if choices.chance(80) else ""
    network = _network(choices, device.device)
    parameters = _parameters(choices, ifname, network, without_config="config" in (of_class or {}))
    placed = _at_home(parameters, home)
    configs = [OpaqueConfig("FromClaim", DRIVER, placed, ("net",) if choices.chance(128) else ())]
    if of_class is not None:
        configs.append(OpaqueConfig("FromClass", DRIVER, {**TYPED, **of_class}, ("net",)))
    return Claim(
        uid="80067ad8-ba85-4230-bc4a-ee3e1e1c4a2b",
        namespace=choices.one(NAMESPACES),
        name="attack",
        allocated=True,
        devices=(device,),
        configs=tuple(configs),
        namespace_labels={LABEL: level} if level else {},
    )


def _parameters(
    choices: Choices, ifname: str, network: Pairs, *, without_config: bool
) -> dict[str, Any]:
    """Write the parameters of a claim, in one of the dialects."""
    config: Any = _text(network) if choices.chance(100) else _value(network)
    plain = choices.chance(20)
    parameters: dict[str, Any] = {"interface": ifname} if plain else {**TYPED, "ifName": ifname}
    if not without_config or choices.chance(128):
        parameters["config"] = config
    for key, usual in (("ips", ["10.10.1.7/24"]), ("mac", MACS[0]), ("mtu", 1400)):
        if choices.chance(24):
            parameters[key] = usual if choices.chance(128) else _wish(choices, key)
    if choices.chance(8):
        key = choices.one(("allow", "Config", "args", "namespace", "interface", "capabilities"))
        parameters[key] = choices.one((["config"], True, {}, "net1"))
    if choices.chance(8):
        parameters[choices.one(sorted(parameters))] = choices.one(STRANGE)
    return parameters


def _wish(choices: Choices, key: str) -> Any:
    match key:
        case "ips":
            return [choices.one(CIDRS) for _ in range(choices.below(3))]
        case "mac":
            return choices.one(MACS)
        case _:
            return choices.one(NUMBERS)


def _network(choices: Choices, device: str) -> Pairs:
    count = (1, 1, 1, 2, 2, 3, 4)[choices.below(7)]
    plugins = [_plugin(choices, device, first=number == 0) for number in range(count)]
    network = Pairs([("cniVersion", "1.0.0"), ("name", "a-network")])
    if choices.chance(40):
        network = Pairs([("cniVersion", choices.one(VERSIONS)), ("name", choices.one(NAMES))])
    if count == 1 and choices.chance(40):
        network += plugins[0]
    else:
        network.append(("plugins", plugins))
    if choices.chance(90):
        for _ in range(1 + choices.below(3)):
            _spoil(choices, choices.one(_objects(network)))
    return network


def _plugin(choices: Choices, device: str, *, first: bool) -> Pairs:
    kind = choices.one(FIRST if first else NEXT)
    plugin = Pairs([("type", kind)])
    if device == "cni" and kind in {"macvlan", "ipvlan", "vlan"}:
        plugin.append(("master", choices.one(LINKS)))
    for key, values in USUAL.get(kind, {}).items():
        if choices.chance(40):
            plugin.append((key, choices.one(values)))
    if kind == "tuning" and choices.chance(160):
        chosen = [
            (choices.one(SYSCTL_NAMES), choices.one(SYSCTL_VALUES[:3]))
            for _ in range(1 + choices.below(2))
        ]
        plugin.append(("sysctl", Pairs(chosen)))
    if first and choices.chance(150):
        plugin.append(("ipam", _ipam(choices)))
    if choices.chance(24):
        _add_known(choices, plugin)
    return plugin


def _ipam(choices: Choices) -> Pairs:
    ipam = Pairs([("type", choices.one(("host-local", "host-local", "static")))])
    if ipam[0][1] == "static":
        addresses = [Pairs([("address", _often(choices, CIDRS))]) for _ in range(_few(choices))]
        ipam.append(("addresses", addresses))
    else:
        ranges = [[Pairs([("subnet", _often(choices, SUBNETS))])] for _ in range(_few(choices))]
        ipam.append(("ranges", ranges))
    if choices.chance(60):
        ipam.append(("routes", [Pairs(choices.one(ROUTES).items()) for _ in range(_few(choices))]))
    if choices.chance(48):
        _add_known(choices, ipam)
    return ipam


def _add_known(choices: Choices, target: Pairs) -> None:
    """Add one key that means something to the plugin, whether the claim may say it or not."""
    said = dict(target)
    keys = [key for key in KEYS_OF.get(said["type"], ALL_KEYS) if key not in said]
    key = choices.one(keys)
    target.append((key, choices.one(VALUES.get(key, STRANGE))))


def _often(choices: Choices, options: Sequence[T]) -> T:
    """Choose the plainest more often than the others."""
    return choices.one(options) if choices.chance(120) else options[0]


def _few(choices: Choices) -> int:
    return (1, 1, 1, 2)[choices.below(4)]


def _spoil(choices: Choices, target: Pairs) -> None:
    """Do one thing to an object that its author should not have done."""
    at = choices.below(len(target)) if target else 0
    match choices.below(8):
        case 0 | 7:  # a key that has no business here, or has it only for some
            key = choices.one(_keys_for(choices, target))
            target.append((key, choices.one(VALUES.get(key, STRANGE))))
        case 1 if target:  # another value, of its kind or of none
            key = target[at][0]
            pool = VALUES.get(key, STRANGE) if choices.chance(128) else STRANGE
            target[at] = (key, choices.one(pool))
        case 2 if target:  # another spelling
            target[at] = (choices.one(SPELLINGS)(target[at][0]), target[at][1])
        case 3 if target:  # a second spelling, with another value
            key = target[at][0]
            target.append((choices.one(SPELLINGS)(key), choices.one(VALUES.get(key, STRANGE))))
        case 4 if target:  # the same key once more
            key = target[at][0]
            target.insert(0, (key, choices.one(VALUES.get(key, STRANGE))))
        case 5:  # a forbidden key in another spelling
            key = choices.one(_keys_for(choices, target))
            value = choices.one(VALUES.get(key, STRANGE))
            target.append((choices.one(SPELLINGS)(key), value))
        case _:
            if target:
                target[at] = (target[at][0], [target[at][1]])


def _keys_for(choices: Choices, target: Pairs) -> Sequence[str]:
    """Say which keys to choose from: mostly those that mean something to their reader."""
    named = dict(target).get("type")
    known = KEYS_OF.get(named) if isinstance(named, str) else None
    return known if known is not None and not choices.chance(64) else ALL_KEYS


def _objects(value: Any) -> list[Pairs]:
    """List all objects of a configuration, itself first."""
    if isinstance(value, Pairs):
        return [value, *(found for _, inner in value for found in _objects(inner))]
    if isinstance(value, list):
        return [found for inner in value for found in _objects(inner)]
    return []


def _value(value: Any) -> Any:
    """Return what JSON's readers make of it: of a key that stands twice, the last one."""
    if isinstance(value, Pairs):
        return {key: _value(inner) for key, inner in value}
    if isinstance(value, list):
        return [_value(inner) for inner in value]
    return value


def _text(value: Any) -> str:
    """Write JSON, keys that stand twice included."""
    if isinstance(value, Pairs):
        return f"{{{_joined(f'{json.dumps(key)}: {_text(inner)}' for key, inner in value)}}}"
    if isinstance(value, list):
        return f"[{_joined(map(_text, value))}]"
    return json.dumps(value)


def _joined(parts: Iterable[str]) -> str:
    return ", ".join(parts)


def _at_home(value: Any, home: str) -> Any:
    """Put the paths of the attacker's home in."""
    if isinstance(value, str):
        return value.replace("HOME", home)
    if isinstance(value, dict):
        return {key: _at_home(inner, home) for key, inner in value.items()}
    if isinstance(value, list):
        return [_at_home(inner, home) for inner in value]
    return value
