"""Pods that name their networks in an annotation: make their claims, and report to Multus' readers.

Promise: a pod gets one claim, and the annotation about its networks once all of them are attached.
What cannot be had is said in an event at the pod, once, and tried again when a network changes. A
second look writes nothing. Namespaces take turns, and what a tenant wrote is read in a thread, so
that others wait for none of it. While nobody looks, pods wait: they have a claim that is not there.

Kubernetes' own controller finds the claim by its owner and its annotation, and writes its name into
the pod's status. It looks when the pod changes, so the pod is nudged.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from operator import itemgetter
from typing import Final

import structlog

from netclaim.controller.annotated.mirror import mirrored
from netclaim.controller.annotated.names import (
    LABEL,
    NAMESPACE_LABEL,
    NAMESPACE_VALUE,
    STATUS_ANNOTATION,
)
from netclaim.controller.annotated.readings import Readings
from netclaim.controller.annotated.told import Told
from netclaim.controller.annotated.wanted import Known, claim_name, claim_of, is_claim_of
from netclaim.controller.cluster.events import Events
from netclaim.controller.cluster.objects import MANAGER, Objects
from netclaim.controller.cluster.slim import brief_status
from netclaim.controller.cluster.watches import ANNOTATED, DEFINITION, Watches
from netclaim.controller.pacing.queue import WorkQueue
from netclaim.controller.settings import ControllerSettings
from netclaim.controller.waiting_pods.nudge import ANNOTATION
from netclaim.errors import RequestError
from netclaim.framework.telemetry.logs import explain
from netclaim.kube import PODS, AlreadyExistsError, ForbiddenError, InvalidError, NotFoundError
from netclaim.kube.watch import Key
from netclaim.model.api.base import ObjectError
from netclaim.model.claims.claim import JsonObject

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
        *,
        events: Events,
        readings: Readings,
        counts: Callable[[], bool] = lambda: False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._objects = objects
        self._watches = watches
        self._now = now
        self._settings = settings
        # A pod is always looked at by the same worker, and never twice at the same time.
        self._queues: list[WorkQueue[Key]] = [
            WorkQueue(tenant=itemgetter(0)) for _ in range(WORKERS)
        ]
        self._readings = readings
        self._reading = asyncio.Lock()  # one at a time: two threads of Python are not faster
        self._counts = counts
        # Pods that cannot have what they ask for, by namespace, and the claim in their way, if any.
        self._waiting: dict[str, dict[Key, Key | None]] = {}
        self._in_the_way: dict[Key, Key] = {}  # claims of somebody else, and whose way it is
        self._told = Told(events)

    @property
    def waiting(self) -> int:
        """How many pods cannot have what they ask for."""
        return sum(map(len, self._waiting.values()))

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
            self._claim_changed((meta["namespace"], meta["name"]))
        elif kind == "ResourceClaim":
            self._claim_changed((meta["namespace"], meta["name"]))
        elif kind == "Namespace" or (kind == DEFINITION and not self._is_trusted(meta)):
            self._look_again(meta.get("namespace", meta["name"]))
        elif kind == DEFINITION or (kind == "PodNetwork" and before is None):
            self._look_again()

    def _is_trusted(self, meta: JsonObject) -> bool:
        return meta["namespace"] in self._settings.network_namespaces

    def _look_again(self, namespace: str = "") -> None:
        """Look at the pods that wait, soon; a tenant's changes concern their own namespace only."""
        for name in [namespace] if namespace else self._waiting:
            for key in self._waiting.get(name, ()):
                self._queue_of(key).add_later(key, SOON_S)

    def _claim_changed(self, claim: Key) -> None:
        """Look at the pod in whose way a claim was."""
        if (key := self._in_the_way.get(claim)) is not None:
            self._add(key)

    def _wait(self, key: Key, claim: Key | None = None) -> None:
        """Note that a pod waits until something changes."""
        self._waiting.setdefault(key[0], {})[key] = claim
        if claim is not None:
            self._in_the_way[claim] = key

    def _go_on(self, key: Key) -> None:
        """Forget that a pod waits."""
        there = self._waiting.get(key[0], {})
        if (claim := there.pop(key, None)) is not None:
            self._in_the_way.pop(claim, None)
        if not there:
            self._waiting.pop(key[0], None)

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
        self._go_on(key)
        pod = self._watches.store(ANNOTATED).get(key)
        if pod is None or pod["done"]:
            return True
        name = key[0], claim_name(pod)
        claim = self._watches.store("ResourceClaim").get(name)
        if claim is None:
            try:
                if not await self._make_claim(key, pod):
                    return False  # it is seen soon whose claim is there
            except (RequestError, InvalidError, ForbiddenError) as error:
                self._wait(key)
                await self._say(pod, str(error))
                if isinstance(error, ForbiddenError):
                    raise  # a quota, for example; it is tried again
                return True  # until something changes
        elif not is_claim_of(claim, pod):
            self._wait(key, name)
            await self._say(pod, f"its claim {name[1]} is somebody else's; delete that one")
            return True  # until it is gone
        elif pod["claim"]:
            await self._mirror(pod, claim)
            return True
        await self._annotate(pod, ANNOTATION, self._now().isoformat(timespec="milliseconds"))
        return False

    async def _make_claim(self, key: Key, pod: JsonObject) -> bool:
        """Make the claim of a pod; returns False if there is one that the watch has not seen."""
        labels = self._watches.store("Namespace").get(("", key[0]), {}).get("metadata", {})
        if labels.get("labels", {}).get(NAMESPACE_LABEL) != NAMESPACE_VALUE:
            raise RequestError(
                f"the namespace has no label {NAMESPACE_LABEL}={NAMESPACE_VALUE} any more"
            )
        async with self._reading:
            claim = await asyncio.to_thread(claim_of, pod, self._known())
        try:
            await self._objects.create(claim)
        except AlreadyExistsError:
            return False
        except NotFoundError:  # the namespace is gone
            return True
        log.info("annotated.claimed", namespace=key[0], pod=key[1])
        return True

    def _known(self) -> Known:
        store, settings = self._watches.store, self._settings
        trusted, driver = settings.network_namespaces, settings.driver_name
        pools = store("AddressPool") if self._counts() else ()
        networks = store("PodNetwork")
        return Known(store(DEFINITION), networks, trusted, driver, pools, self._readings)

    async def _mirror(self, pod: JsonObject, claim: JsonObject) -> None:
        annotations = pod["metadata"].get("annotations", {})
        try:
            text = mirrored(claim, annotations)
        except ObjectError:  # of a later version of the API
            return
        if text is not None and brief_status(text) != annotations.get(STATUS_ANNOTATION):
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
            await self._told.tell(uid, pod, "Claim", "NetworksNotClaimed", note)
