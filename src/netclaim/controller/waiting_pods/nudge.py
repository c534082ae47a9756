"""Have kubelet ask again for a pod whose claim can perhaps be prepared now.

Kubelet comes back to a prepare that failed only after 60 to 90 s, but at once when the pod changes.
So when something changed that a driver may have refused a claim for, one annotation of each pod
that waits for such a claim is changed.

    the namespace's labels    its policy level, and the networks that it may use
    a slice of the node       a link that is back
    a driver's pod is ready   a driver that is back
    this controller starts    whatever happened while none ran
    nothing for `UNHEARD_S`   kubelet could not ask: it was not allowed to read the claim yet

Promise: a change nudges a pod once, and a pod is nudged at most once in `PAUSE_S`; what comes
earlier is done then. A pod that runs is never touched. Limit: a driver that is not this project's
reports nothing that could be waited for, so only claims with netclaim's devices are looked at, and
of these only those that wait.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import structlog

from netclaim.controller.cluster.objects import MANAGER, Objects
from netclaim.controller.cluster.watches import Watches
from netclaim.errors import NetclaimError
from netclaim.kube import PODS, UnreachableError
from netclaim.kube.watch import Key
from netclaim.model.api.base import ObjectError
from netclaim.model.api.dra.claim import Consumer, DeviceResult, ResourceClaim
from netclaim.model.claims.claim import JsonObject

log = structlog.get_logger(__name__)

ANNOTATION: Final = "cni.networking.x-k8s.io/asked-again"
PAUSE_S: Final = 5.0
# A driver reads a namespace's labels itself, and publishes a link a moment after it sees it.
SETTLE_S: Final = 0.5
# After a claim was reserved, without a word of its driver. A node's authorizer may learn of a claim
# later than its kubelet does. Long enough for the hundredth pod of a burst, short beside 60 s.
UNHEARD_S: Final = 10.0
KNOWN_MAX: Final = 10_000  # pods whose last nudge is remembered


class Nudge:
    """Notes what changed, and nudges the pods that may be waiting for it."""

    def __init__(
        self,
        objects: Objects,
        watches: Watches,
        driver: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        pause_s: float = PAUSE_S,
        settle_s: float = SETTLE_S,
        unheard_s: float = UNHEARD_S,
    ) -> None:
        self._objects = objects
        self._watches = watches
        self._driver = driver
        self._now = now
        self._pause_s = pause_s
        self._settle_s = settle_s
        self._unheard_s = unheard_s
        self._last: dict[str, float] = {}  # by the pod's UID
        self._namespaces: set[str] = set()
        self._nodes: set[str] = set()
        self._owed: set[str] = set()  # UIDs of pods whose nudge had to wait
        self._everybody = True
        self._waiting: dict[Key, ResourceClaim] = {}  # for a driver of ours, to prepare them
        self._some = asyncio.Event()
        self._some.set()
        self.count = 0

    def changed(self, kind: str, before: JsonObject | None, now: JsonObject | None) -> None:
        """Note a change, if a claim may have waited for it."""
        if before is None and kind == "Namespace":
            return
        if kind == "Namespace" and now is not None and _labels(before) != _labels(now):
            self._namespaces.add(now["metadata"]["name"])
            self._some.set()
        elif kind == "ResourceSlice" and now is not None and now["spec"].get("nodeName"):
            self._nodes.add(now["spec"]["nodeName"])  # that of a pool of addresses has none
            self._some.set()
        elif kind == "Pod" and _is_ready(now) and not _is_ready(before):
            self._nodes.add(now["node"] if now is not None else "")
            self._some.set()
        elif kind == "ResourceClaim" and (found := now or before) is not None:
            key = found["metadata"]["namespace"], found["metadata"]["name"]
            self._note(key, now)
            if key in self._waiting and not _is_reserved(before):
                loop = asyncio.get_running_loop()
                loop.call_later(self._unheard_s, self._owe_unheard, key)

    async def run(self) -> None:
        """Nudge until cancelled."""
        for key, found in self._watches.store("ResourceClaim").items():
            self._note(key, found)
        while True:
            await self._some.wait()
            await asyncio.sleep(self._settle_s)
            self._some.clear()
            for namespace, pod in self._due():
                await self._nudge(namespace, pod)

    def _due(self) -> list[tuple[str, Consumer]]:
        """The pods to nudge, with their namespaces. What was noted for them is forgotten."""
        namespaces, self._namespaces = self._namespaces, set()
        nodes, self._nodes = self._nodes, set()
        owed, self._owed = self._owed, set()
        everybody, self._everybody = self._everybody, False
        due: dict[str, tuple[str, Consumer]] = {}
        for claim in self._waiting.values():
            namespace = claim.metadata.namespace
            concerns = (
                everybody
                or namespace in namespaces
                or any(each.pool in nodes for each in self._own(claim))
            )
            for pod in claim.status.reserved_for:
                if pod.is_pod and (concerns or pod.uid in owed):
                    due[pod.uid] = namespace, pod
        return list(due.values())

    def _note(self, key: Key, found: JsonObject | None) -> None:
        """Note whether a claim waits for its driver."""
        self._waiting.pop(key, None)
        if found is None or found["status"].get("allocation") is None:
            return
        try:
            claim = ResourceClaim.read(found)
        except ObjectError:
            return
        if self._is_waiting(claim):
            self._waiting[key] = claim

    def _own(self, claim: ResourceClaim) -> list[DeviceResult]:
        return [each for each in claim.status.node_results if each.driver == self._driver]

    def _is_waiting(self, claim: ResourceClaim) -> bool:
        """Whether one of its devices is not ready, though a pod is to have it."""
        own = self._own(claim)
        if not claim.status.reserved_for or not own:
            return False
        reports = map(claim.status.report_of, own)
        return not all(each and each.ready and each.ready.status == "True" for each in reports)

    async def _nudge(self, namespace: str, pod: Consumer) -> None:
        loop = asyncio.get_running_loop()
        last_s = self._last.get(pod.uid)
        if last_s is not None and (wait_s := last_s + self._pause_s - loop.time()) > 0:
            loop.call_later(wait_s, self._owe, pod.uid)
            return
        if len(self._last) >= KNOWN_MAX:
            self._last.clear()
        self._last[pod.uid] = loop.time()
        await self._annotate(namespace, pod)

    def _owe(self, uid: str) -> None:
        self._owed.add(uid)
        self._some.set()

    def _owe_unheard(self, key: tuple[str, str]) -> None:
        """Have the pods of a claim nudged of which its driver has said nothing."""
        found = self._watches.store("ResourceClaim").get(key)
        if found is None or found["status"].get("devices"):
            return
        for consumer in found["status"].get("reservedFor", ()):
            self._owe(consumer["uid"])

    async def _annotate(self, namespace: str, pod: Consumer) -> None:
        when = self._now().isoformat(timespec="milliseconds")
        patch = {"metadata": {"uid": pod.uid, "annotations": {ANNOTATION: when}}}
        try:
            await self._objects.client.patch(
                PODS, pod.name, patch, namespace=namespace, field_manager=MANAGER
            )
        except UnreachableError as error:
            log.info("nudge.failed", namespace=namespace, pod=pod.name, error=str(error))
            asyncio.get_running_loop().call_later(self._pause_s, self._owe, pod.uid)
        except NetclaimError as error:  # it is gone, or another one of its name; or we may not
            log.info("nudge.failed", namespace=namespace, pod=pod.name, error=str(error))
        else:
            self.count += 1
            log.info("nudge.done", namespace=namespace, pod=pod.name)


def _is_ready(pod: JsonObject | None) -> bool:
    return pod is not None and bool(pod["ready"])


def _is_reserved(claim: JsonObject | None) -> bool:
    return claim is not None and bool(claim["status"].get("reservedFor"))


def _labels(found: JsonObject | None) -> object:
    return found["metadata"].get("labels") if found is not None else None
