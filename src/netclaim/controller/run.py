"""The controller's parts put together: watches, a queue, and one worker that empties it.

Promise: nothing is judged before everything was listed once. What fails is tried again with growing
pauses, and keeps nothing else waiting. Everything runs below one task group, and ends when it is
cancelled. A further loop, such as one that releases what nobody uses, is a task beside `nudge.run`
in `run`, and hears of changes in `_changed`.
"""

import asyncio
from collections.abc import Iterable
from typing import Final

import structlog

from netclaim.controller.networks import Networks
from netclaim.controller.nudge import Nudge
from netclaim.controller.objects import Objects
from netclaim.controller.queue import WorkQueue
from netclaim.controller.refused import RefusedClaims
from netclaim.controller.settings import ControllerSettings
from netclaim.controller.stamp import Stamp, is_stamped
from netclaim.controller.watches import Watches
from netclaim.errors import NetclaimError
from netclaim.kube import Client
from netclaim.model.claim import JsonObject
from netclaim.network.pod_network import LABEL

log = structlog.get_logger(__name__)

SOON_S: Final = 0.5  # slices and claims come in bursts, and only the status depends on them
AGAIN_S: Final = 300.0  # for what no watch shows
STAMP: Final = ""  # in the queue: all copies of templates; a network has a name


class Controller:
    """The controller of one cluster. `run` may be called once."""

    def __init__(self, objects: Objects, settings: ControllerSettings) -> None:
        self._queue: WorkQueue[str] = WorkQueue()
        self._watches = Watches(objects, settings, self._changed)
        self._networks = Networks(objects, self._watches, settings.driver_name)
        self._stamp = Stamp(objects, self._watches, settings.template_namespace)
        self._nudge = Nudge(objects, self._watches, settings.driver_name)
        self._refused = RefusedClaims(objects.client, settings.driver_name, settings.identity)
        self._synced = False
        self._failing: dict[str, str] = {}

    @classmethod
    async def of(cls, client: Client, settings: ControllerSettings) -> "Controller":
        """The controller of the cluster that a client speaks to."""
        return cls(await Objects.negotiated(client), settings)

    @property
    def nudges(self) -> int:
        """How many pods were nudged."""
        return self._nudge.count

    @property
    def waiting(self) -> int:
        """How many things wait to be looked at."""
        return len(self._queue)

    @property
    def failing(self) -> int:
        """How many things could not be done."""
        return len(self._failing)

    @property
    def networks(self) -> int:
        """How many networks there are."""
        return len(self._networks.names()) if self._synced else 0

    def not_ready(self) -> str:
        """What is missing, in words; empty if nothing is."""
        if not self._synced:
            return "; ".join(self._watches.faults()) or "the cluster's objects are being listed"
        return "; ".join(self._watches.faults())

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._watches.run())
                await self._watches.wait_synced()
                self._synced = True
                self._add(self._networks.names())
                self._queue.add(STAMP)
                for claim in self._watches.store("ResourceClaim").values():
                    self._refused.changed("ResourceClaim", None, claim)
                group.create_task(self._nudge.run())
                group.create_task(self._refused.run())
                group.create_task(self._work())
                group.create_task(self._look_again())
        finally:
            self._queue.close()

    async def _work(self) -> None:
        while True:
            key = await self._queue.take()
            try:
                if key == STAMP:
                    await self._stamp.reconcile()
                else:
                    await self._networks.reconcile(key)
            except NetclaimError as error:
                pause_s = self._queue.failed(key)
                self._failing[key] = str(error)
                log.warning("reconcile.failed", network=key, error=str(error), pause_s=pause_s)
            else:
                self._queue.done(key)
                self._failing.pop(key, None)

    async def _look_again(self) -> None:
        while True:
            await asyncio.sleep(AGAIN_S)
            self._add(self._networks.names())

    def _add(self, names: Iterable[str]) -> None:
        for name in names:
            self._queue.add(name)

    def _changed(self, kind: str, before: JsonObject | None, now: JsonObject | None) -> None:
        """Note what has to be looked at after a change."""
        if not self._synced:
            return
        self._nudge.changed(kind, before, now)
        self._refused.changed(kind, before, now)
        found = now or before
        assert found is not None
        match kind:
            case "PodNetwork":
                self._queue.add(found["metadata"]["name"])
            case "Namespace":
                self._add(self._networks.names())
                self._queue.add(STAMP)
            case "DeviceClass" | "ResourceClaimTemplate":
                if name := found["metadata"].get("labels", {}).get(LABEL):
                    self._queue.add(name)
                elif kind == "ResourceClaimTemplate":
                    self._template_changed(found, now)
            case "ResourceClaim":
                self._soon(_classes(found))
            case "ResourceSlice" | "Node":
                self._soon(self._networks.names())

    def _template_changed(self, found: JsonObject, now: JsonObject | None) -> None:
        """A template of somebody: a copy, an original, or one that stood in a network's way."""
        if is_stamped(found):
            self._queue.add(STAMP)
        name = found["metadata"]["name"]
        if now is None:
            self._queue.add(STAMP)
            if name in self._networks.names():
                self._queue.add(name)

    def _soon(self, names: Iterable[str]) -> None:
        there = set(self._networks.names())
        for name in names:
            if name in there:
                self._queue.add_later(name, SOON_S)


def _classes(claim: JsonObject) -> set[str]:
    found: set[str] = set()
    for request in claim["spec"]["devices"]["requests"]:
        for each in (request.get("exactly") or {}, *request.get("firstAvailable", ())):
            found.add(each.get("deviceClassName", ""))
    return found
