"""Follow several selections at once, for a view that is drawn again when anything changes.

Promise: everything is shown whenever something has changed, several changes within a moment at
once. An API server that is away is waited for, and `fault` says so meanwhile. Limit: nothing is
shown until every selection was listed once.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

from netclaim.kube import Client, Pace, Reflector, Selection
from netclaim.manifests.versions.conversion import Version
from netclaim.survey.cluster import in_v1

SETTLE_S: Final = 0.2  # a pod that starts changes half a dozen objects within this
PAUSE_S: Final = 4.0  # somebody is looking: no reason to be as patient as a driver
LOOK_S: Final = 2.0  # how soon a connection that was lost, or is back, is noticed


@dataclass(frozen=True, slots=True)
class Moment:
    """Everything as it is now; `fault` says why it may be out of date, and is empty otherwise."""

    objects: tuple[dict[str, Any], ...]
    fault: str = ""


async def follow(
    client: Client,
    selections: Sequence[Selection],
    version: Version,
    show: Callable[[Moment], None],
) -> None:
    """Call `show` with everything at each change, until it is cancelled."""
    changed, loop = asyncio.Event(), asyncio.get_running_loop()
    reflectors = [_reflector(client, one, version) for one in selections]
    synced: set[Reflector] = set()

    async def pursue(reflector: Reflector) -> None:
        async with aclosing(reflector.changes()) as changes:
            async for _ in changes:
                synced.add(reflector)
                changed.set()

    async with asyncio.TaskGroup() as group:
        for reflector in reflectors:
            group.create_task(pursue(reflector))
        last_fault = ""
        while True:
            news = await _wait(changed)
            fault = _fault(reflectors)
            began_s = loop.time()
            if len(synced) == len(reflectors) and (news or fault != last_fault):
                last_fault = fault
                show(Moment(_all(reflectors), fault))
            if news:  # of a large cluster, which takes its time to show, at most half of our time
                await asyncio.sleep(max(SETTLE_S, loop.time() - began_s))


def _reflector(client: Client, selection: Selection, version: Version) -> Reflector:
    def convert(item: dict[str, Any]) -> dict[str, Any]:
        return in_v1(selection.resource, item, version)

    return Reflector(client, selection, convert=convert, pace=Pace(longest_pause_s=PAUSE_S))


async def _wait(changed: asyncio.Event) -> bool:
    """Wait for a change; return whether there was one before it was time to look around."""
    try:
        async with asyncio.timeout(LOOK_S):
            await changed.wait()
    except TimeoutError:
        return False
    changed.clear()
    return True


def _fault(reflectors: Sequence[Reflector]) -> str:
    return next((str(one.fault) for one in reflectors if one.fault is not None), "")


def _all(reflectors: Sequence[Reflector]) -> tuple[dict[str, Any], ...]:
    return tuple(found for one in reflectors for found in one.store.values())
