"""What a server gives a client, read from an offer or an acknowledgement.

Promise: a `Granted` that exists has an address that a host can have, in a network that has it; its
times are in order, and its lists short. What does not make sense in something that a client can do
without (a route, a name server) is left out; in an address, it is a MalformedError.
Limit: whether the address may be had here is not for the protocol to say.
"""

import re
from collections.abc import Collection, Iterator
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, NetmaskValueError
from typing import Final

import msgspec

from netclaim.dhcp.message import MalformedError, Message, Option

FOREVER: Final = 0xFFFFFFFF  # seconds: a lease that does not end
LEASE_MIN_S: Final = 2  # less could not be renewed before it has ended
# When to renew and to ask anybody else, where a server does not say it (RFC 2131, 4.4.5).
RENEWAL_PART, REBINDING_PART = 0.5, 0.875
LEASE_DEFAULT_S: Final = 3600  # of an offer, which need not say; an acknowledgement has to
ROUTES_MAX: Final = 64  # as many as a claim may write
LISTED_MAX: Final = 8  # name servers and domains; resolvers use three and six
ADDRESS_BYTES: Final = 4
NAME: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(?:\.|$)")
DOMAIN_MAX: Final = 253  # characters of a name, without its last dot
POINTER: Final = 0xC0  # of a length in a compressed name: the rest of it is elsewhere
LABELS_MAX: Final = 128  # of one name, and so of pointers that are followed
UNUSABLE: Final = tuple(map(IPv4Network, ("0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/3")))


class GivenRoute(msgspec.Struct, frozen=True, omit_defaults=True):
    """A route that a server gives; without a gateway it is on the link."""

    destination: str
    gateway: str = ""


