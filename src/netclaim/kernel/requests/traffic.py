"""Requests about traffic control, as bytes: limit what leaves a link, redirect what comes in.

Promise: a bucket that was made here and one that was read are equal if they have the same effect.
Limit: only token buckets at a link's root, and redirecting everything.
"""

import socket
import struct
from typing import Final

import msgspec

from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.codec import (
    MalformedMessageError,
    Message,
    Request,
    attribute,
    attributes,
    nested,
    number,
    text,
    text_of,
    u32,
)

TCMSG: Final = struct.Struct("=B3xiIII")  # family, link index, handle, parent, info
RATE: Final = struct.Struct("=8xI")  # a tc_ratespec of which only the rate is set
TBF: Final = struct.Struct("=12s12sIII")  # rate, peak rate, limit, buffer, mtu
U32_SELECTOR: Final = struct.Struct("=BxB13x16x")  # flags, number of keys; one key of zeros
MIRRED: Final = struct.Struct("=IIiiiiI")  # index, capab, action, refcnt, bindcnt, eaction, link

U32_MAX: Final = 0xFFFF_FFFF
SECOND_US: Final = 1_000_000
TICK_NS: Final = 64  # the length of the ticks in which the kernel counts time here, since 2009
FIRST: Final = 0x0001_0000  # the handle 1:
FIRST_CLASS: Final = 0x0001_0001  # 1:1
INGRESS: Final = 0xFFFF_0000  # the handle ffff:, which the kernel reserves for ingress
ALL_PACKETS: Final = socket.htons(0x0003)  # ETH_P_ALL, as it is on the wire
FIRST_PRIORITY: Final = 1 << 16


class TokenBucket(msgspec.Struct, frozen=True):
    """A limit on what leaves a link, in the kernel's own units."""

    rate: int  # bytes per second
    ticks: int  # the bucket's size, as time at the rate
    limit: int  # bytes that may be queued


