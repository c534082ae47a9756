"""Routes as frozen values: read from messages, and listed with the next hops that they share.

A route names its links itself, or a next hop: an object of the kernel that many routes can share,
perhaps a group of others. The kernel then says the links in the route as well, unless an admin has
switched that off (net.ipv4.nexthop_compat_mode), as routing daemons recommend.
Promise: any bytes give values, nothing, or MalformedMessageError.
Limit: of a route, only where it leads is read.
"""

import errno
import struct
from collections.abc import Mapping
from typing import Final, TypeAlias

import msgspec

from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.client import Rtnl
from netclaim.kernel.netlink.codec import (
    KernelError,
    MalformedMessageError,
    Message,
    attributes,
    number,
)
from netclaim.kernel.requests.ip import NHMSG, RTMSG, dump_next_hops, dump_routes
from netclaim.kernel.state.addresses import ADDRESS_BYTES, ip_text

RTNEXTHOP: Final = struct.Struct("=HBBi")  # length, flags, weight, link index
GROUP_MEMBER: Final = struct.Struct("=IBBH")  # a next hop's number, weight, reserved
VIA_FAMILY_BYTES: Final = 2  # RTA_VIA is a gateway of the other family, after the family's number
# Numbers that the kernel does not know: it had no next hops before 5.3, or was built without.
NO_NEXT_HOPS: Final = frozenset({errno.EOPNOTSUPP, errno.EINVAL})

Way: TypeAlias = tuple[int, str]  # a link's index, 0 for none; a gateway, perhaps empty
NextHops: TypeAlias = Mapping[int, tuple[Way, ...]]  # by their numbers


class Route(msgspec.Struct, frozen=True):
    """One path to a destination; a multipath route gives one of these for each of its paths."""

    family: int
    destination: str  # empty for the default route
    prefix_length: int
    index: int  # of the link that it leads over; 0: none
    gateway: str
    table: int
    priority: int
    kind: int  # RTN_*

    @property
    def default(self) -> bool:
        """Whether it is used if no other route matches."""
        return self.prefix_length == 0 and self.kind == uapi.RTN_UNICAST


async def list_routes(rtnl: Rtnl, table: int = uapi.RT_TABLE_MAIN) -> tuple[Route, ...]:
    """List the routes of one table, IPv4 before IPv6."""
    messages = await route_messages(rtnl, table)
    routes = tuple(route for message in messages for route in read_routes(message))
    if all(route.index or route.kind != uapi.RTN_UNICAST for route in routes):
        return routes
    hops = await _list_next_hops(rtnl)  # some say only which of these they use
    return tuple(route for message in messages for route in read_routes(message, hops))


async def route_messages(rtnl: Rtnl, table: int = uapi.RT_TABLE_MAIN) -> list[Message]:
    """List the routes of one table as the kernel's messages, IPv4 before IPv6."""
    found: list[Message] = []
    for family in ADDRESS_BYTES:
        try:
            found += await rtnl.dump(dump_routes(family, table))
        except KernelError as error:
            if error.errno != errno.ENOENT:  # a table exists only from its first route on
                raise
    return found


def read_routes(message: Message, hops: NextHops | None = None) -> tuple[Route, ...]:
    """Read the paths that a route message describes; empty if it describes something else.

    `hops` are the next hops that there are, for a route which names one and no link.
    """
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
            destination=ip_text(family, destination) if destination else "",
            prefix_length=prefix_length,
            index=index,
            gateway=gateway,
            table=table if wide_table is None else number(wide_table),
            priority=number(found.get(uapi.RTA_PRIORITY, b"")),
            kind=kind,
        )
        for index, gateway in _ways(family, found, hops or {})
    )


async def _list_next_hops(rtnl: Rtnl) -> NextHops:
    """List the next hops of the client's namespace, groups among them."""
    try:
        messages = await rtnl.dump(dump_next_hops())
    except KernelError as error:
        if error.errno not in NO_NEXT_HOPS:
            raise
        return {}
    return read_next_hops(messages)


def read_next_hops(messages: list[Message]) -> NextHops:
    """Read the ways of each next hop; those of a group are those of its members."""
    single: dict[int, tuple[Way, ...]] = {}
    groups: dict[int, list[int]] = {}
    for message in messages:
        if message.kind != uapi.RTM_NEWNEXTHOP:
            continue
        if len(message.payload) < NHMSG.size:
            raise MalformedMessageError("a next hop's message without its fixed part")
        family, *_ = NHMSG.unpack_from(message.payload)
        found = dict(attributes(message.payload, NHMSG.size))
        hop = number(found.get(uapi.NHA_ID, b""))
        if uapi.NHA_GROUP in found:
            members = found[uapi.NHA_GROUP]
            whole = len(members) - len(members) % GROUP_MEMBER.size
            groups[hop] = [member for member, *_ in GROUP_MEMBER.iter_unpack(members[:whole])]
        else:
            gateway = found.get(uapi.NHA_GATEWAY)
            index = number(found.get(uapi.NHA_OIF, b""))
            single[hop] = ((index, ip_text(family, gateway) if gateway else ""),)
    return single | {
        hop: tuple(way for member in members for way in single.get(member, ()))
        for hop, members in groups.items()
    }


def _ways(family: int, found: dict[int, bytes], hops: NextHops) -> tuple[Way, ...]:
    """List the links and gateways of a route."""
    several = found.get(uapi.RTA_MULTIPATH)
    if several is not None:
        return _multipath(family, several)
    if uapi.RTA_OIF not in found and uapi.RTA_NH_ID in found:
        return hops.get(number(found[uapi.RTA_NH_ID])) or ((0, ""),)
    return ((number(found.get(uapi.RTA_OIF, b"")), _gateway(family, found)),)


def _multipath(family: int, hops: bytes) -> tuple[Way, ...]:
    ways: list[Way] = []
    start = 0
    while start + RTNEXTHOP.size <= len(hops):
        length, _, _, index = RTNEXTHOP.unpack_from(hops, start)
        if not RTNEXTHOP.size <= length <= len(hops) - start:
            raise MalformedMessageError(f"a next hop of {length} bytes, {len(hops) - start} left")
        own = dict(attributes(hops[start : start + length], RTNEXTHOP.size))
        ways.append((index, _gateway(family, own)))
        start += (length + 3) & ~3
    return tuple(ways)


def _gateway(family: int, found: dict[int, bytes]) -> str:
    if uapi.RTA_GATEWAY in found:
        return ip_text(family, found[uapi.RTA_GATEWAY])
    via = found.get(uapi.RTA_VIA)
    if via is None:
        return ""
    return ip_text(number(via[:VIA_FAMILY_BYTES]), via[VIA_FAMILY_BYTES:])
