"""Limit the bits per second of a link, in both directions.

What leaves the link waits in a token bucket at its root. What comes in is redirected to a link of
kind ifb beside it, which has a bucket of its own and hands packets back as if they had just come
in. That ifb has the index of its link plus a constant, so that everything is made by one message to
the kernel, and an ifb whose link is gone is recognized by its index alone.

Promise: a limit is there completely or not at all; large packets that the kernel assembles for
speed are cut by the bucket if they do not fit, never lost for their size. Limit: a process with
CAP_NET_ADMIN in the link's namespace can lift it; what a program sends past the queues of the
kernel (PACKET_QDISC_BYPASS) is not held back.
"""

from collections.abc import Iterable
from typing import Final

from netclaim.errors import NetclaimError
from netclaim.kernel.host.netns import Netns
from netclaim.kernel.netlink.client import Rtnl
from netclaim.kernel.netlink.codec import KernelError, Message, Request
from netclaim.kernel.requests.links import create_link, delete_link, ifb, set_link
from netclaim.kernel.requests.traffic import (
    SECOND_US,
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
from netclaim.kernel.state.links import list_links
from netclaim.kernel.state.removal import remove_link

MODULES: Final = ("sch_tbf", "sch_ingress", "cls_u32", "act_mirred", "ifb")  # of the kernel
LATENCY_US: Final = 25_000  # how long a packet may wait, as the CNI project's plugin has it
BURST_US: Final = 10_000  # at the rate; a busy machine serves a queue some milliseconds late
BURST_MIN: Final = 16 * 1024  # bytes; with less, slow links stutter
FRAME: Final = 18  # bytes of an Ethernet header with a VLAN tag; the bucket counts them
PACKET_MAX: Final = 1 << 16  # bytes; 25 ms at 21 Mbit/s, more only for slower links
BYTE: Final = 8  # bits
# Added to a link's index. The kernel counts up from 1 to twice as much; nobody else gets near.
BESIDE: Final = 1_000_000_000
# An ifb needs no addresses, and IPv6 ignores links that cannot carry 1280 bytes. Packets that are
# redirected there are not checked against it.
MTU: Final = 1279


def bucket_of(bits: int, mtu: int) -> TokenBucket:
    """Return the limit for `bits` per second on a link with this MTU.

    A burst holds two frames at least: a greater one that cannot be cut would be lost. What waits
    may be as large as the largest packet that the kernel assembles; it is cut to fit a burst, but
    pieces that find no room are lost, and TCP then takes seconds to recover.
    """
    rate = max(1, bits // BYTE)
    burst = max(rate * BURST_US // SECOND_US, BURST_MIN, 2 * (mtu + FRAME))
    latency_us = max(LATENCY_US, PACKET_MAX * SECOND_US // rate)
    return token_bucket(rate=rate, burst=burst, latency_us=latency_us)


def limited_by(index: int) -> tuple[str, int]:
    """Return the name and index of the ifb beside a link."""
    return f"limit{index}", index + BESIDE


def redirect_through(index: int, ifb_index: int, bucket: TokenBucket) -> tuple[Request, ...]:
    """Limit what comes in over a link, by an ifb that exists."""
    return (
        add_token_bucket(ifb_index, bucket),
        add_ingress(index),
        redirect_all(index, ifb_index),
    )


async def limit_link(rtnl: Rtnl, index: int, bits: int, *, mtu: int) -> None:
    """Limit a link both ways. A second call fails, unless the limit was lifted in between.

    Whatever queue the link has is replaced. If this fails, it raises KernelError and leaves
    nothing behind.
    """
    bucket = bucket_of(bits, mtu)
    name, ifb_index = limited_by(index)
    # The ifb is switched on by the last of its requests: giving a queue to a link that is on takes
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
    """Change the limit of a link that has one, without lifting it meanwhile."""
    bucket = bucket_of(bits, mtu)
    _, ifb_index = limited_by(index)
    both = (ifb_index, index)
    await rtnl.batch([add_token_bucket(each, bucket, replace=True) for each in both])


async def unlimit_link(rtnl: Rtnl, index: int) -> None:
    """Lift a limit, or what there is of it. A second call does nothing."""
    _, ifb_index = limited_by(index)
    for request in (delete_ingress(index), delete_root(index), delete_link(ifb_index)):
        try:
            await rtnl.call_slow(request)
        except KernelError:
            continue  # it is not there, or was changed; limiting the link again will show it


async def has_limit(rtnl: Rtnl, index: int) -> bool:
    """Whether a link has buckets both ways, of any size."""
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
    """Remove each ifb of a namespace whose link is gone."""
    with Rtnl.open(netns) as rtnl:
        links = {link.index: link for link in await list_links(rtnl)}
    for link in links.values():
        if link.kind == "ifb" and link.index > BESIDE and link.index - BESIDE not in links:
            await remove_link(netns, link.name)


def _buckets(messages: Iterable[Message]) -> Iterable[tuple[int, TokenBucket]]:
    return (each for each in map(read_token_bucket, messages) if each is not None)
