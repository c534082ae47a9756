"""Give back what refused claims hold: evict the pods that wait for them.

A claim that a driver refuses for what it says is not prepared by waiting, but it keeps its devices,
and others wait for those. Nobody but the control plane can take an allocation away, and it does so
when no pod has the claim any more. So a pod that waits for such a claim is evicted. A claim that
has addresses of pools and no link is refused by every node, whose drivers have no device to report
that of.

Promise: only pods of which no container ever ran, and whose claim was refused `GRACE_S` ago and
still is. Namespaces take turns, one pod each. The pods of one owner, such as a ReplicaSet, are
evicted in rounds, with pauses that grow: it makes them again each time. Each change of a claim is
looked at once; what is due later is found without looking at the others. An event at the pod says
why. Limit: a workload makes another pod, which may get the same devices; until it is refused,
others have had their turn.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import structlog

from netclaim.controller.cluster.events import Events
from netclaim.controller.pacing.queue import WorkQueue
from netclaim.controller.pacing.rounds import Rounds
from netclaim.errors import NetclaimError
from netclaim.kube import PODS, Client, ForbiddenError, NotFoundError
from netclaim.model.api.base import ObjectError
from netclaim.model.api.dra.claim import Consumer, ResourceClaim
from netclaim.model.claims.claim import JsonObject
from netclaim.model.pools.counted_pool import pool_of

log = structlog.get_logger(__name__)

REFUSED: Final = "Refused"  # how the reason of such a condition ends
# Long enough to read the event, and for a label of the namespace that is set together with the pod;
# much less than the 60 to 90 s after which kubelet would ask again.
GRACE_S: Final = 15.0
AGAIN_S: Final = 5.0  # after an eviction that failed
NO_LINK: Final = "it has addresses of pools, and no link for them; ask for a link as well"


class PodKey(NamedTuple):
    """A pod that waits for a refused claim."""

    namespace: str
    claim: str  # the claim's UID
    pod: str  # the pod's UID


@dataclass(frozen=True, slots=True)
class _Refused:
    """A refused claim: when its pods are evicted, and why."""

    due_s: float
    name: str
    pods: Mapping[str, Consumer]  # that are still to be looked at, by their UIDs
    why: str


class RefusedClaims:
    """Hears of claims, and evicts."""

    def __init__(
        self,
        client: Client,
        driver: str,
        events: Events,
        *,
        grace_s: float = GRACE_S,
        rounds: Rounds | None = None,
    ) -> None:
        self._client = client
        self._driver = driver
        self._events = events
        self._grace_s = grace_s
        self._refused: dict[str, _Refused] = {}  # by the claim's UID
        self._queue: WorkQueue[PodKey] = WorkQueue(tenant=lambda key: key.namespace)
        self._rounds = rounds or Rounds(grace_s)
        self.count = 0  # pods that were evicted

    def changed(self, kind: str, before: JsonObject | None, now: JsonObject | None) -> None:
        """Note a claim that was refused, or is no more."""
        found = now or before
        if kind != "ResourceClaim" or found is None:
            return
        meta = found["metadata"]
        why, pods = self._reason(now) if now is not None else ("", {})
        known = self._refused.pop(meta["uid"], None)
        for uid in known.pods.keys() - pods.keys() if known is not None else ():
            self._queue.drop(PodKey(meta["namespace"], meta["uid"], uid))
        if not pods:
            return
        # Another pod or another reason gives no more time before it is over.
        now_s = asyncio.get_running_loop().time()
        due_s = known.due_s if known is not None else 0.0
        due_s = due_s if due_s > now_s else now_s + self._grace_s
        self._refused[meta["uid"]] = _Refused(due_s, meta["name"], pods, why)
        for uid in pods:
            if known is None or uid not in known.pods:
                key = PodKey(meta["namespace"], meta["uid"], uid)
                self._queue.add_later(key, due_s - now_s)

    async def run(self) -> None:
        """Evict until cancelled."""
        try:
            while True:
                key = await self._queue.take()
                claim = self._refused.get(key.claim)
                if claim is None or key.pod not in claim.pods:
                    continue
                pause_s = await self._release(key, claim)
                if pause_s:
                    self._queue.add_later(key, pause_s)
                else:
                    self._done(key)
        finally:
            self._queue.close()

    def _done(self, key: PodKey) -> None:
        claim = self._refused.get(key.claim)
        if claim is None or key.pod not in claim.pods:
            return
        left = {uid: pod for uid, pod in claim.pods.items() if uid != key.pod}
        if left:
            self._refused[key.claim] = replace(claim, pods=left)
        else:
            del self._refused[key.claim]

    async def _release(self, key: PodKey, claim: _Refused) -> float:
        """Evict a pod of a claim; returns after how many seconds to try again, 0 if it is done."""
        try:
            return await self._evict(key, claim, claim.pods[key.pod])
        except ForbiddenError as error:
            log.warning("refused.forbidden", namespace=key.namespace, error=str(error))
            return 0.0
        except NetclaimError as error:
            log.warning("refused.failed", namespace=key.namespace, error=str(error))
            return AGAIN_S

    async def _evict(self, key: PodKey, claim: _Refused, pod: Consumer) -> float:
        namespace, now_s = key.namespace, asyncio.get_running_loop().time
        try:
            found = await self._client.get(PODS, pod.name, namespace=namespace)
            if found["metadata"]["uid"] != pod.uid or _has_begun(found):
                return 0.0
            if pause_s := self._rounds.pause_s(_owner(found), now_s()):
                return pause_s
            refused = self._refused.get(key.claim)
            if refused is None or key.pod not in refused.pods:  # since it was taken
                return 0.0
            await self._client.evict(pod.name, namespace=namespace, uid=pod.uid)
        except NotFoundError:
            return 0.0
        self._rounds.note_done(_owner(found), now_s())
        self.count += 1
        log.info(
            "refused.evicted", namespace=namespace, pod=pod.name, claim=claim.name, why=claim.why
        )
        text = f"evicted, so that others can have its devices: claim {claim.name} was refused: "
        await self._events.leave(
            found, kind=PODS.kind, action="Evict", reason="ClaimRefused", note=text + claim.why
        )
        return 0.0

    def _reason(self, found: JsonObject) -> tuple[str, Mapping[str, Consumer]]:
        """Why a claim was refused, and the pods that wait for it; empty if it was not."""
        try:
            status = ResourceClaim.read(found).status
        except ObjectError:
            return "", {}
        own = [each for each in status.results if each.driver == self._driver]
        pods = {one.uid: one for one in status.reserved_for if one.is_pod}
        if own and pods and all(pool_of(each.pool) for each in own):
            return NO_LINK, pods
        reports = [status.report_of(each) for each in own]
        conditions = [report.ready for report in reports if report is not None]
        refused = [
            each.message
            for each in conditions
            if each is not None and each.status == "False" and each.reason.endswith(REFUSED)
        ]
        return (max(refused, key=len), pods) if refused else ("", {})


def _owner(pod: JsonObject) -> str:
    """The UID of what makes a pod again, or of the pod itself."""
    meta = pod["metadata"]
    owners = (each["uid"] for each in meta.get("ownerReferences", ()) if each.get("controller"))
    return str(next(owners, meta["uid"]))


def _has_begun(pod: JsonObject) -> bool:
    """Whether a container of a pod ever ran, or the pod is about to go anyway."""
    status: dict[str, Any] = pod.get("status", {})
    if status.get("phase") != "Pending" or "deletionTimestamp" in pod["metadata"]:
        return True
    listed = [
        *status.get("initContainerStatuses", ()),
        *status.get("containerStatuses", ()),
    ]
    return any(
        each.get("restartCount")
        or {"running", "terminated"} & {*each.get("state", ()), *each.get("lastState", ())}
        for each in listed
    )
