"""Copies of a link's addresses, to be given to it again.

Promise: a copy has all that the address had: broadcast, peer, label, flags, its route's metric.
Limit: only addresses that somebody configured; those that come by themselves (autoconfiguration,
link-local) are left to come again.
"""

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

IFA_CACHEINFO: Final = 6  # ages, which no longer hold
IFA_PROTO: Final = 11  # kernels that do not know it refuse it


class TakenAddress(msgspec.Struct, frozen=True):
    """An address without the link that had it."""

    family: int
    prefix_length: int
    scope: int
    parts: tuple[tuple[int, bytes], ...]


async def take_addresses(rtnl: Rtnl, index: int) -> tuple[TakenAddress, ...]:
    """Read the permanent addresses of a link."""
    messages = await rtnl.dump(dump_addresses(index))
    read = (read_taken_address(message, index) for message in messages)
    return tuple(taken for taken in read if taken is not None)


def give_back(index: int, taken: TakenAddress) -> Request:
    """Give a link a copied address; one that it already has stays as it is."""
    fixed = IFADDRMSG.pack(taken.family, taken.prefix_length, 0, taken.scope, index)
    parts = (attribute(kind, value) for kind, value in taken.parts)
    flags = uapi.NLM_F_CREATE | uapi.NLM_F_REPLACE
    about = f"give link {index} an address back"
    return Request(uapi.RTM_NEWADDR, fixed + b"".join(parts), about, flags)


def read_taken_address(message: Message, index: int) -> TakenAddress | None:
    """Read an address; None if it belongs to another link, or is not permanent."""
    if len(message.payload) < IFADDRMSG.size:
        raise MalformedMessageError("an address message without its fixed part")
    family, prefix_length, flags, scope, of_link = IFADDRMSG.unpack_from(message.payload)
    parts = attributes(message.payload, IFADDRMSG.size)
    wide_flags = dict(parts).get(uapi.IFA_FLAGS)
    lasting = (flags if wide_flags is None else number(wide_flags)) & uapi.IFA_F_PERMANENT
    if of_link != index or not lasting or scope == uapi.RT_SCOPE_LINK:
        return None
    kept = tuple(part for part in parts if part[0] not in {IFA_CACHEINFO, IFA_PROTO})
    return TakenAddress(family, prefix_length, scope, kept)
