"""Publish: keep the node's ResourceSlices saying what the driver discovered.

Promise: slices that somebody edits, deletes (kubelet does, whenever it starts) or adds are put
right; a burst of changes is one round of writes, a change shows within a second, and whoever keeps
undoing our writes is answered less and less often; fields that the server drops are reported once
and not fought over. The driver hears of them before anything is written, and again when the server
has become another; what it offered before that is not published.
Limit: says nothing before the first discovery, so that a restart does not empty the pool.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, Protocol

import structlog

from netclaim.framework.clock import Clock
from netclaim.framework.device_json import dropped_fields
from netclaim.framework.features import find_dropped
from netclaim.framework.metrics import Metrics
from netclaim.framework.slices import (
    Accepted,
    Create,
    Delete,
    Operation,
    Pool,
    Update,
    content,
    plan_slices,
)
from netclaim.framework.supervise import Backoff, retry, supervise
from netclaim.model.claim import JsonObject
from netclaim.model.counter import CounterSet
from netclaim.model.device import Device

__all__ = ["Publisher", "Slices"]

log = structlog.get_logger()

# Before a round that writes what was discovered. The first pause gathers what belongs together (a
# driver's links appear one by one); the last, with its spread, stays below a second.
CHANGES = Backoff(first_s=0.1, max_s=0.6)
# Before a round that puts right what somebody else did. Kubelet wipes once and is answered at once;
# the last is the quiet period that Kubernetes' own publisher keeps.
REPAIRS = Backoff(first_s=0.1, max_s=30.0)
# Between looks at whether a server that drops something still does. An upgraded control plane can
# wait so long; a thousand nodes ask it no more than twice a second.
LOOK_AGAIN_S: Final = 600.0


class Slices(Protocol):
    """The API server's ResourceSlices, narrowed to this driver and node."""

    def watch(self) -> AsyncIterator[Sequence[JsonObject]]:
        """Yield all of them, and again all of them after every change."""
        ...

    async def write(self, operation: Operation) -> JsonObject | None:
        """Carry out an operation; returns the object as stored, None for one that is gone."""
        ...

    async def probe(self, obj: JsonObject) -> JsonObject | None:
        """The slice as it would be stored; nothing is. None: the server does not want to say."""
        ...


class _Pace:
    """Pauses that grow while they follow each other closely, and start anew after some quiet."""

    def __init__(self, backoff: Backoff, clock: Clock) -> None:
        self._backoff = backoff
        self._clock = clock
        self._pauses = backoff.delays(clock)
        self._last_s = clock.monotonic()

    async def keep(self) -> None:
        """Wait for as long as it is now time to wait."""
        if self._clock.monotonic() - self._last_s > 2 * self._backoff.max_s:
            self._pauses = self._backoff.delays(self._clock)
        await self._clock.sleep(next(self._pauses))
        self._last_s = self._clock.monotonic()


