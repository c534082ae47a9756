"""Addresses and routes as frozen values: read from messages, and listed.

Promise: any bytes give values, nothing, or MalformedMessageError.
Limit: of a route only what tells where it leads.
"""

import errno
import socket
import struct
from typing import Final

import msgspec

from netclaim.kernel import uapi
from netclaim.kernel.ip_requests import IFADDRMSG, RTMSG, dump_addresses, dump_routes
from netclaim.kernel.netlink import KernelError, MalformedMessageError, Message, attributes, number
from netclaim.kernel.rtnl import Rtnl

__all__ = [
    "Address",
    "Route",
    "list_addresses",
    "list_routes",
    "read_address",
    "read_routes",
    "route_messages",
]

ADDRESS_BYTES: Final = {int(socket.AF_INET): 4, int(socket.AF_INET6): 16}
RTNEXTHOP: Final = struct.Struct("=HBBi")  # length, flags, weight, link index
VIA_FAMILY_BYTES: Final = 2  # RTA_VIA is a gateway of the other family, after the family's number


class Address(msgspec.Struct, frozen=True):
    """An IP address on a link."""

    index: int
    family: int
    ip: str
    prefix_length: int
    scope: int
    flags: int

    def __str__(self) -> str:
        return f"{self.ip}/{self.prefix_length}"


class Route(msgspec.Struct, frozen=True):
    """One way to a destination; a multipath route gives one of these for each of its ways."""

    family: int
    destination: str  # empty: anywhere
    prefix_length: int
    index: int  # of the link that it leads over; 0: none
    gateway: str
    table: int
    priority: int
    kind: int  # RTN_*

    @property
    def default(self) -> bool:
        """Whether it takes whatever has no better route."""
        return self.prefix_length == 0 and self.kind == uapi.RTN_UNICAST

    @property
    def to_neighbour(self) -> bool:
        """Whether it leads to one single address, straight over its link."""
        one = self.prefix_length == 8 * ADDRESS_BYTES[self.family]
        return one and self.kind == uapi.RTN_UNICAST and not self.gateway


async def list_addresses(rtnl: Rtnl, index: int = 0) -> tuple[Address, ...]:
    """List the addresses in the client's namespace, or of one link in it."""
    read = (read_address(message) for message in await rtnl.dump(dump_addresses(index)))
    return tuple(address for address in read if address is not None)


async def list_routes(rtnl: Rtnl, table: int = uapi.RT_TABLE_MAIN) -> tuple[Route, ...]:
    """List the routes of one table, IPv4 before IPv6."""
    messages = await route_messages(rtnl, table)
    return tuple(route for message in messages for route in read_routes(message))


async def route_messages(rtnl: Rtnl, table: int = uapi.RT_TABLE_MAIN) -> list[Message]:
    """List the routes of one table as the kernel tells of them, IPv4 before IPv6."""
    found: list[Message] = []
    for family in ADDRESS_BYTES:
        try:
            found += await rtnl.dump(dump_routes(family, table))
        except KernelError as error:
            if error.errno != errno.ENOENT:  # a table comes into being with its first route
                raise
    return found


def read_address(message: Message) -> Address | None:
    """Read the address that a message tells of; None if it tells of something else."""
    if message.kind not in {uapi.RTM_NEWADDR, uapi.RTM_DELADDR}:
        return None
    if len(message.payload) < IFADDRMSG.size:
        raise MalformedMessageError("an address message without its fixed part")
    family, prefix_length, flags, scope, index = IFADDRMSG.unpack_from(message.payload)
    found = dict(attributes(message.payload, IFADDRMSG.size))
    # On a point-to-point link IFA_ADDRESS is the far end; IFA_LOCAL, if there, is ours.
    packed = found.get(uapi.IFA_LOCAL) or found.get(uapi.IFA_ADDRESS)
    if family not in ADDRESS_BYTES or packed is None:
        return None
    wide_flags = found.get(uapi.IFA_FLAGS)
    return Address(
        index=index,
        family=family,
        ip=_ip(family, packed),
        prefix_length=prefix_length,
        scope=scope,
        flags=flags if wide_flags is None else number(wide_flags),
    )


def read_routes(message: Message) -> tuple[Route, ...]:
    """Read the ways that a route message tells of; none if it tells of something else."""
    if message.kind not in {uapi.RTM_NEWROUTE, uapi.RTM_DELROUTE}:
        return ()
    if len(message.payload) < RTMSG.size:
        raise MalformedMessageError("a route message without its fixed part")
    family, prefix_length, _, _, table, _, _, kind, _ = RTMSG.unpack_from(message.payload)
    if family not in ADDRESS_BYTES:
        return ()
    found = dict(attributes(message.payload, RTMSG.size))
    destination = found.get(uapi.RTA_DST)
    wide_table = found.get(uapi.RTA_TABLE)
    return tuple(
        Route(
            family=family,
            destination=_ip(family, destination) if destination else "",
            prefix_length=prefix_length,
            index=index,
            gateway=gateway,
            table=table if wide_table is None else number(wide_table),
            priority=number(found.get(uapi.RTA_PRIORITY, b"")),
            kind=kind,
        )
        for index, gateway in _ways(family, found)
    )


def _ways(family: int, found: dict[int, bytes]) -> list[tuple[int, str]]:
    """List the links and gateways of a route."""
    hops = found.get(uapi.RTA_MULTIPATH)
    if hops is None:
        return [(number(found.get(uapi.RTA_OIF, b"")), _gateway(family, found))]
    ways = []
    start = 0
    while start + RTNEXTHOP.size <= len(hops):
        length, _, _, index = RTNEXTHOP.unpack_from(hops, start)
        if not RTNEXTHOP.size <= length <= len(hops) - start:
            raise MalformedMessageError(f"a next hop of {length} bytes, {len(hops) - start} left")
        own = dict(attributes(hops[start : start + length], RTNEXTHOP.size))
        ways.append((index, _gateway(family, own)))
        start += (length + 3) & ~3
    return ways


def _gateway(family: int, found: dict[int, bytes]) -> str:
    if uapi.RTA_GATEWAY in found:
        return _ip(family, found[uapi.RTA_GATEWAY])
    via = found.get(uapi.RTA_VIA)
    if via is None:
        return ""
    return _ip(number(via[:VIA_FAMILY_BYTES]), via[VIA_FAMILY_BYTES:])


def _ip(family: int, packed: bytes) -> str:
    if len(packed) != ADDRESS_BYTES.get(family):
        raise MalformedMessageError(f"an address of {len(packed)} bytes in family {family}")
    return socket.inet_ntop(family, packed)
