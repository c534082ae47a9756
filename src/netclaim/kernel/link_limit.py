"""A link that may carry so many bits per second and no more, each way.

What leaves the link waits in a token bucket at its root. What comes in is redirected to a link of
kind ifb beside it, which has a bucket of its own and hands packets back as if they had just come
in. That ifb has the index of its link plus a constant, so that everything is made by one message to
the kernel, and an ifb whose link is gone can be told by its index alone.

Promise: a limit is there whole or not at all; large packets that the kernel puts together for speed
are cut by the bucket where they do not fit, never lost for their size. Limit: whoever has
CAP_NET_ADMIN in the link's namespace can lift it; what a program sends past the queues of the
kernel (PACKET_QDISC_BYPASS) is not held back.
"""

from collections.abc import Iterable
from typing import Final

from netclaim.errors import NetclaimError
from netclaim.kernel.link_requests import create_link, delete_link, ifb, set_link
from netclaim.kernel.links import list_links
from netclaim.kernel.netlink import KernelError, Message, Request
from netclaim.kernel.netns import Netns
from netclaim.kernel.removal import remove_link
from netclaim.kernel.rtnl import Rtnl
from netclaim.kernel.tc_requests import (
    TokenBucket,
    add_ingress,
    add_token_bucket,
    delete_ingress,
    delete_root,
    dump_ingress_filters,
    dump_qdiscs,
    read_redirection,
    read_token_bucket,
    redirect_all,
    token_bucket,
)

__all__ = [
    "LATENCY_US",
    "MODULES",
    "bucket_of",
    "has_limit",
    "is_limited",
    "limit_link",
    "limited_by",
    "redirect_through",
    "relimit_link",
    "remove_orphans",
    "unlimit_link",
]

MODULES: Final = ("sch_tbf", "sch_ingress", "cls_u32", "act_mirred", "ifb")  # of the kernel
LATENCY_US: Final = 25_000  # how long a packet may wait, as the CNI project's plugin has it
BURST_US: Final = 10_000  # at the rate: a busy machine serves a queue some milliseconds late
BURST_MIN: Final = 16 * 1024  # bytes; with less, slow links stutter
FRAME: Final = 18  # bytes of an Ethernet header with a VLAN tag; the bucket counts them
PACKET_MAX: Final = 1 << 16  # bytes; 25 ms at 21 Mbit/s, more only for slower links
BYTE: Final = 8  # bits
SECOND_US: Final = 1_000_000
# Added to a link's index. The kernel counts up from 1 to twice as much; nobody else gets near.
BESIDE: Final = 1_000_000_000
# An ifb needs no addresses, and IPv6 leaves links alone that cannot carry 1280 bytes. What is
# redirected there is not measured by it.
MTU: Final = 1279


def bucket_of(bits: int, mtu: int) -> TokenBucket:
    """The limit for `bits` per second on a link with this MTU.

    A burst holds two frames at least: one that is greater, and cannot be cut, would be lost. What
    waits may be as large as the largest packet that the kernel puts together; it is cut to fit a
    burst, but the pieces that find no room are lost, and TCP then takes seconds to recover.
    """
    rate = max(1, bits // BYTE)
    burst = max(rate * BURST_US // SECOND_US, BURST_MIN, 2 * (mtu + FRAME))
    latency_us = max(LATENCY_US, PACKET_MAX * SECOND_US // rate)
    return token_bucket(rate=rate, burst=burst, latency_us=latency_us)


def limited_by(index: int) -> tuple[str, int]:
    """The name and index of the ifb beside a link."""
    return f"limit{index}", index + BESIDE


def redirect_through(index: int, ifb_index: int, bucket: TokenBucket) -> tuple[Request, ...]:
    """Limit what comes in over a link, by an ifb that is there."""
    return (
        add_token_bucket(ifb_index, bucket),
        add_ingress(index),
        redirect_all(index, ifb_index),
    )


async def limit_link(rtnl: Rtnl, index: int, bits: int, *, mtu: int) -> None:
    """Limit a link both ways. Again: fails, unless it was unlimited in between.

    Whatever queue the link has is replaced. KernelError with nothing left where this fails.
    """
    bucket = bucket_of(bits, mtu)
    name, ifb_index = limited_by(index)
    # The ifb is switched on last of its requests: to give a queue to a link that is on takes
    # longer, and what is redirected to one that is off is lost.
    made = create_link(name, ifb(), index=ifb_index, mtu=MTU, txqlen=0)
    queue, watch, redirect = redirect_through(index, ifb_index, bucket)
    on = set_link(ifb_index, up=True)
    out = add_token_bucket(index, bucket, replace=True)
    try:
        await rtnl.batch([made, queue, on, watch, redirect, out])
    except NetclaimError:
        await unlimit_link(rtnl, index)
        raise


async def relimit_link(rtnl: Rtnl, index: int, bits: int, *, mtu: int) -> None:
    """Change the limit of a link that has one; it is never without. Again: the same limit."""
    bucket = bucket_of(bits, mtu)
    _, ifb_index = limited_by(index)
    both = (ifb_index, index)
    await rtnl.batch([add_token_bucket(each, bucket, replace=True) for each in both])


async def unlimit_link(rtnl: Rtnl, index: int) -> None:
    """Lift a limit, or what there is of it. Again: does nothing."""
    _, ifb_index = limited_by(index)
    for request in (delete_ingress(index), delete_root(index), delete_link(ifb_index)):
        try:
            await rtnl.call_slow(request)
        except KernelError:
            continue  # it is not there, or not as it was; whoever limits the link again will see


async def has_limit(rtnl: Rtnl, index: int) -> bool:
    """Whether a link has buckets both ways, of whatever size."""
    _, ifb_index = limited_by(index)
    return {index, ifb_index} <= dict(_buckets(await rtnl.dump(dump_qdiscs()))).keys()


async def is_limited(rtnl: Rtnl, index: int, bits: int, *, mtu: int) -> bool:
    """Whether a link is limited both ways as `limit_link` does it."""
    bucket = bucket_of(bits, mtu)
    _, ifb_index = limited_by(index)
    buckets = dict(_buckets(await rtnl.dump(dump_qdiscs())))
    if buckets.get(index) != bucket or buckets.get(ifb_index) != bucket:
        return False
    filters = await rtnl.dump(dump_ingress_filters(index))
    return ifb_index in map(read_redirection, filters)


async def remove_orphans(netns: Netns) -> None:
    """Remove each ifb of a namespace whose link is gone. Again: does nothing."""
    with Rtnl.open(netns) as rtnl:
        links = {link.index: link for link in await list_links(rtnl)}
    for link in links.values():
        if link.kind == "ifb" and link.index > BESIDE and link.index - BESIDE not in links:
            await remove_link(netns, link.name)


def _buckets(messages: Iterable[Message]) -> Iterable[tuple[int, TokenBucket]]:
    return (each for each in map(read_token_bucket, messages) if each is not None)