class Publisher:
    """Brings the slices in line with the latest offer, for as long as it runs."""

    def __init__(
        self,
        pool: Pool,
        slices: Slices,
        clock: Clock,
        metrics: Metrics,
        *,
        learn_dropped: Callable[[frozenset[str]], None],
    ) -> None:
        """`learn_dropped` is told which fields the server drops, all of them each time."""
        self._learn_dropped = learn_dropped
        self._pool = pool
        self._slices = slices
        self._clock = clock
        self._metrics = metrics
        self._offered: tuple[Device | CounterSet, ...] | None = None
        self._written: tuple[Device | CounterSet, ...] | None = None
        self._existing: dict[str, JsonObject] | None = None
        self._accepted: dict[str, Accepted] = {}
        self._generation = 0
        self._dropped: frozenset[str] = frozenset()
        self._dropping = asyncio.Event()  # whether there is something in it
        self._outdated = asyncio.Event()
        self._wake = asyncio.Event()
        self._published = asyncio.Event()

    def offer(self, offered: tuple[Device | CounterSet, ...]) -> None:
        """Set what there is to publish. Again with the same: nothing happens."""
        if offered != self._offered:
            self._offered = offered
            self._wake.set()

    async def wait_outdated(self) -> None:
        """Return when the driver has learned something that makes it offer other devices."""
        await self._outdated.wait()
        self._outdated.clear()

    async def wait_published(self) -> None:
        """Return once the slices have been right for the first time."""
        await self._published.wait()

    async def run(self) -> None:
        """Watch and write until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(
                supervise(
                    "publish.watch",
                    self._follow,
                    backoff=Backoff(),
                    clock=self._clock,
                    metrics=self._metrics,
                )
            )
            group.create_task(self._write_rounds())
            group.create_task(self._look_again())

    async def _follow(self) -> None:
        async for objects in self._slices.watch():
            self._existing = {obj["metadata"]["name"]: obj for obj in objects}
            self._wake.set()

    async def _write_rounds(self) -> None:
        changes, repairs = _Pace(CHANGES, self._clock), _Pace(REPAIRS, self._clock)
        self._learn(await self._find_dropped())
        while True:
            await self._wake.wait()
            self._wake.clear()
            if self._planned():
                await (repairs if self._offered == self._written else changes).keep()
            await retry(
                "publish",
                self._round,
                backoff=Backoff(),
                clock=self._clock,
                metrics=self._metrics,
            )

    async def _look_again(self) -> None:
        """See from time to time whether a server that drops something keeps it now."""
        while True:
            await self._dropping.wait()
            await self._clock.sleep(LOOK_AGAIN_S)
            self._learn(await self._find_dropped())

    async def _find_dropped(self) -> frozenset[str]:
        return await retry(
            "publish",
            lambda: find_dropped(self._pool, self._slices, self._dropped),
            backoff=Backoff(),
            clock=self._clock,
            metrics=self._metrics,
        )

    def _learn(self, dropped: frozenset[str]) -> None:
        """Tell the driver what is dropped now. What it has offered may be for another server."""
        before, self._dropped = self._dropped, dropped
        if new := dropped - before:
            log.warning(
                "publish.dropped",
                fields=sorted(new),
                hint="the API server does not know these fields, or their feature gate is disabled",
            )
        if gone := before - dropped:
            log.info("publish.kept", fields=sorted(gone))
        self._dropping.set() if dropped else self._dropping.clear()
        self._learn_dropped(dropped)
        if before != dropped:
            self._offered = None
            self._outdated.set()

    def _planned(self) -> Sequence[Operation]:
        """What there is to write, as far as is known now."""
        if self._offered is None or self._existing is None:
            return ()
        return plan_slices(
            self._pool,
            self._offered,
            self._existing.values(),
            accepted=self._accepted,
            last_generation=self._generation,
        )

    async def _round(self) -> None:
        """Plan with what is known now, and write."""
        offered, operations = self._offered, self._planned()
        if offered is None or self._existing is None:
            return
        count = sum(isinstance(each, Device) for each in offered)
        if operations:
            with self._metrics.timed("publish"):
                for operation in operations:
                    await self._carry_out(operation)
            log.info("publish.done", devices=count, writes=len(operations))
        self._written = offered
        self._metrics.published_devices.set(count)
        self._published.set()

    async def _carry_out(self, operation: Operation) -> None:
        stored = await self._slices.write(operation)
        known = self._existing if self._existing is not None else {}
        match operation:
            case Delete(name=name):
                known.pop(name, None)
            case Create(obj=sent) | Update(obj=sent) if stored is not None:
                known[sent["metadata"]["name"]] = stored
                self._generation = sent["spec"]["pool"]["generation"]
                self._compare(sent, stored)

    def _compare(self, sent: JsonObject, stored: JsonObject) -> None:
        """Remember what the server made of the content; say which fields it dropped."""
        returned, offered = content(stored), content(sent)
        self._accepted[sent["metadata"]["name"]] = Accepted(sent=offered, returned=returned)
        dropped = dropped_fields(offered.get("devices", []), returned.get("devices", []))
        if "sharedCounters" in offered:
            counters = returned.get("sharedCounters", [])
            dropped |= dropped_fields(offered["sharedCounters"], counters, "sharedCounters")
        if not dropped <= self._dropped:
            self._learn(self._dropped | dropped)