def token_bucket(*, rate: int, burst: int, latency_us: int) -> TokenBucket:
    """Let `rate` bytes a second pass, and `burst` bytes at once; packets wait for `latency_us`.

    What is greater than the kernel can hold is cut to the most that it can.
    """
    burst_us = burst * SECOND_US // rate
    waiting = rate * latency_us // SECOND_US
    return TokenBucket(
        rate, min(burst_us * 1000 // TICK_NS, U32_MAX), min(waiting + burst, U32_MAX)
    )


def add_token_bucket(index: int, bucket: TokenBucket, *, replace: bool = False) -> Request:
    """Limit what leaves a link.

    If the link has another queue than the kernel's default, that is replaced, or this fails.
    """
    rate = RATE.pack(min(bucket.rate, U32_MAX))
    parameters = TBF.pack(rate, RATE.pack(0), bucket.limit, bucket.ticks, 0)
    options = attribute(uapi.TCA_TBF_PARMS, parameters)
    if bucket.rate > U32_MAX:
        options += attribute(uapi.TCA_TBF_RATE64, struct.pack("=Q", bucket.rate))
    payload = tcmsg(index, FIRST, uapi.TC_H_ROOT) + text(uapi.TCA_KIND, "tbf")
    return Request(
        uapi.RTM_NEWQDISC,
        payload + nested(uapi.TCA_OPTIONS, options),
        f"limit what leaves link {index}",
        uapi.NLM_F_CREATE | (uapi.NLM_F_REPLACE if replace else uapi.NLM_F_EXCL),
    )


def delete_root(index: int, handle: int = FIRST) -> Request:
    """Lift the limit on what leaves a link."""
    payload = tcmsg(index, handle, uapi.TC_H_ROOT)
    return Request(uapi.RTM_DELQDISC, payload, f"lift the limit of link {index}")


def add_ingress(index: int) -> Request:
    """Allow what comes in over a link to be redirected."""
    payload = tcmsg(index, INGRESS, uapi.TC_H_INGRESS) + text(uapi.TCA_KIND, "ingress")
    return Request(
        uapi.RTM_NEWQDISC,
        payload,
        f"watch what comes in over link {index}",
        uapi.NLM_F_CREATE | uapi.NLM_F_EXCL,
    )


def delete_ingress(index: int) -> Request:
    """Undo `add_ingress`, and with it any redirection."""
    payload = tcmsg(index, INGRESS, uapi.TC_H_INGRESS)
    return Request(uapi.RTM_DELQDISC, payload, f"stop watching what comes in over link {index}")


def redirect_all(index: int, to_index: int) -> Request:
    """Send everything that comes in over a link out over another; needs `add_ingress` first."""
    redirect = MIRRED.pack(0, 0, uapi.TC_ACT_STOLEN, 0, 0, uapi.TCA_EGRESS_REDIR, to_index)
    action = nested(
        1,  # the first of the actions
        text(uapi.TCA_ACT_KIND, "mirred"),
        nested(uapi.TCA_ACT_OPTIONS, attribute(uapi.TCA_MIRRED_PARMS, redirect)),
    )
    options = nested(
        uapi.TCA_OPTIONS,
        attribute(uapi.TCA_U32_SEL, U32_SELECTOR.pack(uapi.TC_U32_TERMINAL, 1)),
        u32(uapi.TCA_U32_CLASSID, FIRST_CLASS),
        nested(uapi.TCA_U32_ACT, action),
    )
    payload = tcmsg(index, 0, INGRESS, FIRST_PRIORITY | ALL_PACKETS)
    return Request(
        uapi.RTM_NEWTFILTER,
        payload + text(uapi.TCA_KIND, "u32") + options,
        f"redirect what comes in over link {index} to link {to_index}",
        uapi.NLM_F_CREATE | uapi.NLM_F_EXCL,
    )


def dump_ingress_filters(index: int) -> Request:
    """Ask for what is done to packets that come in over a link."""
    payload = tcmsg(index, 0, INGRESS)
    about = f"list what happens to packets that come in over link {index}"
    return Request(uapi.RTM_GETTFILTER, payload, about, dump=True)


def read_redirection(message: Message) -> int | None:
    """Read the index of the link that everything is sent to; None for any other filter."""
    _, found = parts(message)
    if text_of(found.get(uapi.TCA_KIND, b"")) != "u32":
        return None
    options = dict(attributes(found.get(uapi.TCA_OPTIONS, b"")))
    selector = options.get(uapi.TCA_U32_SEL, b"")
    if selector != U32_SELECTOR.pack(uapi.TC_U32_TERMINAL, 1):
        return None
    actions = attributes(options.get(uapi.TCA_U32_ACT, b""))
    action = dict(attributes(actions[0][1])) if actions else {}
    if text_of(action.get(uapi.TCA_ACT_KIND, b"")) != "mirred":
        return None
    inner = dict(attributes(action.get(uapi.TCA_ACT_OPTIONS, b"")))
    parameters = inner.get(uapi.TCA_MIRRED_PARMS, b"")
    if len(parameters) < MIRRED.size:
        raise MalformedMessageError(f"a redirection of {len(parameters)} bytes")
    _, _, _, _, _, how, to_index = MIRRED.unpack_from(parameters)
    return int(to_index) if how == uapi.TCA_EGRESS_REDIR else None


def dump_qdiscs() -> Request:
    """Ask for the queueing of every link."""
    return Request(uapi.RTM_GETQDISC, tcmsg(0, 0, 0), "list queueing disciplines", dump=True)


def read_token_bucket(message: Message) -> tuple[int, TokenBucket] | None:
    """Read a link's index and the limit at its root; None if its queue is no such limit."""
    (_, index, _, parent, _), found = parts(message)
    if parent != uapi.TC_H_ROOT or text_of(found.get(uapi.TCA_KIND, b"")) != "tbf":
        return None
    options = dict(attributes(found.get(uapi.TCA_OPTIONS, b"")))
    parameters = options.get(uapi.TCA_TBF_PARMS, b"")
    if len(parameters) < TBF.size:
        raise MalformedMessageError(f"a token bucket of {len(parameters)} bytes")
    spec, _, limit, ticks, _ = TBF.unpack_from(parameters)
    wide = options.get(uapi.TCA_TBF_RATE64)
    (rate,) = RATE.unpack(spec)
    return index, TokenBucket(rate if wide is None else number(wide), ticks, limit)


def parts(message: Message) -> tuple[tuple[int, int, int, int, int], dict[int, bytes]]:
    """Read the fixed part (family, link index, handle, parent, info) and the attributes."""
    if len(message.payload) < TCMSG.size:
        raise MalformedMessageError("a queueing message without its fixed part")
    fixed: tuple[int, int, int, int, int] = TCMSG.unpack_from(message.payload)
    return fixed, dict(attributes(message.payload, TCMSG.size))


def tcmsg(index: int, handle: int, parent: int, info: int = 0) -> bytes:
    """The fixed part of every message about traffic."""
    return TCMSG.pack(socket.AF_UNSPEC, index, handle, parent, info)
