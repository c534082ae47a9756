"""The embedded kubelet: starts and stops a node's pods, in the real kubelet's order.

    up      claims prepared, sandbox run, containers created, status written
    down    containers and sandbox stopped, claims released, the pod object deleted

Promise: a step that fails is reported in an event and tried again until the pod is deleted; a call
that is under way when that happens is not cut off; a pod object is deleted only when its claims are
released. Limit: pauses are shorter than kubelet's minute, so that people see an outcome.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol

import structlog

from netclaim.errors import NetclaimError
from netclaim.local.api.verbs import Verbs
from netclaim.local.events import record
from netclaim.local.node.claims import ClaimNote, NodeClaims, RegisteredDrivers
from netclaim.local.node.pod_status import running, waiting
from netclaim.model.claims.claim import JsonObject
from netclaim.model.on_node.pod import PodSandbox
from netclaim.nri import Container
from netclaim.schema.kinds import POD, SLICE
from netclaim.schema.refusal import RefusedError

log = structlog.get_logger()
MANAGER: Final = "kubelet"


@dataclass(frozen=True, slots=True)
class Pace:
    """How long to wait before a step is tried again; kubelet waits a minute, and ten seconds."""

    prepare_s: float = 2.0
    sandbox_s: float = 1.0
    unprepare_s: float = 1.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class _StageError(Exception):
    """A step of a pod's start failed: its reason in the event, and how long to wait."""

    def __init__(self, reason: str, pause_s: float, error: NetclaimError) -> None:
        super().__init__(str(error))
        self.reason = reason
        self.pause_s = pause_s


class Registry(RegisteredDrivers, Protocol):
    """The drivers of the node, as they come and go."""

    async def run(self) -> None:
        """Watch them until cancelled."""
        ...


class PodSandboxes(Protocol):
    async def run(self, pod: JsonObject) -> PodSandbox: ...

    async def create_container(self, sandbox: PodSandbox, name: str) -> Container: ...

    async def stop(self, sandbox: PodSandbox) -> None: ...


class Kubelet:
    def __init__(
        self,
        node: str,
        verbs: Verbs,
        drivers: Registry,
        sandboxes: PodSandboxes,
        *,
        noted: Iterable[ClaimNote] = (),
        running: Iterable[PodSandbox] = (),
        pace: Pace | None = None,
    ) -> None:
        """`noted` and `running` are what an earlier kubelet of the node left behind."""
        self._node = node
        self._verbs = verbs
        self._drivers = drivers
        self._sandboxes = sandboxes
        self._running = {sandbox.uid: sandbox for sandbox in running}
        self._pace = pace or Pace()
        self.claims = NodeClaims(verbs.store, drivers, noted)

    async def run(self) -> None:
        """Handle the node's pods until cancelled."""
        for found in list(self._verbs.list(SLICE)):  # of drivers that may be gone, as kubelet does
            if found["spec"].get("nodeName") == self._node:
                self._verbs.delete(SLICE, found["metadata"]["name"])
        async with asyncio.TaskGroup() as group:
            group.create_task(self._drivers.run())
            attended: set[str] = set()
            while True:
                revision = self._verbs.store.revision
                for pod in list(self._verbs.list(POD)):
                    uid = pod["metadata"]["uid"]
                    if pod["spec"].get("nodeName") == self._node and uid not in attended:
                        attended.add(uid)
                        group.create_task(self._attend(pod))
                await self._verbs.store.wait_after(revision)

    async def _attend(self, pod: JsonObject) -> None:
        """Handle one pod, from its creation to its deletion."""
        sandbox = await self._bring_up(pod)
        await self._verbs.store.wait_for(lambda: self._is_ending(pod))
        await self._take_down(pod, sandbox)

    async def _bring_up(self, pod: JsonObject) -> PodSandbox | None:
        """Start a pod, as often as it takes; None if it was deleted before that succeeded."""
        if (known := self._running.get(pod["metadata"]["uid"])) is not None:
            return known
        while not self._is_ending(pod):
            try:
                return await self._start(self._now(pod))
            except _StageError as failed:
                log.info("kubelet.pod_failed", pod=pod["metadata"]["name"], error=str(failed))
                self._set_status(pod, waiting(failed.reason, str(failed)))
                record(self._verbs, pod, failed.reason, str(failed), by=MANAGER, warning=True)
                await self._pause(pod, failed.pause_s)
        return None

    async def _start(self, pod: JsonObject) -> PodSandbox:
        pace = self._pace
        try:
            await self.claims.prepare(pod)
        except NetclaimError as error:
            raise _StageError("FailedPrepareDynamicResources", pace.prepare_s, error) from error
        try:
            sandbox = await self._sandboxes.run(pod)
        except NetclaimError as error:
            raise _StageError("FailedCreatePodSandBox", pace.sandbox_s, error) from error
        try:
            for container in pod["spec"]["containers"]:
                await self._sandboxes.create_container(sandbox, container["name"])
        except NetclaimError as error:
            await self._sandboxes.stop(sandbox)
            raise _StageError("Failed", pace.sandbox_s, error) from error
        self._set_status(pod, running(pod, sandbox, datetime.now(UTC)))
        return sandbox

    async def _take_down(self, pod: JsonObject, sandbox: PodSandbox | None) -> None:
        meta = pod["metadata"]
        if sandbox is not None:
            await self._sandboxes.stop(sandbox)
        while True:
            try:
                await self.claims.unprepare(meta["uid"])
                break
            except NetclaimError as error:
                reason = "FailedUnprepareDynamicResources"
                record(self._verbs, pod, reason, str(error), by=MANAGER, warning=True)
                await self._pace.sleep(self._pace.unprepare_s)
        try:
            self._verbs.delete(
                POD, meta["name"], meta["namespace"], uid=meta["uid"], asked_grace_s=0
            )
        except RefusedError as refusal:
            log.info("kubelet.pod_gone", pod=meta["name"], error=str(refusal))

    async def _pause(self, pod: JsonObject, pause_s: float) -> None:
        """Wait before the next try, or until the pod is deleted."""
        async with asyncio.TaskGroup() as group:
            waits = [
                group.create_task(self._sleep(pause_s)),
                group.create_task(self._verbs.store.wait_for(lambda: self._is_ending(pod))),
            ]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for wait in waits:
                wait.cancel()

    async def _sleep(self, pause_s: float) -> None:
        await self._pace.sleep(pause_s)

    def _now(self, pod: JsonObject) -> JsonObject:
        """Return the pod as it is now, or its last state."""
        meta = pod["metadata"]
        found = self._verbs.store.get(POD, meta["name"], meta["namespace"])
        return found if found is not None and found["metadata"]["uid"] == meta["uid"] else pod

    def _is_ending(self, pod: JsonObject) -> bool:
        meta = pod["metadata"]
        found = self._verbs.store.get(POD, meta["name"], meta["namespace"])
        if found is None or found["metadata"]["uid"] != meta["uid"]:
            return True
        return "deletionTimestamp" in found["metadata"]

    def _set_status(self, pod: JsonObject, changes: JsonObject) -> None:
        if not self._is_ending(pod):
            now = self._now(pod)
            status = {**now.get("status", {}), **changes}
            self._verbs.set_status(POD, now, status, manager=MANAGER)
