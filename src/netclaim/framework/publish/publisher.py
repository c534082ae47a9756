"""Publish: keep the node's ResourceSlices in line with what the driver discovered.

Promise: slices that somebody edits, deletes (kubelet does, whenever it starts) or adds are put
right; a burst of changes is one round of writes, a change shows within a second, and if somebody
keeps undoing our writes, they are repeated less and less often. Fields that the server drops are
reported once and not fought over. The driver learns of them before anything is written, and again
when they have changed; what it offered before that is not published.
Limit: nothing is written before the first discovery, so that a restart does not empty the pool.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import structlog

from netclaim.framework.contract import Offer
from netclaim.framework.publish.server_fields import PROBE, dropped_fields, dropped_of_probe
from netclaim.framework.publish.slices import (
    Accepted,
    Create,
    Delete,
    Operation,
    Pool,
    Update,
    content,
    plan_slices,
)
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.tools.clock import Clock
from netclaim.framework.tools.supervise import Backoff, retry, supervise
from netclaim.model.claims.claim import JsonObject
from netclaim.model.devices.device import Device

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
        """Yield all slices, and all of them again after every change."""
        ...

    async def write(self, operation: Operation) -> JsonObject | None:
        """Carry out an operation; returns the object as stored, None for one that is gone."""
        ...

    async def probe(self, obj: JsonObject) -> JsonObject | None:
        """The slice as it would be stored, without storing it; None if the server refuses."""
        ...


class _Pace:
    """Pauses that grow while they follow each other closely, and start over after some quiet."""

    def __init__(self, backoff: Backoff, clock: Clock) -> None:
        self._backoff = backoff
        self._clock = clock
        self._pauses = backoff.delays(clock)
        self._last_s = clock.monotonic()

    async def keep(self) -> None:
        if self._clock.monotonic() - self._last_s > 2 * self._backoff.max_s:
            self._pauses = self._backoff.delays(self._clock)
        await self._clock.sleep(next(self._pauses))
        self._last_s = self._clock.monotonic()


@dataclass(slots=True)
class Publisher:
    """Brings the slices in line with the latest offer, for as long as it runs."""

    pool: Pool
    slices: Slices
    clock: Clock
    metrics: Metrics
    learn_dropped: Callable[[frozenset[str]], None]  # gets all that is dropped, each time
    _offered: Offer | None = None
    _written: Offer | None = None
    _existing: dict[str, JsonObject] | None = None
    _accepted: dict[str, Accepted] = field(default_factory=dict)
    _generation: int = 0
    _dropped: frozenset[str] = frozenset()
    _dropping: asyncio.Event = field(default_factory=asyncio.Event)  # whether something is dropped
    _outdated: asyncio.Event = field(default_factory=asyncio.Event)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    def offer(self, offered: Offer) -> None:
        """Set what is to be published; the same offer again changes nothing."""
        if offered != self._offered:
            self._offered = offered
            self._wake.set()

    async def wait_outdated(self) -> None:
        """Return when the driver has learned something that changes its offer."""
        await self._outdated.wait()
        self._outdated.clear()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(
                supervise(
                    "publish.watch",
                    self._follow,
                    clock=self.clock,
                    metrics=self.metrics,
                )
            )
            group.create_task(self._write_rounds())
            group.create_task(self._look_again())

    async def _follow(self) -> None:
        async for objects in self.slices.watch():
            self._existing = {obj["metadata"]["name"]: obj for obj in objects}
            self._wake.set()

    async def _write_rounds(self) -> None:
        changes, repairs = _Pace(CHANGES, self.clock), _Pace(REPAIRS, self.clock)
        self._learn(await self._find_dropped())
        while True:
            await self._wake.wait()
            self._wake.clear()
            if self._planned():
                await (repairs if self._offered == self._written else changes).keep()
            await retry(
                "publish",
                self._round,
                clock=self.clock,
                metrics=self.metrics,
            )

    async def _look_again(self) -> None:
        """Check from time to time whether the server still drops fields."""
        while True:
            await self._dropping.wait()
            await self.clock.sleep(LOOK_AGAIN_S)
            self._learn(await self._find_dropped())

    async def _find_dropped(self) -> frozenset[str]:
        """The fields that the server drops, as far as a dry run shows it."""
        stored = await retry(
            "publish",
            lambda: self.slices.probe(self.pool.probe_slice([PROBE])),
            clock=self.clock,
            metrics=self.metrics,
        )
        return self._dropped if stored is None else dropped_of_probe(stored, self._dropped)

    def _learn(self, dropped: frozenset[str]) -> None:
        """Inform the driver of the fields that are dropped; a change outdates its offer."""
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
        self.learn_dropped(dropped)
        if before != dropped:
            self._offered = None
            self._outdated.set()

    def _planned(self) -> Sequence[Operation]:
        """The writes that are due, as far as is known now."""
        if self._offered is None or self._existing is None:
            return ()
        return plan_slices(
            self.pool,
            self._offered,
            self._existing.values(),
            accepted=self._accepted,
            last_generation=self._generation,
        )

    async def _round(self) -> None:
        offered, operations = self._offered, self._planned()
        if offered is None or self._existing is None:
            return
        count = sum(isinstance(each, Device) for each in offered)
        if operations:
            with self.metrics.timed("publish"):
                for operation in operations:
                    await self._carry_out(operation)
            log.info("publish.done", devices=count, writes=len(operations))
        self._written = offered
        self.metrics.published_devices.set(count)

    async def _carry_out(self, operation: Operation) -> None:
        stored = await self.slices.write(operation)
        known = self._existing if self._existing is not None else {}
        match operation:
            case Delete(name=name):
                known.pop(name, None)
            case Create(obj=sent) | Update(obj=sent) if stored is not None:
                known[sent["metadata"]["name"]] = stored
                self._generation = sent["spec"]["pool"]["generation"]
                self._compare(sent, stored)

    def _compare(self, sent: JsonObject, stored: JsonObject) -> None:
        """Remember what the server stored, and learn which fields it dropped."""
        returned, offered = content(stored), content(sent)
        self._accepted[sent["metadata"]["name"]] = Accepted(sent=offered, returned=returned)
        dropped = dropped_fields(offered.get("devices", []), returned.get("devices", []))
        if "sharedCounters" in offered:
            counters = returned.get("sharedCounters", [])
            dropped |= dropped_fields(offered["sharedCounters"], counters, "sharedCounters")
        if not dropped <= self._dropped:
            self._learn(self._dropped | dropped)
