"""Discover: the node's links as devices, again whenever they change.

Promise: a burst of changes is one list, and one that goes on is listed twice a second; a change
that nobody could see in the published devices is none, unless a link came, went or was made again,
since pods may have lost what they had on it. A link that a pod has taken stays a device as it was,
and where it was in the list. Limit: what the kernel does not announce (routes, a card's VFs) is
seen with the next change, or within a minute.
"""

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Sequence,
)
from contextlib import suppress
from functools import lru_cache
from typing import Final, Protocol

import msgspec

from netclaim.kernel import Link, SysfsFacts
from netclaim.model import Device
from netclaim.model.devices.link_name import GENERIC
from netclaim.network.devices.device import device_of
from netclaim.network.links.node.node_links import Snapshot
from netclaim.network.links.offering.choice import LinkChoice
from netclaim.network.links.offering.offer import LinkOffer
from netclaim.network.links.offering.places import Places

QUIET_S: Final = 0.05  # making a link and setting it up takes several announcements, 1 ms apart
# Between two lists. Each looks at all links, and each pod that takes one away, or gives it back,
# changes several of them several times. Changes are due in a second.
APART_S: Final = 0.5
AFRESH_S: Final = 60.0  # look again without an announcement


class Judge(Protocol):
    """What knows more of links than the kernel says, and of devices that are away."""

    async def __call__(
        self, there: tuple[tuple[Link, Device], ...], taken: Sequence[Device], /
    ) -> tuple[tuple[tuple[Link, Device], ...], Sequence[Device]]:
        """Return the same with what is wrong with them, and what else is to be offered."""
        ...


class Links(Protocol):
    """Where to see the node's links."""

    async def snapshot(self) -> Snapshot:
        """Return all links of the node, as they are now."""
        ...


async def follow(
    announced: AsyncIterator[object],
    list_now: Callable[[], Awaitable[tuple[Device, ...]]],
    nudged: asyncio.Event | None = None,
) -> AsyncGenerator[tuple[Device, ...], None]:
    """Yield the devices after each burst of announcements, if they are others than before.

    `nudged` is set when what is to be offered has changed, so that it is listed at once.
    """
    last: tuple[Device, ...] | None = None
    async for _ in changes(announced, nudged or asyncio.Event()):
        devices = await list_now()
        if devices != last:
            yield devices
            last = devices


async def changes(announced: AsyncIterator[object], nudged: asyncio.Event) -> AsyncIterator[None]:
    """Yield once for each burst of announcements and each nudge, and now and then without one.

    What is announced meanwhile is part of the burst: a look after it sees that as well.
    """
    loop, last_s = asyncio.get_running_loop(), float("-inf")
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout(AFRESH_S):
                await _first(announced, nudged)
        await asyncio.sleep(max(QUIET_S, last_s + APART_S - loop.time()))
        nudged.clear()
        last_s = loop.time()
        yield


async def _first(announced: AsyncIterator[object], nudged: asyncio.Event) -> None:
    """Wait for an announcement or a nudge. Losing one is no harm: a list follows in any case."""
    waiting = [asyncio.ensure_future(anext(announced)), asyncio.ensure_future(nudged.wait())]
    try:
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()
        await asyncio.wait(waiting)
    for each in done:
        each.result()


def _as_they_are(offered: Iterable[tuple[Link, Device]]) -> Iterable[Device]:
    return (device for _, device in offered)


async def _well(
    there: tuple[tuple[Link, Device], ...], taken: Sequence[Device]
) -> tuple[tuple[tuple[Link, Device], ...], Sequence[Device]]:
    return there, taken


def _no_networks(_: Iterable[Device], __: Device | None) -> tuple[Device, ...]:
    return ()


async def list_devices(
    links: Links,
    lent: Callable[[], tuple[Device, ...]],
    choice: LinkChoice,
    offer: LinkOffer,
    places: Places,
    *,
    generic: bool,
    judged: Callable[[Iterable[tuple[Link, Device]]], Iterable[Device]] = _as_they_are,
    functions: Judge = _well,
    networks: Callable[[Iterable[Device], Device | None], tuple[Device, ...]] = _no_networks,
    without_link: Iterable[Device] = (),
) -> tuple[Device, ...]:
    """List everything there is to publish, in the order in which to offer it.

    The scheduler takes the first device that fits. The generic one comes first, so that a claim
    that asks for no particular link does not take one away from those that do; `networks` come
    last, so that a claim that could have a link does not get a network, and so does what is
    `without_link`. `functions` adds cards' functions that have no link any more, and `judged` what
    is wrong with a link.
    """
    snapshot = await links.snapshot()
    chosen = await choice.chosen(snapshot)
    choice.log_hidden(snapshot, (link for link, _ in chosen))
    chosen, taken = await functions(chosen, lent())
    ground = snapshot.ground.union(device.making for device in taken)
    anybody = generic_device(hash(ground)) if generic else None
    first = (anybody,) if anybody is not None else ()
    there = judged(chosen)
    devices: dict[str, Device] = {}
    for device in (*there, *choice.filtered(taken)):
        devices.setdefault(device.name, device)
    found: dict[str, Device] = {}
    links_there = places.sort(chosen, devices)
    last = offer.of_networks(networks(links_there, anybody))
    beside = choice.filtered(without_link)
    for device in (*first, *offer.expanded(links_there), *last, *beside):
        found.setdefault(device.name, device)
    return tuple(found.values())


@lru_cache(maxsize=2)
def generic_device(making: int = 0) -> Device:
    """The device that is no particular link: as many claims as like may have it.

    It has every attribute that all links have, with values that no link has: a selector that reads
    an attribute which a device lacks fails the whole allocation. What pods have by it stands on any
    of the node's links, so that `making` is another one whenever those are others; a link that a
    pod has taken is still one of them. For the same one it is the same object: what was made of it
    is still good.
    """
    nothing = Link(index=0, name=GENERIC, arphrd=0, flags=0)
    device = device_of(nothing, (), SysfsFacts(virtual=True), default_route=False)
    attributes = {**device.attributes, "ifName": "", "kind": "generic"}
    return msgspec.structs.replace(
        device, attributes=attributes, allow_multiple_allocations=True, making=making
    )
