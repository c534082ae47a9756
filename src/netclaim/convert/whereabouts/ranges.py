"""Read the ranges of whereabouts as a pool has them.

Promise: a range has the addresses that whereabouts could give to pods. Keys are in any case, as in
Go; what whereabouts passes over is said (`Keys.said`). No I/O.
"""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from netclaim.cni.key_case import fold
from netclaim.convert.multus.definition import UnconvertedError
from netclaim.model.claims.claim import JsonObject
from netclaim.model.pools.address_space import IpAddress, IpNetwork, Range, Space, space_of
from netclaim.paths import Path

ZONED: Final = 'must have no "%"; a pool has addresses without a link'  # which Python would read
SMALLEST: Final = 2  # addresses: a network of two has neither of its own


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys under `ipam` or of a range, in lower case, with how they are written."""

    found: Mapping[str, Any]
    spelled: Mapping[str, str]
    at: Path
    said: list[tuple[Path, str, bool]]  # where, what, and whether something is lost by it

    @classmethod
    def of(cls, written: JsonObject, at: Path, said: list[tuple[Path, str, bool]]) -> "Keys":
        """Return the keys of an object; what there is to say about them is added to `said`."""
        return cls(
            {fold(key): value for key, value in written.items()},
            {fold(key): key for key in written},
            at,
            said,
        )

    def path(self, key: str) -> Path:
        """Where a key is."""
        return (*self.at, self.spelled.get(key, key))

    def text(self, key: str) -> str:
        """Return a string; empty if there is none."""
        value = self.found.get(key) or ""
        if not isinstance(value, str):
            raise UnconvertedError("must be a string", path=self.path(key))
        if "%" in value:
            raise UnconvertedError(ZONED, path=self.path(key))
        return value

    def items(self, key: str) -> list[Any]:
        """Return a list; empty if there is none."""
        value = self.found.get(key) or []
        if not isinstance(value, list):
            raise UnconvertedError("must be a list", path=self.path(key))
        return value

    def say(self, key: str, text: str, *, lost: bool = False) -> None:
        """Note something about a key."""
        self.said.append((self.path(key), text, lost))


def range_keys(read: Keys) -> Iterator[Keys]:
    """Yield the ranges in their order: the one that stands by itself is the first."""
    if read.text("range"):
        yield read
    for number, one in enumerate(read.items("ipranges")):
        at = (*read.path("ipranges"), number)
        if not isinstance(one, dict):
            raise UnconvertedError("must be an object", path=at)
        yield Keys.of(one, at, read.said)
    if not read.text("range") and not read.items("ipranges"):
        raise UnconvertedError(
            "has no range, so whereabouts reads it from a file on each node; write it here",
            path=read.at,
        )


def read_range(read: Keys) -> Range:
    """Read a range; a first or last address that whereabouts passes over is left out."""
    written, dash, rest = read.text("range").partition("-")
    try:
        last = ipaddress.ip_interface(rest if dash else written)
        start = str(ipaddress.ip_address(written)) if dash else read.text("range_start")
    except ValueError as error:
        text = "is not a network; for example 10.10.1.0/24"
        raise UnconvertedError(text, path=read.path("range")) from error
    network = last.network
    end = str(last.ip) if dash else read.text("range_end")
    ends = ("range", "range") if dash else ("range_start", "range_end")
    lowest, highest = _usable(network)
    first = _end(start, lowest, highest, read, ends[0]) or lowest
    final = _end(end, first, highest, read, ends[1]) or highest
    return Range(
        str(network),
        start=str(first) if first != lowest else "",
        end=str(final) if final != highest else "",
        exclude=tuple(map(str, _excluded(network, read))),
    )


def _usable(network: IpNetwork) -> tuple[IpAddress, IpAddress]:
    """The addresses that pods can have of a network; whereabouts leaves out its last, also of IPv6.

    A pool has that one of IPv6, which is an address like any other.
    """
    if network.num_addresses <= SMALLEST:
        return network.network_address, network.broadcast_address
    return network.network_address + 1, network.broadcast_address - (network.version == 4)


def _end(text: str, first: IpAddress, last: IpAddress, read: Keys, key: str) -> IpAddress | None:
    """Return the first or last address of a range; None if whereabouts passes over it."""
    if not text:
        return None
    try:
        address = ipaddress.ip_address(text)
    except ValueError as error:
        raise UnconvertedError("is not an address", path=read.path(key)) from error
    if address.version == first.version and int(first) <= int(address) <= int(last):
        return address
    read.say(key, f"left out: {address} is not from {first} to {last}")
    return None


def _excluded(network: IpNetwork, read: Keys) -> list[IpNetwork]:
    found: list[IpNetwork] = []
    for number, text in enumerate(read.items("exclude")):
        at = (*read.path("exclude"), number)
        if "%" in str(text):
            raise UnconvertedError(ZONED, path=at)
        try:
            one = ipaddress.ip_network(str(text), strict=False)
        except ValueError as error:
            raise UnconvertedError("is not a network or an address", path=at) from error
        if one.version != network.version or not one.overlaps(network):
            read.said.append((at, f"left out: {text} is not in {network}", False))
        else:  # of two networks that overlap, one is in the other
            found.append(one if one.prefixlen >= network.prefixlen else network)
    return sorted(set(found), key=str)


def parts_of(written: Range, taken: Iterable[IpNetwork]) -> list[IpNetwork]:
    """Return what is taken from whereabouts of a range; nothing outside of its first and last."""
    network = ipaddress.ip_network(written.cidr)
    whole = msgspec.structs.replace(written, gateway="", exclude=())
    return [
        each if each.prefixlen >= network.prefixlen else network
        for each in taken
        if share_addresses(whole, each)
    ]


def share_addresses(written: Range, network: IpNetwork) -> bool:
    """Whether pods can have an address of a network from a range."""
    ends = int(network.network_address), int(network.broadcast_address)
    there = Space(network.version, (ends,))
    return space_of([written], network.version).shared_with(there) is not None


def collapsed(networks: Iterable[IpNetwork]) -> list[IpNetwork]:
    """Return networks of one family in order, as few as there can be."""
    return list(ipaddress.collapse_addresses(networks))  # type: ignore[type-var]


def with_gateway(ranges: tuple[Range, ...], read: Keys) -> tuple[Range, ...]:
    """Return ranges with the gateway where it is in their network."""
    text = read.text("gateway")
    if not text:
        return ranges
    try:
        gateway = ipaddress.ip_address(text)
    except ValueError as error:
        raise UnconvertedError("is not an address", path=read.path("gateway")) from error
    having = tuple(
        msgspec.structs.replace(one, gateway=str(gateway))
        if gateway in ipaddress.ip_network(one.cidr)
        else one
        for one in ranges
    )
    if having == ranges:
        networks = " and ".join(one.cidr for one in ranges)
        read.say("gateway", f"left out: it is not in {networks}, so that no pod can reach it")
    return having
