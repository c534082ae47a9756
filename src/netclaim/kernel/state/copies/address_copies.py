"""Copies of a link's addresses, to be given to it again.

Promise: a copy has all that the address had: broadcast, peer, label, flags, its route's metric, and
what is left of its life, as with a lease of DHCP.
Limit: only addresses that somebody configured; those that come by themselves (autoconfiguration,
link-local) are left to come again, and so is every IPv6 address that does not last.
"""

import socket
import struct
import time
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
)
from netclaim.kernel.requests.ip import IFADDRMSG, dump_addresses

IFA_CACHEINFO: Final = 6
CACHEINFO: Final = struct.Struct("=IIII")  # seconds it is preferred, and valid; two points in time
FOREVER: Final = 0xFFFF_FFFF
IFA_PROTO: Final = 11  # kernels that do not know it refuse it


class TakenAddress(msgspec.Struct, frozen=True):
    """An address without the link that had it."""

    family: int
    prefix_length: int
    scope: int
    parts: tuple[tuple[int, bytes], ...]
    ends: tuple[float, float] | None = None  # when it is no longer preferred, and when it ends


async def take_addresses(rtnl: Rtnl, index: int) -> tuple[TakenAddress, ...]:
    """Read the permanent addresses of a link."""
    messages = await rtnl.dump(dump_addresses(index))
    read = (read_taken_address(message, index) for message in messages)
    return tuple(taken for taken in read if taken is not None)


def still_there(taken: Iterable[TakenAddress]) -> list[TakenAddress]:
    """Return the addresses that have not ended since."""
    now = _now()
    return [each for each in taken if each.ends is None or each.ends[1] > now + 1]


def give_back(index: int, taken: TakenAddress) -> Request:
    """Give a link a copied address; one that it already has stays as it is."""
    fixed = IFADDRMSG.pack(taken.family, taken.prefix_length, 0, taken.scope, index)
    parts = b"".join(attribute(kind, value) for kind, value in taken.parts)
    if taken.ends is not None:
        left = (max(0, min(int(end - _now()), FOREVER)) for end in taken.ends)
        parts += attribute(IFA_CACHEINFO, CACHEINFO.pack(*left, 0, 0))
    flags = uapi.NLM_F_CREATE | uapi.NLM_F_REPLACE
    about = f"give link {index} an address back"
    return Request(uapi.RTM_NEWADDR, fixed + parts, about, flags)


def _now() -> float:
    """The machine's clock, which goes on while it sleeps; records do not outlast a boot."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def read_taken_address(message: Message, index: int) -> TakenAddress | None:
    """Read an address; None if it belongs to another link, or is not permanent."""
    if len(message.payload) < IFADDRMSG.size:
        raise MalformedMessageError("an address message without its fixed part")
    family, prefix_length, flags, scope, of_link = IFADDRMSG.unpack_from(message.payload)
    parts = attributes(message.payload, IFADDRMSG.size)
    wide_flags = dict(parts).get(uapi.IFA_FLAGS)
    lasting = (flags if wide_flags is None else number(wide_flags)) & uapi.IFA_F_PERMANENT
    if of_link != index or scope == uapi.RT_SCOPE_LINK:
        return None
    if not lasting and family != socket.AF_INET:
        return None
    kept = tuple(part for part in parts if part[0] not in {IFA_CACHEINFO, IFA_PROTO})
    life = dict(parts).get(IFA_CACHEINFO, b"")
    ends = None
    if not lasting and len(life) >= CACHEINFO.size:
        preferred, valid, _, _ = CACHEINFO.unpack_from(life)
        ends = (_now() + preferred, _now() + valid)
    return TakenAddress(family, prefix_length, scope, kept, ends)
