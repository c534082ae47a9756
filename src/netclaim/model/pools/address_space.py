"""The addresses of a pool as numbers: which there are, which comes next, which two pools share.

Promise: an address is in a space once, however its ranges were written; work grows with the number
of ranges and exclusions, and never with the number of addresses, of which an IPv6 range has more
than anybody can count. Candidates of an identity are the same on every node. No I/O. Limit: ranges
that cannot be read are for `range_faults`; a space of them cannot be made.
"""

import hashlib
import ipaddress
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final, TypeAlias

from netclaim.model.api.base import Base
from netclaim.model.api.label_selector import LabelSelector

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
IpNetwork: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
Block: TypeAlias = tuple[int, int]
"""The first and the last of addresses that follow each other, as numbers."""

SMALLEST: Final = 2  # addresses: a link between two has neither network nor broadcast address
IPV4_DOTS: Final = 3
HASH_BYTES: Final = 24  # more than an IPv6 address, so that no remainder is likelier than another


class Range(Base, frozen=True):
    """A range of a pool as it is written: a network, and what of it is not for pods."""

    cidr: str
    start: str = ""  # the first address; empty: the network's
    end: str = ""
    gateway: str = ""  # nobody gets it
    exclude: tuple[str, ...] = ()  # addresses and networks that nobody gets
    node_selector: LabelSelector | None = None  # None: for all nodes


@dataclass(frozen=True)
class Space:
    """Addresses of one family in ascending order, without any twice."""

    version: int
    blocks: tuple[Block, ...]

    @cached_property
    def _before(self) -> tuple[int, ...]:
        """How many addresses come before each block, and how many there are."""
        return tuple(accumulate((last - first + 1 for first, last in self.blocks), initial=0))

    @property
    def size(self) -> int:
        """How many addresses there are."""
        return self._before[-1]

    def at(self, index: int) -> IpAddress:
        """The address with so many others before it."""
        block = bisect_right(self._before, index) - 1
        return address_of(self.version, self.blocks[block][0] + index - self._before[block])

    def __contains__(self, address: IpAddress) -> bool:
        return address.version == self.version and self.has(int(address))

    def has(self, number: int) -> bool:
        """Whether an address of the family, as a number, is among them."""
        block = bisect_right(self.blocks, number, key=_first) - 1
        return block >= 0 and number <= self.blocks[block][1]

    def without(self, taken: Iterable[IpAddress]) -> "Space":
        """The addresses that nobody has."""
        numbers = [int(each) for each in taken if each.version == self.version]
        return Space(self.version, _minus(self.blocks, [(number, number) for number in numbers]))

    def shared_with(self, other: "Space") -> IpAddress | None:
        """The first address that is in both, if there is one."""
        if self.version != other.version:
            return None
        mine, theirs = list(self.blocks), list(other.blocks)
        while mine and theirs:
            first = max(mine[0][0], theirs[0][0])
            if first <= min(mine[0][1], theirs[0][1]):
                return address_of(self.version, first)
            (mine if mine[0][1] < theirs[0][1] else theirs).pop(0)
        return None


def space_of(ranges: Iterable[Range], version: int) -> Space:
    """The addresses of one family that ranges have for pods."""
    wanted: list[Block] = []
    unwanted: list[Block] = []
    for each in ranges:
        network = ipaddress.ip_network(each.cidr)
        if network.version != version:
            continue
        wanted.append(_ends(each, network))
        kept = [each.gateway] if each.gateway else []
        unwanted += [block_of(_network(text)) for text in (*each.exclude, *kept)]
    return Space(version, _minus(merged(wanted), unwanted))


def range_of(ranges: Iterable[Range], address: IpAddress) -> Range:
    """The range that an address is in; KeyError if it is in none."""
    for each in ranges:
        if address in ipaddress.ip_network(each.cidr):
            return each
    raise KeyError(str(address))


