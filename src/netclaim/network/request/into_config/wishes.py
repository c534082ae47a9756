"""What a claim wishes of a network that it does not write itself: addresses, a MAC, an MTU.

    ips: [10.10.1.7/24]      mac: 02:42:0a:0a:01:07      mtu: 1400      vf: {vlan: 100}

A new wish is a row of `WISHES` and a field of `Wishes`, both here, unless it is for a plugin that
is added (`added`); `keys` makes parameters of them.
Promise: a wish that no plugin of the network can fulfil is refused, not passed over. No I/O.
Whether a claim may wish at all, `permit` says.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from netclaim.cni import NetworkList, PluginConf
from netclaim.errors import RequestError
from netclaim.model.api.limits import IPS_MAX
from netclaim.network.policy.levels import Level
from netclaim.network.policy.table import IPAM_TYPES, SETTINGS, TYPES, KeyPolicy
from netclaim.network.request.into_config.added import (
    ADDED,
    HOST_DEVICE,
    VRF,
    keys_of,
    reader,
    with_added,
)
from netclaim.paths import Path
from netclaim.plugins.engine.conf import read_cidr, read_ip
from netclaim.plugins.engine.errors import ConfError
from netclaim.plugins.registry import LINK_SETTINGS, PLUGIN_CLASSES

MTU_MIN, MTU_MAX = 68, 65536  # what IPv4 needs, and what the kernel's loopback has
MAC: Final = re.compile("[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}")
MULTICAST: Final = 0x01  # of a MAC's first byte: no interface may have such an address

# The plugins in process that take a MAC from the runtime. A program says so in its `capabilities`.
MAC_TYPES: Final = tuple(name for name, kind in PLUGIN_CLASSES.items() if kind.takes_mac)


class Wishes(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is wished for; a wish that was not made has its default."""

    ips: tuple[str, ...] = ()
    mac: str = ""
    mtu: int = 0
    vf: dict[str, Any] = {}
    vfio: bool = False
    settings: dict[str, Any] = {}  # for plugins that are added, by the names of the wishes

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Wishes":
        """Put together what was read for the keys of wishes."""
        added = {wish.name for wish in WISHES if wish.adds}
        own = {name: value for name, value in values.items() if name not in added}
        settings = {name: value for name, value in values.items() if name in added}
        return cls(**own, settings=settings)


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing to wish for: how it is written, who may wish for it, and which plugin fulfils it.

    A plugin gets it in `runtimeConfig`, or as a key of its own if `as_key`. What `adds` a plugin
    needs none that can.
    """

    name: str  # the key, and the field of `Wishes`
    type: str  # in words
    about: str  # the line in docs/parameters.md
    read: Callable[[object, Path], Any]  # RequestError has the path
    rule: KeyPolicy  # what a claim needs in order to wish for it
    can: Callable[[PluginConf], bool] = lambda _: False  # whether a plugin fulfils it
    as_key: bool = False
    adds: str = ""  # the type of the plugin that is added for it
    single: str = ""  # what several interfaces cannot have the same of; empty: they can

    def of(self, wishes: Wishes) -> Any:
        """What is wished for; None if nothing is."""
        if self.adds:
            return wishes.settings.get(self.name)
        value = getattr(wishes, self.name)
        return None if value == getattr(NO_WISHES, self.name) else value


def with_wishes(network: NetworkList, wishes: Wishes, paths: Mapping[str, Path]) -> NetworkList:
    """Return the network with every wish passed to the first plugin that can fulfil it.

    `paths` says where each wish was written.
    """
    placed: list[tuple[Wish, int]] = []
    for wish in WISHES:
        if not wish.adds and wish.of(wishes) is not None:
            placed.append((wish, at := _first(network, wish, paths)))
            if wish.name == "ips" and network.plugins[at].ipam_type == "static":
                _check_prefixes(wishes.ips, paths)
    # The order of keys counts: a repeated ADD is known by the bytes of its network.
    for wish, at in sorted(placed, key=lambda each: not each[0].as_key):
        value = wish.of(wishes)
        keys = {wish.name: list(value) if isinstance(value, tuple) else value}
        if not wish.as_key:
            offered = network.plugins[at].config.get("runtimeConfig") or {}
            keys = {"runtimeConfig": {**offered, **keys}}
        network = network.with_keys(at, keys)
    for plugin in ADDED if wishes.settings else ():
        found = [wish for wish in WISHES if wish.adds == plugin and wish.name in wishes.settings]
        keys = {}
        for wish in found:
            keys |= keys_of(wish.name, wishes.settings[wish.name])
        if found:
            path = paths.get(found[0].name, (found[0].name,))
            network = with_added(network, plugin, keys, path)
    return network


def _first(network: NetworkList, wish: Wish, paths: Mapping[str, Path]) -> int:
    for index, plugin in enumerate(network.plugins):
        if wish.can(plugin):
            return index
    types = ", ".join(plugin.type for plugin in network.plugins)
    raise RequestError(
        f"no plugin of the network {network.name!r} ({types}) supports it; leave it out",
        path=paths.get(wish.name, (wish.name,)),
    )


def _check_prefixes(ips: tuple[str, ...], paths: Mapping[str, Path]) -> None:
    bare = [ip for ip in ips if "/" not in ip]
    if bare:
        raise RequestError(
            f"the network's addresses are static and need a prefix length; "
            f"for example {bare[0]}/24",
            path=paths.get("ips", ("ips",)),
        )


def _read_ips(value: object, path: Path) -> tuple[str, ...]:
    """Read addresses, each with or without a prefix."""
    if not isinstance(value, list) or not all(isinstance(ip, str) for ip in value):
        raise RequestError("must be a list of addresses; for example [10.10.1.7/24]", path=path)
    if not 1 <= len(value) <= IPS_MAX:
        raise RequestError(f"must have 1 to {IPS_MAX} addresses", path=path)
    for number, ip in enumerate(value):
        try:
            read = read_cidr(ip) if "/" in ip else read_ip(ip)
        except ConfError as error:
            raise RequestError(str(error), path=(*path, number)) from error
        if ":" in ip and read.version == 4:
            raise RequestError(f"{ip!r} must be a plain IPv4 or IPv6 address", path=(*path, number))
    return tuple(value)


def _read_mac(value: object, path: Path) -> str:
    if not isinstance(value, str) or not MAC.fullmatch(value):
        raise RequestError("must be a MAC address; for example 02:42:0a:0a:01:07", path=path)
    if int(value[:2], 16) & MULTICAST:
        raise RequestError(f"{value} is a multicast address; choose another", path=path)
    return value.lower()


def _read_mtu(value: object, path: Path) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not MTU_MIN <= value <= MTU_MAX:
        raise RequestError(f"must be a number from {MTU_MIN} to {MTU_MAX}", path=path)
    return value


def _is_offered(plugin: PluginConf, capability: str) -> bool:
    """Whether a program takes it from the runtime: the network's author switched it on.

    The class of a plugin in process says what it takes; but it may have a program manage its
    addresses.
    """
    if capability not in plugin.capabilities:
        return False
    manages = capability == "ips" and plugin.ipam_type not in ("", *IPAM_TYPES)
    return plugin.type not in PLUGIN_CLASSES or manages


def _setting(name: str, kind: str, about: str, *, single: str = "") -> Wish:
    """A wish that the plugin link-settings fulfils, with the rule that its key has there."""
    read = reader(LINK_SETTINGS, name)
    return Wish(name, kind, about, read, SETTINGS[name], adds=LINK_SETTINGS, single=single)


GIVES_WISHED: Final = IPAM_TYPES.keys() - {"dhcp"}  # whose server decides
NO_WISHES: Final = Wishes()
WISHES: Final = (
    Wish(
        "ips",
        "list of strings",
        "Addresses to assign, each with or without a prefix length: `[10.10.1.7/24]`. For "
        "networks with `host-local`, inside its ranges, `static`, or a program whose "
        "`capabilities` have `ips`",
        _read_ips,
        KeyPolicy("addresses; likewise"),
        can=lambda plugin: plugin.ipam_type in GIVES_WISHED or _is_offered(plugin, "ips"),
        single="addresses",
    ),
    Wish(
        "mac",
        "string",
        "The interface's MAC address. For networks with `macvlan`, `bridge`, `tap`, `host-device`, "
        "`tuning`, or a program whose `capabilities` have `mac`",
        _read_mac,
        KeyPolicy("a MAC; likewise, and else on a link of its own", own=True),
        can=lambda plugin: plugin.type in MAC_TYPES or _is_offered(plugin, "mac"),
        single="MAC address",
    ),
    Wish(
        "mtu",
        "number",
        "The interface's MTU, from 68 to 65536. For networks with a plugin that has this key",
        _read_mtu,
        KeyPolicy("an MTU; likewise"),
        can=lambda plugin: plugin.type in TYPES and "mtu" in TYPES[plugin.type].keys,
        as_key=True,
    ),
    _setting(
        "routes",
        "list of objects",
        "Routes over the interface, in any order: `destination`, and where needed `gateway`, "
        "`source`, `scope`, `table`, `priority`, `mtu`",
    ),
    _setting(
        "rules",
        "list of objects",
        "Which packets of the pod use which routing table: `source` or `destination`, `table`, and "
        "`priority`",
        single="rules",
    ),
    _setting(
        "neighbors",
        "list of objects",
        "Hosts whose MAC address is known: `destination` and `hardwareAddr`",
    ),
    Wish(
        VRF,
        "object",
        "The routing domain that the interface belongs to: `name`, and `table` to choose its "
        "routing table. Interfaces of a pod may have the same",
        reader(VRF, VRF),
        KeyPolicy("a routing domain in the pod; likewise"),
        adds=VRF,
    ),
    _setting(
        "ethtool",
        "object",
        "Offloads by the names that `ethtool -k` shows (`features`), and flags of the card's "
        "driver (`privateFlags`), each with true or false",
    ),
    _setting(
        "gsoMaxSize",
        "number",
        "The largest packet that the pod's network stack hands to the interface, to 524280",
    ),
    _setting(
        "groMaxSize",
        "number",
        "The largest packet that received packets are joined to, to 524280",
    ),
    _setting("gsoIPv4MaxSize", "number", "The same as `gsoMaxSize`, for IPv4"),
    _setting("groIPv4MaxSize", "number", "The same as `groMaxSize`, for IPv4"),
    _setting(
        "disableEbpfPrograms",
        "boolean",
        "Whether the XDP and TCX programs that see the interface's packets are detached",
    ),
    Wish(
        "vf",
        "object",
        "What the card of a virtual function decides about it: some of `vlan`, `qos`, `proto`, "
        "`spoofCheck`, `trust`, `minTxRate`, `maxTxRate` and `linkState`; see "
        "[howto-rdma-sriov.md](howto-rdma-sriov.md#what-the-card-decides). For networks with "
        "`host-device`",
        reader(HOST_DEVICE, "vf"),
        KeyPolicy("what a card decides about its virtual function", Level.PRIVILEGED),
        can=lambda plugin: plugin.type == HOST_DEVICE,
        as_key=True,
    ),
    Wish(
        "vfio",
        "boolean",
        "Whether a program in the pod, such as a virtual machine, gets the link's hardware by "
        "`vfio-pci`, in place of an interface; see "
        "[howto-rdma-sriov.md](howto-rdma-sriov.md#a-function-for-a-virtual-machine). For networks "
        "with `host-device`",
        reader(HOST_DEVICE, "vfio"),
        KeyPolicy("hardware of the node in the hands of a program", Level.PRIVILEGED),
        can=lambda plugin: plugin.type == HOST_DEVICE,
        as_key=True,
    ),
)
"""All wishes, in the order of the documentation."""
