"""Have kubelet ask again for a pod whose claim can perhaps be prepared now.

Kubelet comes back to a prepare that failed only after 60 to 90 s, but at once when the pod changes.
So when something changed that a driver may have refused a claim for, one annotation of each pod
that waits for such a claim is changed.

    the namespace's labels    its policy level, and the networks that it may use
    a slice of the node       a link that is back
    a driver's pod is ready   a driver that is back

Promise: a pod is nudged at most once in `PAUSE_S`; what comes earlier is done then. A pod that runs
is never touched. Limit: a driver that is not this project's reports nothing that could be waited
for, so only claims of ours are looked at.
"""

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final

import structlog

from netclaim.controller.objects import MANAGER, Objects
from netclaim.controller.watches import Watches
from netclaim.kube import PODS, ApiError
from netclaim.model.api.claim import DeviceResult, ResourceClaim
from netclaim.model.claim import JsonObject

log = structlog.get_logger(__name__)

ANNOTATION: Final = "cni.networking.x-k8s.io/asked-again"
PAUSE_S: Final = 5.0
# A driver reads a namespace's labels itself, and publishes a link a moment after it sees it.
SETTLE_S: Final = 0.5
KNOWN_MAX: Final = 10_000  # pods whose last nudge is remembered


class Nudge:
    """Notes what changed, and nudges the pods that may be waiting for it."""

    def __init__(
        self,
        objects: Objects,
        watches: Watches,
        driver: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._objects = objects
        self._watches = watches
        self._driver = driver
        self._now = now
        self._last: dict[str, float] = {}  # by the pod's UID
        self._namespaces: set[str] = set()
        self._nodes: set[str] = set()
        self._some = asyncio.Event()
        self.count = 0

    def changed(self, kind: str, before: JsonObject | None, now: JsonObject | None) -> None:
        """Note a change, if a claim may have waited for it."""
        if before is None and kind == "Namespace":
            return
        if kind == "Namespace" and now is not None and _labels(before) != _labels(now):
            self._namespaces.add(now["metadata"]["name"])
            self._some.set()
        elif kind == "ResourceSlice" and now is not None:
            self._nodes.add(now["spec"].get("nodeName", ""))
            self._some.set()
        elif kind == "Pod" and _is_ready(now) and not _is_ready(before):
            self._nodes.add(now["node"] if now is not None else "")
            self._some.set()

    async def run(self) -> None:
        """Nudge until cancelled."""
        while True:
            await self._some.wait()
            await asyncio.sleep(SETTLE_S)
            self._some.clear()
            namespaces, self._namespaces = self._namespaces, set()
            nodes, self._nodes = self._nodes, set()
            for claim in list(self._waiting(namespaces, nodes)):
                await self._nudge(claim)

    def _waiting(self, namespaces: set[str], nodes: set[str]) -> Iterator[ResourceClaim]:
        for found in self._watches.store("ResourceClaim").values():
            if found["status"].get("allocation") is None:
                continue
            claim = ResourceClaim.read(found)
            concerns = claim.metadata.namespace in namespaces or any(
                each.pool in nodes for each in self._own(claim)
            )
            if concerns and self._is_waiting(claim):
                yield claim

    def _own(self, claim: ResourceClaim) -> list[DeviceResult]:
        return [each for each in claim.status.results if each.driver == self._driver]

    def _is_waiting(self, claim: ResourceClaim) -> bool:
        """Whether one of its devices is not ready, though a pod is to have it."""
        if not claim.status.reserved_for:
            return False
        reports = map(claim.status.report_of, self._own(claim))
        return not all(each and each.ready and each.ready.status == "True" for each in reports)

    async def _nudge(self, claim: ResourceClaim) -> None:
        loop = asyncio.get_running_loop()
        for consumer in claim.status.reserved_for:
            if not consumer.is_pod:
                continue
            wait_s = self._last.get(consumer.uid, -PAUSE_S) + PAUSE_S - loop.time()
            if wait_s > 0:
                loop.call_later(wait_s, self._again, claim.metadata.namespace)
                continue
            if len(self._last) >= KNOWN_MAX:
                self._last.clear()
            self._last[consumer.uid] = loop.time()
            await self._annotate(claim.metadata.namespace, consumer.name, consumer.uid)

    def _again(self, namespace: str) -> None:
        self._namespaces.add(namespace)
        self._some.set()

    async def _annotate(self, namespace: str, name: str, uid: str) -> None:
        when = self._now().isoformat(timespec="milliseconds")
        patch = {"metadata": {"uid": uid, "annotations": {ANNOTATION: when}}}
        try:
            await self._objects.client.patch(
                PODS, name, patch, namespace=namespace, field_manager=MANAGER
            )
        except ApiError as error:  # it is gone, or another one of its name; or we may not
            log.info("nudge.failed", namespace=namespace, pod=name, error=str(error))
            return
        self.count += 1
        log.info("nudge.done", namespace=namespace, pod=name)


def _is_ready(pod: JsonObject | None) -> bool:
    return pod is not None and bool(pod["ready"])


def _labels(found: JsonObject | None) -> object:
    return found["metadata"].get("labels") if found is not None else None