def candidates(space: Space, identity: str) -> Iterator[IpAddress]:
    """Yield addresses for somebody, in an order that depends on who it is; never ends."""
    number = 0
    while True:
        yield space.at(_hash(f"{identity}/{number}") % space.size)
        number += 1


def free_candidate(space: Space, identity: str, taken: Collection[IpAddress]) -> IpAddress | None:
    """An address that nobody has, another one for each identity; None if there is none."""
    free = space.without(taken)
    return free.at(_hash(identity) % free.size) if free.size else None


def lease_name(domain: str, address: IpAddress) -> str:
    """The name of the object that stands for an address of a domain, however it is spelt."""
    name = str(address) if address.version == 4 else address.exploded.replace(":", "-")
    return f"{domain}.{name}" if domain else name


def leased_address(name: str) -> IpAddress:
    """The address that a lease of this name stands for."""
    if name.count(".") < IPV4_DOTS:
        return ipaddress.ip_address(name.rpartition(".")[2].replace("-", ":"))
    return ipaddress.ip_address(".".join(name.split(".")[-IPV4_DOTS - 1 :]))


def address_from(text: str) -> IpAddress:
    """Read an address."""
    return ipaddress.ip_address(text)


def address_of(version: int, number: int) -> IpAddress:
    """The address that a number is, in a family."""
    return ipaddress.IPv4Address(number) if version == 4 else ipaddress.IPv6Address(number)


def range_faults(written: Range) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a range: the field, and a sentence."""
    try:
        network = ipaddress.ip_network(written.cidr if "/" in written.cidr else "")
    except ValueError:
        yield "cidr", "must be a network without host bits; for example 10.10.1.0/24"
        return
    for field in ("start", "end", "gateway"):
        text = getattr(written, field)
        if text and not _is_inside(text, network, whole=False):
            yield field, f"must be an address in {network}"
    for text in written.exclude:
        if not _is_inside(text, network, whole=True):
            yield "exclude", f"must be addresses and networks in {network}"
            return


def _is_inside(text: str, network: IpNetwork, *, whole: bool) -> bool:
    try:
        inner = _network(text)
    except ValueError:
        return False
    if inner.version != network.version or ("/" in text and not whole):
        return False
    (first, last), (lowest, highest) = block_of(inner), block_of(network)
    return lowest <= first and last <= highest


def _network(text: str) -> IpNetwork:
    """Read an address or a network, which may have host bits: the API server takes those."""
    return ipaddress.ip_network(text, strict=False)


def _first(block: Block) -> int:
    return block[0]


def _ends(written: Range, network: IpNetwork) -> Block:
    """The first and the last address of a range: not those that mean the network itself."""
    first, last = block_of(network)
    if network.num_addresses > SMALLEST:
        first += 1
        last -= network.version == 4  # IPv6 has no broadcast address
    if written.start:
        first = max(first, int(ipaddress.ip_address(written.start)))
    if written.end:
        last = min(last, int(ipaddress.ip_address(written.end)))
    return first, last


def block_of(network: IpNetwork) -> Block:
    """The addresses of a network."""
    return int(network.network_address), int(network.broadcast_address)


def merged(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """The addresses of blocks, in order and as few blocks as there can be."""
    found: list[Block] = []
    for first, last in sorted(block for block in blocks if block[0] <= block[1]):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)


def _minus(blocks: Iterable[Block], unwanted: Iterable[Block]) -> tuple[Block, ...]:
    """What is left of blocks, which are in order and apart."""
    left: list[Block] = []
    gone = list(reversed(merged(unwanted)))  # the lowest is the last, to be taken off
    for first, last in blocks:
        while gone and gone[-1][1] < first:
            gone.pop()
        while gone and gone[-1][0] <= last:
            low, high = gone[-1]
            if first < low:
                left.append((first, low - 1))
            first = high + 1  # noqa: PLW2901 -- what is left of this block
            if high > last:
                break  # the next block begins inside of it, or behind it
            gone.pop()
        if first <= last:
            left.append((first, last))
    return tuple(left)


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:HASH_BYTES], "big")
