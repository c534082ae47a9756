"""Pods that name their networks in an annotation: make their claims, and report to Multus' readers.

Promise: a pod gets one claim, and the annotation about its networks once all of them are attached.
What cannot be had is said in an event at the pod, once, and tried again when a network changes. A
second look writes nothing. While nobody looks, pods wait: they have a claim that is not there.

Kubernetes' own controller finds the claim by its owner and its annotation, and writes its name into
the pod's status. It looks when the pod changes, so the pod is nudged.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import structlog

from netclaim.controller.annotated.mirror import mirrored
from netclaim.controller.annotated.names import (
    LABEL,
    NAMESPACE_LABEL,
    NAMESPACE_VALUE,
    STATUS_ANNOTATION,
)
from netclaim.controller.annotated.told import Told
from netclaim.controller.annotated.wanted import Known, claim_name, claim_of
from netclaim.controller.events import Events
from netclaim.controller.nudge import ANNOTATION
from netclaim.controller.objects import MANAGER, Objects
from netclaim.controller.queue import WorkQueue
from netclaim.controller.settings import ControllerSettings
from netclaim.controller.watches import ANNOTATED, DEFINITION, Watches
from netclaim.errors import RequestError
from netclaim.framework.telemetry.logs import explain
from netclaim.kube import PODS, AlreadyExistsError, ForbiddenError, InvalidError, NotFoundError
from netclaim.kube.watch import Key
from netclaim.model.api.base import ObjectError
from netclaim.model.claim import JsonObject

log = structlog.get_logger(__name__)

# At a time. A request takes some milliseconds, and a Deployment makes a hundred pods at once.
WORKERS: Final = 8
SOON_S: Final = 0.5  # networks are written by the dozen, and each may be what pods wait for


class AnnotatedPods:
    """The controller of these pods."""

    def __init__(
        self,
        objects: Objects,
        watches: Watches,
        settings: ControllerSettings,
        events: Events,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._objects = objects
        self._watches = watches
        self._now = now
        self._settings = settings
        # A pod is always looked at by the same worker, and never twice at the same time.
        self._queues: list[WorkQueue[Key]] = [WorkQueue() for _ in range(WORKERS)]
        self._waiting: dict[Key, None] = {}  # pods that cannot have what they ask for
        self._told = Told(events)

    @property
    def waiting(self) -> int:
        """How many pods cannot have what they ask for."""
        return len(self._waiting)

    def changed(self, kind: str, before: JsonObject | None, now: JsonObject | None) -> None:
        """Note which pods to look at after a change."""
        found = now or before
        assert found is not None
        meta = found["metadata"]
        if kind == ANNOTATED:
            self._add((meta["namespace"], meta["name"]))
        elif kind == "ResourceClaim" and LABEL in meta.get("labels", {}):
            for owner in meta.get("ownerReferences", ()):
                self._add((meta["namespace"], owner["name"]))
        elif kind == "Namespace" or (kind == DEFINITION and not self._is_trusted(meta)):
            self._look_again(meta.get("namespace", meta["name"]))
        elif kind == DEFINITION or (kind == "PodNetwork" and before is None):
            self._look_again()

    def _is_trusted(self, meta: JsonObject) -> bool:
        return meta["namespace"] in self._settings.network_namespaces

    def _look_again(self, namespace: str = "") -> None:
        """Look at the pods that wait, soon; a tenant's changes concern their own namespace only."""
        for key in self._waiting:
            if namespace in ("", key[0]):
                self._queue_of(key).add_later(key, SOON_S)

    async def run(self) -> None:
        """Work until cancelled."""
        for key in self._watches.store(ANNOTATED):
            self._add(key)
        try:
            async with asyncio.TaskGroup() as group:
                for queue in self._queues:
                    group.create_task(self._work(queue))
        finally:
            for queue in self._queues:
                queue.close()

    def _add(self, key: Key) -> None:
        self._queue_of(key).add(key)

    def _queue_of(self, key: Key) -> WorkQueue[Key]:
        return self._queues[hash(key) % WORKERS]

    async def _work(self, queue: WorkQueue[Key]) -> None:
        while True:
            key = await queue.take()
            await asyncio.sleep(0)  # the lease and other tenants' pods have a turn between any two
            try:
                done = await self._reconcile(key)
            except Exception as error:  # noqa: BLE001 (of this pod; the others have their turn)
                pause_s = queue.failed(key)
                where = {"namespace": key[0], "pod": key[1], "pause_s": pause_s}
                explain("annotated.failed", error, **where)
            else:
                if done:
                    queue.done(key)
                else:  # Kubernetes' controller may not have seen the claim when the pod was nudged
                    queue.failed(key)

    async def _reconcile(self, key: Key) -> bool:
        """Make of a pod what should be; returns whether nothing is left to do until a change."""
        self._waiting.pop(key, None)
        pod = self._watches.store(ANNOTATED).get(key)
        if pod is None or pod["done"]:
            return True
        claim = self._watches.store("ResourceClaim").get((key[0], claim_name(pod)))
        if claim is None:
            try:
                await self._make_claim(key, pod)
            except (RequestError, InvalidError, ForbiddenError) as error:
                self._waiting[key] = None
                await self._say(pod, str(error))
                if isinstance(error, ForbiddenError):
                    raise  # a quota, for example; it is tried again
                return True  # until something changes
        elif pod["claim"]:
            await self._mirror(pod, claim)
            return True
        await self._annotate(pod, ANNOTATION, self._now().isoformat(timespec="milliseconds"))
        return False

    async def _make_claim(self, key: Key, pod: JsonObject) -> None:
        labels = self._watches.store("Namespace").get(("", key[0]), {}).get("metadata", {})
        if labels.get("labels", {}).get(NAMESPACE_LABEL) != NAMESPACE_VALUE:
            raise RequestError(
                f"the namespace has no label {NAMESPACE_LABEL}={NAMESPACE_VALUE} any more"
            )
        claim = claim_of(pod, self._known())
        try:
            await self._objects.create(claim)
        except (AlreadyExistsError, NotFoundError):  # the watch is behind, or the namespace is gone
            return
        log.info("annotated.claimed", namespace=key[0], pod=key[1])

    def _known(self) -> Known:
        store, settings = self._watches.store, self._settings
        trusted, driver = settings.network_namespaces, settings.driver_name
        return Known(store(DEFINITION), store("PodNetwork"), trusted, driver)

    async def _mirror(self, pod: JsonObject, claim: JsonObject) -> None:
        annotations = pod["metadata"].get("annotations", {})
        try:
            text = mirrored(claim, annotations)
        except ObjectError:  # of a later version of the API
            return
        if text is not None and text != annotations.get(STATUS_ANNOTATION):
            await self._annotate(pod, STATUS_ANNOTATION, text)

    async def _annotate(self, pod: JsonObject, name: str, value: str) -> None:
        meta = pod["metadata"]
        patch = {"metadata": {"uid": meta["uid"], "annotations": {name: value}}}
        try:
            await self._objects.client.patch(
                PODS, meta["name"], patch, namespace=meta["namespace"], field_manager=MANAGER
            )
        except NotFoundError:
            return

    async def _say(self, pod: JsonObject, why: str) -> None:
        """Leave an event at a pod, unless it has this one already."""
        namespace, uid = pod["metadata"]["namespace"], pod["metadata"]["uid"]
        if self._told.is_new(uid, why):
            log.info("annotated.refused", namespace=namespace, pod=pod["metadata"]["name"], why=why)
            note = f"the pod waits for its networks: {why}"
            await self._told.tell(pod, "Claim", "NetworksNotClaimed", note)
