"""Copies of a link's settings, to be given to it again.

A tenant that has a link for a while, in a namespace where it may do anything, can change them, also
to bytes that are no text. Promise: each is read and written byte for byte.
Limit: only what rtnetlink sets for every kind of link, without name, MAC, MTU, alias and being up.
What ethtool sets (offloads, speed, queues) and what a driver keeps to itself are not here.
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
    nested,
    u8,
    u32,
)
from netclaim.kernel.requests.links import (
    IFINFOMSG,
    change_altnames,
    get_link_at,
    set_link_flags,
    set_link_parts,
)

# The kernel changes any of these by one request; the caller decides about IFF_UP.
FLAGS: Final = (
    uapi.IFF_DEBUG
    | uapi.IFF_NOTRAILERS
    | uapi.IFF_NOARP
    | uapi.IFF_PROMISC
    | uapi.IFF_ALLMULTI
    | uapi.IFF_MULTICAST
    | uapi.IFF_PORTSEL
    | uapi.IFF_AUTOMEDIA
    | uapi.IFF_DYNAMIC
)
PARTS: Final = (
    uapi.IFLA_TXQLEN,
    uapi.IFLA_LINKMODE,
    uapi.IFLA_GROUP,
    uapi.IFLA_GSO_MAX_SIZE,  # before the one for IPv4, which it sets as well
    uapi.IFLA_GSO_MAX_SEGS,
    uapi.IFLA_GRO_MAX_SIZE,
    uapi.IFLA_GSO_IPV4_MAX_SIZE,
    uapi.IFLA_GRO_IPV4_MAX_SIZE,
    uapi.IFLA_PROTO_DOWN,
)
NAMES_MAX: Final = 256  # in one request: 33 KiB, and an attribute holds 64
EVERY_REASON: Final = 0xFFFF_FFFF


class TakenSettings(msgspec.Struct, frozen=True):
    """Settings without the link that had them."""

    flags: int
    parts: tuple[tuple[int, bytes], ...]
    altnames: tuple[bytes, ...]

    @property
    def waits_for_user(self) -> bool:
        """Whether it waits for a program to declare it up, as for IEEE 802.1X."""
        return any(dict(self.parts).get(uapi.IFLA_LINKMODE, b""))


async def take_settings(rtnl: Rtnl, index: int) -> TakenSettings:
    """Read the settings of a link that must exist."""
    return read_settings((await rtnl.call(get_link_at(index)))[0])


def read_settings(message: Message) -> TakenSettings:
    """Read the settings of the link that a message describes."""
    if len(message.payload) < IFINFOMSG.size:
        raise MalformedMessageError("a link message without its fixed part")
    _, _, _, flags, _ = IFINFOMSG.unpack_from(message.payload)
    found = dict(attributes(message.payload, IFINFOMSG.size))
    properties = attributes(found.get(uapi.IFLA_PROP_LIST, b""))
    return TakenSettings(
        flags=flags & FLAGS,
        parts=tuple((kind, found[kind]) for kind in PARTS if kind in found),
        altnames=tuple(name for kind, name in properties if kind == uapi.IFLA_ALT_IFNAME),
    )


def remove_altnames(index: int, now: TakenSettings, before: TakenSettings) -> list[Request]:
    """Remove the alternative names that a link did not have before."""
    extra = [name for name in now.altnames if name not in before.altnames]
    return [
        change_altnames(uapi.RTM_DELLINKPROP, index, extra[start : start + NAMES_MAX])
        for start in range(0, len(extra), NAMES_MAX)
    ]


def give_altnames_back(index: int, now: TakenSettings, before: TakenSettings) -> list[Request]:
    """Give a link the alternative names that it no longer has, each on its own."""
    missing = [name for name in before.altnames if name not in now.altnames]
    return [change_altnames(uapi.RTM_NEWLINKPROP, index, [name]) for name in missing]


def give_settings_back(index: int, now: TakenSettings, before: TakenSettings) -> list[Request]:
    """Set what has changed, one request each: a driver may refuse one and accept the others."""
    requests = []
    if now.flags != before.flags:
        requests.append(set_link_flags(index, before.flags, now.flags ^ before.flags))
    had = dict(now.parts)
    for kind, value in before.parts:
        if had.get(kind) != value:
            parts = attribute(kind, value)
            if kind == uapi.IFLA_PROTO_DOWN:  # stays for as long as there is a reason for it
                parts = _no_reason_to_be_down() + parts
            requests.append(set_link_parts(index, parts))
    return requests


def wake_link(index: int) -> Request:
    """Declare that a link which waits for a program (dormant, testing) need not wait any longer."""
    return set_link_parts(index, u8(uapi.IFLA_OPERSTATE, uapi.IF_OPER_UP))


def _no_reason_to_be_down() -> bytes:
    mask = u32(uapi.IFLA_PROTO_DOWN_REASON_MASK, EVERY_REASON)
    return nested(uapi.IFLA_PROTO_DOWN_REASON, mask, u32(uapi.IFLA_PROTO_DOWN_REASON_VALUE, 0))