class Granted(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a server gives for a time."""

    address: str  # with its prefix length
    server: str
    lease_s: int
    renewal_s: int
    rebinding_s: int
    routers: tuple[str, ...] = ()
    routes: tuple[GivenRoute, ...] = ()  # if there are some, they take the place of the routers
    name_servers: tuple[str, ...] = ()
    domain: str = ""
    search: tuple[str, ...] = ()
    mtu: int = 0

    @property
    def interface(self) -> IPv4Interface:
        """The address as a value."""
        return IPv4Interface(self.address)


def read_granted(message: Message, wanted: Collection[int]) -> Granted:
    """Read an offer or an acknowledgement; options that were not `wanted` are left out."""
    options = message.options
    asked = {code: value for code, value in options.items() if code in wanted}
    server = _first_address(options.get(Option.SERVER, b""))
    if server is None or not _is_usable(server):
        raise MalformedError("the server does not say who it is")
    interface = _interface(message.yours, options.get(Option.SUBNET_MASK, b""))
    lease_s, renewal_s, rebinding_s = _times(message)
    hops = [each for each in _addresses(asked.get(Option.ROUTERS, b"")) if _is_hop(each, interface)]
    name_servers = filter(_is_usable, _addresses(asked.get(Option.NAME_SERVERS, b"")))
    return Granted(
        address=str(interface),
        server=str(server),
        lease_s=lease_s,
        renewal_s=renewal_s,
        rebinding_s=rebinding_s,
        routers=tuple(map(str, hops[:1])),
        routes=tuple(_routes(asked, interface))[:ROUTES_MAX],
        name_servers=tuple(map(str, name_servers))[:LISTED_MAX],
        domain=_domain(asked.get(Option.DOMAIN, b"")),
        search=tuple(_names(asked.get(Option.SEARCH, b"")))[:LISTED_MAX],
        mtu=_number(asked.get(Option.MTU, b""), 2) or 0,
    )


def _interface(address: IPv4Address, mask: bytes) -> IPv4Interface:
    """Return the address in its network; without a mask, in that of its class, as BOOTP has it."""
    if not _is_usable(address):
        raise MalformedError(f"{address} is not an address that an interface can have")
    try:
        written = IPv4Address(mask) if mask else IPv4Address(_class_mask(address))
        interface = IPv4Interface(f"{address}/{written}")
    except (ValueError, NetmaskValueError) as error:
        raise MalformedError(f"the network mask {mask.hex()} is none") from error
    network = interface.network
    if interface.netmask != written or not network.prefixlen:  # it was read as a wildcard, or is 0
        raise MalformedError(f"the network mask {written} is none")
    ends = {network.network_address, network.broadcast_address}
    if network.num_addresses > 2 and address in ends:
        raise MalformedError(f"{interface} is the network's own address")
    return interface


def _class_mask(address: IPv4Address) -> int:
    top = address.packed[0]
    bits = 8 if top < 128 else 16 if top < 192 else 24
    return FOREVER ^ (FOREVER >> bits)


def _times(message: Message) -> tuple[int, int, int]:
    """Return how long a lease lasts, and when to renew it and to ask other servers."""
    options = message.options
    lease_s = _number(options.get(Option.LEASE_S, b""), ADDRESS_BYTES)
    if lease_s is None:
        lease_s = LEASE_DEFAULT_S
    if lease_s < LEASE_MIN_S:
        raise MalformedError(f"a lease of {lease_s} s is too short to be renewed")
    renewal_s = _number(options.get(Option.RENEWAL_S, b""), ADDRESS_BYTES)
    rebinding_s = _number(options.get(Option.REBINDING_S, b""), ADDRESS_BYTES)
    if rebinding_s is None or not 0 < rebinding_s < lease_s:
        rebinding_s = int(lease_s * REBINDING_PART)
    if renewal_s is None or not 0 < renewal_s <= rebinding_s:
        renewal_s = min(max(int(lease_s * RENEWAL_PART), 1), rebinding_s)
    return lease_s, renewal_s, rebinding_s


def _routes(options: dict[int, bytes], own: IPv4Interface) -> Iterator[GivenRoute]:
    """Yield the routes that are given; those with prefixes take the place of those by class."""
    if Option.CLASSLESS_ROUTES in options:
        yield from _classless(options[Option.CLASSLESS_ROUTES], own)
        return
    pairs = _addresses(options.get(Option.STATIC_ROUTES, b""))
    for destination, gateway in zip(pairs[::2], pairs[1::2], strict=False):
        mask = IPv4Address(_class_mask(destination))
        network = IPv4Network(f"{destination}/{mask}", strict=False)
        if destination != IPv4Address(0) and _is_hop(gateway, own):
            yield GivenRoute(str(network), str(gateway))


def _classless(content: bytes, own: IPv4Interface) -> Iterator[GivenRoute]:
    """Yield the routes of option 121; what comes after one that makes no sense is not read."""
    at = 0
    while at < len(content):
        length = content[at]
        size = (length + 7) // 8
        end = at + 1 + size + ADDRESS_BYTES
        if length > own.max_prefixlen or end > len(content):
            return
        start = content[at + 1 : at + 1 + size].ljust(ADDRESS_BYTES, b"\0")
        network = IPv4Network((start, length), strict=False)
        gateway = IPv4Address(content[end - ADDRESS_BYTES : end])
        at = end
        if gateway == IPv4Address(0):
            yield GivenRoute(str(network))
        elif _is_hop(gateway, own):
            yield GivenRoute(str(network), str(gateway))


def _is_hop(gateway: IPv4Address, own: IPv4Interface) -> bool:
    """Whether packets can be sent there: a gateway that is the interface itself would be none."""
    return _is_usable(gateway) and gateway != own.ip


def _is_usable(address: IPv4Address) -> bool:
    return not any(address in network for network in UNUSABLE)


def _addresses(content: bytes) -> list[IPv4Address]:
    whole = len(content) - len(content) % ADDRESS_BYTES
    starts = range(0, whole, ADDRESS_BYTES)
    return [IPv4Address(content[start : start + ADDRESS_BYTES]) for start in starts]


def _first_address(content: bytes) -> IPv4Address | None:
    return IPv4Address(content) if len(content) == ADDRESS_BYTES else None


def _number(content: bytes, size: int) -> int | None:
    return int.from_bytes(content, "big") if len(content) == size else None


def _domain(content: bytes) -> str:
    """Return a name that is one; servers end it with zeros, or with a dot."""
    text = content.rstrip(b"\0").decode("ascii", "replace").rstrip(".")
    return text if _is_name(text) else ""


def _is_name(text: str) -> bool:
    if not 0 < len(text) <= DOMAIN_MAX:
        return False
    return all(NAME.fullmatch(label) for label in text.split("."))


def _names(content: bytes) -> Iterator[str]:
    """Yield the names of option 119, which are written as in DNS (RFC 3397)."""
    at = 0
    for _ in range(LISTED_MAX):
        if at >= len(content):
            return
        labels, at = _labels(content, at)
        name = b".".join(labels).decode("ascii", "replace")
        if at < 0:
            return
        if _is_name(name):
            yield name


def _labels(content: bytes, at: int) -> tuple[list[bytes], int]:
    """Return the labels of a name, and where the next one begins; below 0 if it has no end."""
    labels: list[bytes] = []
    following = 0  # where the name itself ends, once a pointer has led away from it
    for _ in range(LABELS_MAX):
        if at >= len(content):
            break
        size = content[at]
        if size == 0:
            return labels, following or at + 1
        if size & POINTER == POINTER:
            if at + 1 >= len(content):
                break
            following = following or at + 2
            at = (size & ~POINTER) << 8 | content[at + 1]
            continue
        labels.append(content[at + 1 : at + 1 + size])
        at += 1 + size
    return [], -1
