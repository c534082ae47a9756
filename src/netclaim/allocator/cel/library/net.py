"""IP addresses and networks in CEL: ip(), cidr() and their methods.

As in Kubernetes, zones and IPv4 addresses mapped into IPv6 are refused.
"""

import re
from ipaddress import (
    AddressValueError,
    IPv4Address,
    IPv4Interface,
    IPv6Address,
    IPv6Interface,
    ip_address,
)
from typing import Final, TypeAlias

from netclaim.allocator.cel.errors import EvaluationError
from netclaim.allocator.cel.library.function import overload

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Interface | IPv6Interface

PREFIX: Final = re.compile(r"(?P<address>[^/]+)/(?P<bits>0|[1-9][0-9]{0,2})")
BITS: Final = {4: 32, 6: 128}
LINK_LOCAL_GROUPS: Final = IPv4Interface("224.0.0.0/24")


def _find_ip(text: str) -> Address | None:
    if "%" in text:
        return None
    try:
        address = ip_address(text)
    except (AddressValueError, ValueError):
        return None
    return None if isinstance(address, IPv6Address) and address.ipv4_mapped else address


def _find_cidr(text: str) -> Network | None:
    match = PREFIX.fullmatch(text)
    address = _find_ip(match["address"]) if match else None
    if match is None or address is None or int(match["bits"]) > BITS[address.version]:
        return None
    made = IPv4Interface if isinstance(address, IPv4Address) else IPv6Interface
    return made(f"{address}/{match['bits']}")


def _ip(text: str) -> Address:
    address = _find_ip(text)
    if address is None:
        raise EvaluationError(f"{text!r} is not an IP address")
    return address


def _cidr(text: str) -> Network:
    network = _find_cidr(text)
    if network is None:
        raise EvaluationError(f"{text!r} is not a network such as 10.0.0.0/8")
    return network


def _contains_ip(network: Network, address: Address) -> bool:
    return address in network.network


def _contains_cidr(network: Network, other: Network) -> bool:
    wider = network.network.prefixlen <= other.network.prefixlen
    return wider and other.ip in network.network


def _masked(network: Network) -> Network:
    return type(network)(network.network)


def _is_link_local_group(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return address in LINK_LOCAL_GROUPS.network
    first, second = address.packed[:2]
    return first == 0xFF and second & 0x0F == 0x02  # the scope is in the low four bits


def _is_global_unicast(address: Address) -> bool:
    """Whether it is none of the special ones; private addresses count, as in Go."""
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
        or address == IPv4Address("255.255.255.255")
    )


OVERLOADS: Final = (
    overload("ip", "(string) -> net.IP", _ip),
    overload("isIP", "(string) -> bool", lambda text: _find_ip(text) is not None),
    overload("ip.isCanonical", "(string) -> bool", lambda text: str(_ip(text)) == text),
    overload("family", "net.IP.() -> int", lambda address: address.version),
    overload("isUnspecified", "net.IP.() -> bool", lambda address: address.is_unspecified),
    overload("isLoopback", "net.IP.() -> bool", lambda address: address.is_loopback),
    overload("isLinkLocalMulticast", "net.IP.() -> bool", _is_link_local_group),
    overload("isLinkLocalUnicast", "net.IP.() -> bool", lambda address: address.is_link_local),
    overload("isGlobalUnicast", "net.IP.() -> bool", _is_global_unicast),
    overload("string", "(net.IP) -> string", str),
    overload("cidr", "(string) -> net.CIDR", _cidr),
    overload("isCIDR", "(string) -> bool", lambda text: _find_cidr(text) is not None),
    overload("containsIP", "net.CIDR.(string) -> bool", lambda net, ip: _contains_ip(net, _ip(ip))),
    overload("containsIP", "net.CIDR.(net.IP) -> bool", _contains_ip),
    overload(
        "containsCIDR", "net.CIDR.(string) -> bool", lambda net, t: _contains_cidr(net, _cidr(t))
    ),
    overload("containsCIDR", "net.CIDR.(net.CIDR) -> bool", _contains_cidr),
    overload("ip", "net.CIDR.() -> net.IP", lambda network: network.ip),
    overload("prefixLength", "net.CIDR.() -> int", lambda network: network.network.prefixlen),
    overload("masked", "net.CIDR.() -> net.CIDR", _masked),
    overload("string", "(net.CIDR) -> string", str),
)
