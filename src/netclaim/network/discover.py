"""Discover: the node's links as devices, again whenever they change.

Promise: a burst of changes is one list; a change that nobody could see in the published devices is
none. A link that a pod has taken stays a device as it was. Limit: what the kernel does not announce
(routes, a card's VFs) is seen with the next change, or within a minute.
"""

import asyncio
import fnmatch
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection
from typing import Final, Protocol

import msgspec

from netclaim.kernel import Link, SysfsFacts
from netclaim.model import Device
from netclaim.network.device import device_of
from netclaim.network.node import Snapshot

__all__ = ["GENERIC", "Links", "follow", "generic_device", "is_named", "list_devices"]

QUIET_S: Final = 0.05  # making a link and setting it up takes several announcements, 1 ms apart
GATHER_MAX_S: Final = 0.6  # a node that starts pods is never quiet; changes are due in a second
AFRESH_S: Final = 60.0  # look again without an announcement

GENERIC: Final = "cni"  # the name that the first drivers published and their users' claims expect


class Links(Protocol):
    """Where to see the node's links."""

    async def snapshot(self) -> Snapshot:
        """All of them, as they are now."""
        ...


async def follow(
    announced: AsyncIterator[object], list_now: Callable[[], Awaitable[tuple[Device, ...]]]
) -> AsyncGenerator[tuple[Device, ...], None]:
    """Yield the devices after each burst of announcements, if they are others than before."""
    last: tuple[Device, ...] | None = None
    async for _ in changes(announced):
        devices = await list_now()
        if devices != last:
            yield devices
            last = devices


async def changes(announced: AsyncIterator[object]) -> AsyncIterator[None]:
    """Yield once for each burst of announcements, and now and then without one."""
    while True:
        try:
            async with asyncio.timeout(AFRESH_S):
                await anext(announced)
            async with asyncio.timeout(GATHER_MAX_S):
                await _until_quiet(announced)
        except TimeoutError:
            pass
        yield


async def _until_quiet(announced: AsyncIterator[object]) -> None:
    while True:
        try:
            async with asyncio.timeout(QUIET_S):
                await anext(announced)
        except TimeoutError:
            return


async def list_devices(
    links: Links,
    lent: Callable[[], tuple[Device, ...]],
    *,
    generic: bool,
    shared: Collection[str] = (),
) -> tuple[Device, ...]:
    """List everything there is to publish, in the order in which to offer it.

    The scheduler takes the first device that fits. The generic one comes first, so that a claim
    that asks for no particular link does not take one away from those that do. `shared` are
    patterns of the names of links that any number of claims may have.
    """
    snapshot = await links.snapshot()
    first = (generic_device(),) if generic else ()
    taken = {device.name for device in first}
    devices = list(first)
    for device in (*await snapshot.describe(snapshot.offered), *lent()):
        if device.name not in taken:
            name = str(device.attributes.get("name", device.name))
            devices.append(_shareable(device) if is_named(name, shared) else device)
            taken.add(device.name)
    return tuple(devices)


def generic_device() -> Device:
    """The device that is no particular link: as many claims as like may have it.

    It has every attribute that all links have, with values that no link has: a selector that reads
    an attribute which a device lacks fails the whole allocation.
    """
    nothing = Link(index=0, name=GENERIC, arphrd=0, flags=0)
    device = device_of(nothing, (), SysfsFacts(virtual=True), default_route=False)
    attributes = {**device.attributes, "ifName": "", "kind": "generic"}
    return _shareable(msgspec.structs.replace(device, attributes=attributes))


def is_named(link: str, patterns: Collection[str]) -> bool:
    """Whether one of the patterns is for this link."""
    return any(fnmatch.fnmatchcase(link, pattern) for pattern in patterns)


def _shareable(device: Device) -> Device:
    return msgspec.structs.replace(device, allow_multiple_allocations=True)
