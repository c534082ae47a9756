"""Copies of routes over several links, to be given back to one of them.

When a link goes, IPv4 drops the whole route, and IPv6 the link's part of it. Promise: what was lost
is entered again; the other links are those that it named, by their numbers.
Limit: next hops that routes share (`ip nexthop`) come back as parts of each route.
"""

import socket
import struct
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.codec import Message, Request, attribute, attributes, number, u32
from netclaim.kernel.requests.ip import RTMSG, TABLE_BYTE_MAX

NEXT_HOP: Final = struct.Struct("=HBBi")  # length, flags, weight, index
ON_LINK: Final = 0x4  # RTNH_F_ONLINK, the flag that is not the kernel's own note
NOTES: Final = frozenset(
    {uapi.RTA_TABLE, uapi.RTA_CACHEINFO, uapi.RTA_EXPIRES, uapi.RTA_MULTIPATH, uapi.RTA_NH_ID}
)
OWN: Final = 0  # in place of the index of the link itself, which may have another one then


class Hop(msgspec.Struct, frozen=True):
    """One way that a route has."""

    index: int
    flags: int
    weight: int
    rest: bytes  # its attributes, as they are


class KeptPaths(msgspec.Struct, frozen=True):
    """A route over several links, as bytes that can be written down."""

    header: tuple[int, ...]
    parts: tuple[tuple[int, bytes], ...]
    table: int
    hops: tuple[Hop, ...]

    def enter_over(self, index: int) -> list[Request]:
        """Enter what was lost when the link went, for a link that has this index."""
        hops = [Hop(hop.index or index, hop.flags, hop.weight, hop.rest) for hop in self.hops]
        if self.header[0] == socket.AF_INET:
            return [self._request(_multipath(hops), uapi.NLM_F_EXCL)]
        lost = [hop for hop, before in zip(hops, self.hops, strict=True) if before.index == OWN]
        return [
            self._request(u32(uapi.RTA_OIF, index) + hop.rest, uapi.NLM_F_APPEND) for hop in lost
        ]

    def _request(self, ways: bytes, flag: int) -> Request:
        fixed = list(self.header)
        fixed[4] = self.table if self.table <= TABLE_BYTE_MAX else 0
        fixed[8] = 0  # flags, for example that a link has no carrier now
        payload = RTMSG.pack(*fixed)
        payload += b"".join(attribute(kind, value) for kind, value in self.parts)
        payload += u32(uapi.RTA_TABLE, self.table) + ways
        about = "give back a route over several links"
        return Request(uapi.RTM_NEWROUTE, payload, about, uapi.NLM_F_CREATE | flag)


def paths_over(messages: Iterable[Message], index: int) -> Iterator[KeptPaths]:
    """Yield the routes over several links, of which one has this index."""
    for message in messages:
        header = RTMSG.unpack_from(message.payload)
        parts = attributes(message.payload, RTMSG.size)
        found = dict(parts)
        hops = list(_hops(found.get(uapi.RTA_MULTIPATH, b"")))
        if any(hop.index == index for hop in hops):
            yield KeptPaths(
                header=header,
                parts=tuple(part for part in parts if part[0] not in NOTES),
                table=number(found.get(uapi.RTA_TABLE, b"")) or header[4],
                hops=tuple(
                    msgspec.structs.replace(hop, index=OWN) if hop.index == index else hop
                    for hop in hops
                ),
            )


def _hops(value: bytes) -> Iterator[Hop]:
    while len(value) >= NEXT_HOP.size:
        length, flags, weight, index = NEXT_HOP.unpack_from(value)
        yield Hop(index, flags & ON_LINK, weight, value[NEXT_HOP.size : length])
        value = value[max(length + 3 & ~3, NEXT_HOP.size) :]  # the next one is aligned to 4 bytes


def _multipath(hops: Iterable[Hop]) -> bytes:
    value = b""
    for hop in hops:
        length = NEXT_HOP.size + len(hop.rest)
        value += NEXT_HOP.pack(length, hop.flags, hop.weight, hop.index) + hop.rest
        value += bytes(-length % 4)
    return attribute(uapi.RTA_MULTIPATH, value)
