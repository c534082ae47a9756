"""Copies of routes, to be put into another table, given back to their link, or removed.

Promise: a copy has everything that the route had, known or not, except for the table and what the
kernel notes about a route for itself.
Limit: only routes that lead over one link.
"""

import ipaddress
from collections.abc import Iterable
from typing import Final

import msgspec

from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.client import Rtnl
from netclaim.kernel.netlink.codec import (
    MalformedMessageError,
    Message,
    Request,
    attribute,
    attributes,
    number,
    u32,
)
from netclaim.kernel.requests.ip import RTMSG, TABLE_BYTE_MAX, IpAddress
from netclaim.kernel.state.routes import route_messages

# What a copy leaves out: its table, and counters and ages, which no request may hold.
NOTES: Final = {uapi.RTA_TABLE, uapi.RTA_CACHEINFO, uapi.RTA_EXPIRES}
# What does not outlast the link: its index, and the next hop that routes over it share.
OF_LINK: Final = {uapi.RTA_OIF, uapi.RTA_NH_ID}


class KeptRoute(msgspec.Struct, frozen=True):
    """A route without its link, as bytes that can be written down."""

    header: tuple[int, ...]  # RTMSG
    parts: tuple[tuple[int, bytes], ...]
    table: int

    @property
    def protocol(self) -> int:
        """Who made it, RTPROT_*."""
        return self.header[5]

    @property
    def has_gateway(self) -> bool:
        """Whether another route has to lead to its gateway."""
        return any(kind in {uapi.RTA_GATEWAY, uapi.RTA_VIA} for kind, _ in self.parts)

    def enter_over(self, index: int) -> Request:
        """Enter it again over a link; fails if there is such a route by now."""
        payload = _payload(self.header, self.parts, self.table) + u32(uapi.RTA_OIF, index)
        flags = uapi.NLM_F_CREATE | uapi.NLM_F_EXCL
        return Request(uapi.RTM_NEWROUTE, payload, f"give link {index} a route back", flags)


class TakenRoute(msgspec.Struct, frozen=True):
    """A route as bytes, and the parts of it that callers need."""

    header: tuple[int, ...]  # RTMSG
    parts: tuple[tuple[int, bytes], ...]
    index: int  # of the link that it leads over; 0: none, or several
    gateway: IpAddress | None
    source: IpAddress | None  # the source of packets that have none yet
    table: int = uapi.RT_TABLE_MAIN

    @property
    def scope(self) -> int:
        """How far the destination is, RT_SCOPE_*; for IPv6 routes always the universe."""
        return self.header[6]

    def put_into(self, table: int) -> Request:
        """Put the same route into another table, replacing one to the same destination."""
        flags = uapi.NLM_F_CREATE | uapi.NLM_F_REPLACE
        payload = self._payload(table)
        return Request(uapi.RTM_NEWROUTE, payload, f"put a route into table {table}", flags)

    def remove(self) -> Request:
        """Remove the route from the main table."""
        return Request(uapi.RTM_DELROUTE, self._payload(uapi.RT_TABLE_MAIN), "remove a route")

    def kept(self) -> KeptRoute:
        """Return what is the same whichever index the link has."""
        parts = tuple(part for part in self.parts if part[0] not in OF_LINK)
        return KeptRoute(self.header, parts, self.table)

    def _payload(self, table: int) -> bytes:
        return _payload(self.header, self.parts, table)


async def take_routes(
    rtnl: Rtnl, index: int, table: int = uapi.RT_TABLE_MAIN
) -> tuple[TakenRoute, ...]:
    """Read the routes of one table, or all, that lead over a link, IPv4 before IPv6."""
    read = map(read_taken_route, await route_messages(rtnl, table))
    return tuple(route for route in read if route is not None and route.index == index)


def read_taken_route(message: Message) -> TakenRoute | None:
    """Read a route; None if the kernel made it for a single destination."""
    if len(message.payload) < RTMSG.size:
        raise MalformedMessageError("a route message without its fixed part")
    header = RTMSG.unpack_from(message.payload)
    if header[8] & uapi.RTM_F_CLONED:
        return None
    parts = attributes(message.payload, RTMSG.size)
    found = dict(parts)
    return TakenRoute(
        header=header,
        parts=tuple((kind, value) for kind, value in parts if kind not in NOTES),
        index=number(found.get(uapi.RTA_OIF, b"")),
        gateway=_address(found.get(uapi.RTA_GATEWAY)),
        source=_address(found.get(uapi.RTA_PREFSRC)),
        table=number(found.get(uapi.RTA_TABLE, b"")) or header[4],
    )


def _payload(header: tuple[int, ...], parts: Iterable[tuple[int, bytes]], table: int) -> bytes:
    fixed = list(header)
    fixed[4] = table if table <= TABLE_BYTE_MAX else 0
    fixed[8] = 0  # flags, for example that the link has no carrier now
    written = (attribute(kind, value) for kind, value in parts)
    return RTMSG.pack(*fixed) + b"".join(written) + u32(uapi.RTA_TABLE, table)


def _address(packed: bytes | None) -> IpAddress | None:
    try:
        return ipaddress.ip_address(packed) if packed else None
    except ValueError as error:
        raise MalformedMessageError(f"an address of a route: {error}") from error
