"""Requests about classes of traffic on a link, as bytes: their rates, and what belongs to which.

The queue is an htb (hierarchical token bucket): a tree of classes, each with a rate that it is sure
of and a ceiling up to which it may borrow what others leave. Promise: a class that exists is
changed in place, without losing what waits in it.
"""

import struct
from typing import Final

import msgspec

from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.codec import Message, Request, attribute, nested, text, text_of, u32
from netclaim.kernel.requests.traffic import (
    ALL_PACKETS,
    FIRST_PRIORITY,
    TICK_NS,
    U32_MAX,
    parts,
    tcmsg,
)

GLOBAL: Final = struct.Struct("=IIIII")  # version, rate to quantum, default class, debug, direct
RATE: Final = struct.Struct("=xB6xI")  # a tc_ratespec: the link layer and the rate
CLASS: Final = struct.Struct("=12s12sIIIII")  # rate, ceiling, two buckets, quantum, level, priority
SELECTOR: Final = struct.Struct("=BxB13x")  # flags, number of keys
VERSION: Final = 3  # of the kernel's interface
ETHERNET: Final = 1  # the link layer for which no table of rates is needed
RATE_TO_QUANTUM: Final = 10  # as `tc` has it; not used, as each class says its quantum
QUANTUM: Final = 1 << 16  # bytes of a turn: a packet as large as the kernel assembles them
BURST_TICKS: Final = 10_000_000 // TICK_NS  # 10 ms at the rate, as a share's own bucket has it
MAC_SOURCE: Final = -8  # bytes from the network header, as all offsets of keys
IPV4, IPV4_SOURCE = (0xF0000000, 0x40000000, 0), 12
IPV6, IPV6_SOURCE = (0xF0000000, 0x60000000, 0), 8


class Source(msgspec.Struct, frozen=True):
    """Whom packets come from: the words in them that have to be equal, by mask and offset."""

    keys: tuple[tuple[int, int, int], ...]


def from_mac(mac: bytes) -> Source:
    """Packets from an Ethernet address."""
    first, last = struct.unpack("!IH", mac)
    return Source(((U32_MAX, first, MAC_SOURCE), (0xFFFF_0000, last << 16, MAC_SOURCE + 4)))


def from_address(address: bytes) -> Source:
    """Packets from an IP address of either family."""
    version, start = (IPV4, IPV4_SOURCE) if len(address) == 4 else (IPV6, IPV6_SOURCE)
    words = struct.unpack(f"!{len(address) // 4}I", address)
    keys = ((U32_MAX, word, start + 4 * at) for at, word in enumerate(words))
    return Source((version, *keys))


def add_classes(index: int, handle: int, default: int) -> Request:
    """Replace the queue of a link by one with classes; what has no class goes to the default."""
    options = attribute(
        uapi.TCA_HTB_INIT, GLOBAL.pack(VERSION, RATE_TO_QUANTUM, default & 0xFFFF, 0, 0)
    )
    payload = tcmsg(index, handle, uapi.TC_H_ROOT) + text(uapi.TCA_KIND, "htb")
    return Request(
        uapi.RTM_NEWQDISC,
        payload + nested(uapi.TCA_OPTIONS, options),
        f"queue what leaves link {index} by classes",
        uapi.NLM_F_CREATE | uapi.NLM_F_REPLACE,
    )


def set_class(
    index: int, handle: int, parent: int, *, rate: int, ceiling: int, priority: int = 0
) -> Request:
    """Make or change a class. Rates are in bytes per second; of those sure of theirs, 0 is first.

    `handle` is that of the class, with the queue's in its upper half.
    """
    rates = (rate, ceiling)
    each = (RATE.pack(ETHERNET, min(bytes_s, U32_MAX)) for bytes_s in rates)
    buckets = (BURST_TICKS, BURST_TICKS)
    options = attribute(uapi.TCA_HTB_PARMS, CLASS.pack(*each, *buckets, QUANTUM, 0, priority))
    for kind, bytes_s in zip((uapi.TCA_HTB_RATE64, uapi.TCA_HTB_CEIL64), rates, strict=True):
        if bytes_s > U32_MAX:
            options += attribute(kind, struct.pack("=Q", bytes_s))
    payload = tcmsg(index, handle, parent) + text(uapi.TCA_KIND, "htb")
    return Request(
        uapi.RTM_NEWTCLASS,
        payload + nested(uapi.TCA_OPTIONS, options),
        f"set the rate of a class of what leaves link {index}",
        uapi.NLM_F_CREATE | uapi.NLM_F_REPLACE,
    )


def classify(index: int, queue: int, class_: int, source: Source) -> Request:
    """Put what comes from somebody into a class of a link's queue."""
    selector = SELECTOR.pack(uapi.TC_U32_TERMINAL, len(source.keys)) + b"".join(
        struct.pack("!II", mask, value) + struct.pack("=i4x", offset)
        for mask, value, offset in source.keys
    )
    options = nested(
        uapi.TCA_OPTIONS,
        u32(uapi.TCA_U32_CLASSID, class_),
        attribute(uapi.TCA_U32_SEL, selector),
    )
    return Request(
        uapi.RTM_NEWTFILTER,
        tcmsg(index, 0, queue, FIRST_PRIORITY | ALL_PACKETS) + text(uapi.TCA_KIND, "u32") + options,
        f"give what leaves link {index} its class",
        uapi.NLM_F_CREATE | uapi.NLM_F_EXCL,
    )


def declassify(index: int, queue: int) -> Request:
    """Undo `classify`, for everybody; that there was nobody is no error."""
    about = f"forget the classes of what leaves link {index}"
    return Request(uapi.RTM_DELTFILTER, tcmsg(index, 0, queue), about)


def read_root(message: Message) -> tuple[int, str, int] | None:
    """Read a link's index, and the kind and the handle of its queue; None if it is another's."""
    (_, index, handle, parent, _), found = parts(message)
    if parent != uapi.TC_H_ROOT:
        return None
    return index, text_of(found.get(uapi.TCA_KIND, b"")), handle
