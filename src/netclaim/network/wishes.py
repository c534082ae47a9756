"""What a claim wishes of a network that it does not write itself: addresses, a MAC, an MTU.

    ips: [10.10.1.7/24]      mac: 02:42:0a:0a:01:07      mtu: 1400

Promise: a wish that no plugin of the network can fulfil is refused, not passed over. Limit: No I/O.
Whether a claim may wish at all, `permit` says.
"""

import ipaddress
import re
from collections.abc import Mapping
from typing import Final

import msgspec

from netclaim.cni import NetworkList
from netclaim.errors import RequestError
from netclaim.network.policy import IPAM_TYPES, TYPES
from netclaim.paths import Path
from netclaim.plugins.registry import PLUGIN_CLASSES

__all__ = ["Wishes", "read_ips", "read_mac", "read_mtu", "with_wishes"]

IPS_MAX: Final = 16  # as many as a claim's status has room for
MTU_MIN, MTU_MAX = 68, 65536  # what IPv4 needs, and what the kernel's loopback has
MAC: Final = re.compile("[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}")
MULTICAST: Final = 0x01  # of a MAC's first byte: no interface may have such an address

# The plugins that take a MAC from the runtime. An executed one that is not here may too, but its
# own documentation has to say so: its class can set it.
MAC_TYPES: Final = tuple(name for name, kind in PLUGIN_CLASSES.items() if kind.takes_mac)


class Wishes(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is wished for; nothing of what is not."""

    ips: tuple[str, ...] = ()
    mac: str = ""
    mtu: int = 0


def with_wishes(network: NetworkList, wishes: Wishes, paths: Mapping[str, Path]) -> NetworkList:
    """Return the network with every wish passed to the first plugin that can fulfil it.

    `paths` says where each wish was written.
    """
    offered: dict[int, dict[str, object]] = {}
    if wishes.ips:
        at = _first(network, [p.ipam_type in IPAM_TYPES for p in network.plugins], "ips", paths)
        if network.plugins[at].ipam_type == "static":
            _check_prefixes(wishes.ips, paths)
        offered.setdefault(at, {})["ips"] = list(wishes.ips)
    if wishes.mac:
        at = _first(network, [p.type in MAC_TYPES for p in network.plugins], "mac", paths)
        offered.setdefault(at, {})["mac"] = wishes.mac
    if wishes.mtu:
        can = [p.type in TYPES and "mtu" in TYPES[p.type].keys for p in network.plugins]
        network = network.with_keys(_first(network, can, "mtu", paths), {"mtu": wishes.mtu})
    for at, values in offered.items():
        config = network.plugins[at].to_dict()
        network = network.with_keys(
            at, {"runtimeConfig": {**config.get("runtimeConfig", {}), **values}}
        )
    return network


def _first(network: NetworkList, can: list[bool], key: str, paths: Mapping[str, Path]) -> int:
    if True not in can:
        types = ", ".join(plugin.type for plugin in network.plugins)
        raise RequestError(
            f"no plugin of the network {network.name!r} ({types}) supports it; leave it out",
            path=paths.get(key, (key,)),
        )
    return can.index(True)


def _check_prefixes(ips: tuple[str, ...], paths: Mapping[str, Path]) -> None:
    bare = [ip for ip in ips if "/" not in ip]
    if bare:
        raise RequestError(
            f"the network's addresses are static and need a prefix length; "
            f"for example {bare[0]}/24",
            path=paths.get("ips", ("ips",)),
        )


def read_ips(value: object, path: Path) -> tuple[str, ...]:
    """Read addresses, each with or without a prefix; RequestError has their path."""
    if not isinstance(value, list) or not all(isinstance(ip, str) for ip in value):
        raise RequestError("must be a list of addresses; for example [10.10.1.7/24]", path=path)
    if not 1 <= len(value) <= IPS_MAX:
        raise RequestError(f"must have 1 to {IPS_MAX} addresses", path=path)
    for number, ip in enumerate(value):
        try:
            interface = ipaddress.ip_interface(ip)
        except ValueError as error:
            raise RequestError(f"{ip!r} is not an IP address", path=(*path, number)) from error
        if "%" in ip or getattr(interface, "ipv4_mapped", None):
            raise RequestError(f"{ip!r} must be a plain IPv4 or IPv6 address", path=(*path, number))
    return tuple(value)


def read_mac(value: object, path: Path) -> str:
    """Read a MAC address; RequestError has its path."""
    if not isinstance(value, str) or not MAC.fullmatch(value):
        raise RequestError("must be a MAC address; for example 02:42:0a:0a:01:07", path=path)
    if int(value[:2], 16) & MULTICAST:
        raise RequestError(f"{value} is a multicast address; choose another", path=path)
    return value.lower()


def read_mtu(value: object, path: Path) -> int:
    """Read an MTU; RequestError has its path."""
    if not isinstance(value, int) or isinstance(value, bool) or not MTU_MIN <= value <= MTU_MAX:
        raise RequestError(f"must be a number from {MTU_MIN} to {MTU_MAX}", path=path)
    return value
