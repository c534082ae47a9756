"""Ranges of addresses: which belong to one, which comes next.

Promise: a `Range` or `RangeSet` that exists is sound: inside its subnet, of one family, without
overlaps. Addresses come in the order in which host-local hands them out.
Limit: pure; which are taken, a store knows.
"""

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

from netclaim.kernel.requests.ip import IpAddress
from netclaim.plugins.engine.conf import Conf, read_cidr, read_ip
from netclaim.plugins.engine.errors import ConfError
from netclaim.plugins.engine.key_rules import KeyRule

Subnet: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

HOST_BITS_MIN: Final = 2  # of /31 and /32 nothing is left beside network, gateway and broadcast


class RangeConf(Conf, frozen=True):
    """A range as it is written."""

    subnet: Annotated[str, KeyRule("the subnet, for example 10.10.1.0/24", check=read_cidr)] = ""
    range_start: Annotated[str, KeyRule("the first address to assign", check=read_ip)] = ""
    range_end: Annotated[str, KeyRule("the last address to assign", check=read_ip)] = ""
    gateway: Annotated[
        str, KeyRule("the gateway; by default the subnet's first address", check=read_ip)
    ] = ""

    def refuse(self) -> None:
        """Raise where no range can be made of the keys."""
        if not self.subnet:
            raise ConfError("subnet is missing; for example 10.10.1.0/24", path=("subnet",))
        read_range(self)


@dataclass(frozen=True, slots=True)
class Range:
    """Consecutive addresses of a subnet, both ends included."""

    subnet: Subnet
    start: IpAddress
    end: IpAddress
    gateway: IpAddress

    def __contains__(self, address: IpAddress) -> bool:
        return address.version == self.subnet.version and (
            int(self.start) <= int(address) <= int(self.end)
        )

    def __str__(self) -> str:
        return f"{self.start}-{self.end}"

    def overlaps(self, other: "Range") -> bool:
        """Whether the two have an address in common."""
        return self.start in other or self.end in other or other.start in self or other.end in self


@dataclass(frozen=True, slots=True)
class RangeSet:
    """Ranges of one family, of which one address is handed out."""

    ranges: tuple[Range, ...]

    @property
    def version(self) -> int:
        """4 or 6."""
        return self.ranges[0].subnet.version

    def __str__(self) -> str:
        return ",".join(map(str, self.ranges))

    def range_of(self, address: IpAddress) -> Range | None:
        """Return the range that has the address."""
        return next((each for each in self.ranges if address in each), None)

    def overlaps(self, other: "RangeSet") -> bool:
        """Whether the two have an address in common."""
        return any(one.overlaps(two) for one in self.ranges for two in other.ranges)

    def after(self, last: IpAddress | None) -> Iterator[tuple[IpAddress, Range]]:
        """Yield each address once, from the one after `last` around to it; gateways are left out.

        Without a last one, or with one that is not ours, from the very first.
        """
        at = next((n for n, each in enumerate(self.ranges) if last and last in each), None)
        if at is None or last is None:
            for each in self.ranges:
                yield from _between(each, int(each.start), int(each.end))
            return
        here = self.ranges[at]
        yield from _between(here, int(last) + 1, int(here.end))
        for each in (*self.ranges[at + 1 :], *self.ranges[:at]):
            yield from _between(each, int(each.start), int(each.end))
        yield from _between(here, int(here.start), int(last))


def read_range_set(written: tuple[RangeConf, ...]) -> RangeSet:
    """Read a set; PluginError says what is wrong with it."""
    if not written:
        raise ConfError("it is empty")
    ranges = tuple(read_range(each) for each in written)
    if len({each.subnet.version for each in ranges}) > 1:
        raise ConfError("it has both address families")
    for n, one in enumerate(ranges):
        for two in ranges[n + 1 :]:
            if one.overlaps(two):
                raise ConfError(f"{one} and {two} overlap")
    return RangeSet(ranges)


def check_apart(sets: tuple[RangeSet, ...]) -> None:
    """See that no address is in two sets."""
    for n, one in enumerate(sets):
        for m, two in enumerate(sets[n + 1 :], n + 1):
            if one.overlaps(two):
                raise ConfError(f"range sets {n} and {m} overlap")


def read_range(written: RangeConf) -> Range:
    """Read a range; ConfError says what is wrong with it."""
    interface = read_cidr(written.subnet)
    subnet = interface.network
    if subnet.max_prefixlen - subnet.prefixlen < HOST_BITS_MIN:
        raise ConfError(f"subnet {subnet} is too small", path=("subnet",))
    if interface.ip != subnet.network_address:
        raise ConfError(f"subnet {interface} has host bits; use {subnet}", path=("subnet",))
    first = subnet.network_address + 1
    # The last address of an IPv4 subnet is its broadcast address; IPv6 has none.
    last = subnet[-2] if subnet.version == 4 else subnet[-1]
    start = _inside(subnet, written.range_start, "rangeStart") or first
    end = _inside(subnet, written.range_end, "rangeEnd") or last
    if int(end) < int(start):
        raise ConfError(f"rangeEnd {end} is before rangeStart {start}", path=("rangeEnd",))
    return Range(subnet, start, end, read_ip(written.gateway) if written.gateway else first)


def _inside(subnet: Subnet, written: str, key: str) -> IpAddress | None:
    if not written:
        return None
    address = read_ip(written)
    if address not in subnet:
        raise ConfError(f"{key} {address} is outside of {subnet}", path=(key,))
    return address


def _between(each: Range, first: int, last: int) -> Iterator[tuple[IpAddress, Range]]:
    kind = type(each.start)
    gateway = int(each.gateway) if each.gateway.version == each.subnet.version else None
    for number in range(first, last + 1):
        if number != gateway:
            yield kind(number), each
