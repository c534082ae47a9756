"""Give back what refused claims hold: evict the pods that wait for them.

A claim that a driver refuses for what it says is not prepared by waiting, but it keeps its devices,
and others wait for those. Nobody but the control plane can take an allocation away, and it does so
when no pod has the claim any more. So a pod that waits for such a claim is evicted. A claim that
has addresses of pools and no link is refused by every node, whose drivers have no device to report
that of.

Promise: only pods of which no container ever ran, and whose claim was refused `GRACE_S` ago and
still is. Each change of a claim is looked at once; what is due later is found without looking at
the others. An event at the pod says why. Limit: a workload makes another pod, which may get the
same devices; until it is refused, others have had their turn.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import structlog

from netclaim.controller.events import event_about
from netclaim.errors import NetclaimError
from netclaim.kube import EVENTS, PODS, Client, ForbiddenError, NotFoundError
from netclaim.model.api.base import ObjectError
from netclaim.model.api.claim import Consumer, ResourceClaim
from netclaim.model.claim import JsonObject
from netclaim.model.counted_pool import pool_of

log = structlog.get_logger(__name__)

REFUSED: Final = "Refused"  # how the reason of such a condition ends
# Long enough to read the event, and for a label of the namespace that is set together with the pod;
# much less than the 60 to 90 s after which kubelet would ask again.
GRACE_S: Final = 15.0
AGAIN_S: Final = 5.0  # after an eviction that failed
NO_LINK: Final = "it has addresses of pools, and no link for them; ask for a link as well"


@dataclass(frozen=True, slots=True)
class _Refused:
    """A refused claim: when its pods are evicted, and why."""

    due_s: float
    namespace: str
    name: str
    pods: tuple[Consumer, ...]
    why: str


class RefusedClaims:
    """Hears of claims, and evicts."""

    def __init__(
        self,
        client: Client,
        driver: str,
        identity: str = "netclaim-controller",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        grace_s: float = GRACE_S,
    ) -> None:
        self._client = client
        self._driver = driver
        self._identity = identity
        self._now = now
        self._grace_s = grace_s
        self._refused: dict[str, _Refused] = {}  # by the claim's UID; the earliest first
        self._some = asyncio.Event()
        self.count = 0  # pods that were evicted

    def changed(self, kind: str, before: JsonObject | None, now: JsonObject | None) -> None:
        """Note a claim that was refused, or is no more."""
        found = now or before
        if kind != "ResourceClaim" or found is None:
            return
        uid = found["metadata"]["uid"]
        why, pods = self._reason(now) if now is not None else ("", ())
        known = self._refused.get(uid)
        if not why:
            self._refused.pop(uid, None)
        elif known is None or (known.why, known.pods) != (why, pods):
            # Another pod or another reason gives no more time; its place among the others is kept.
            now_s = asyncio.get_running_loop().time()
            due_s = known.due_s if known is not None else now_s + self._grace_s
            meta = found["metadata"]
            self._refused[uid] = _Refused(due_s, meta["namespace"], meta["name"], pods, why)
            self._some.set()

    async def run(self) -> None:
        """Evict until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            if not self._refused:
                self._some.clear()
                await self._some.wait()
            uid, first = next(iter(self._refused.items()))
            if (wait_s := first.due_s - loop.time()) > 0:
                await asyncio.sleep(wait_s)
                continue
            del self._refused[uid]
            if not await self._release(first):
                again = loop.time() + max(AGAIN_S, self._grace_s)
                self._refused.setdefault(uid, _later(first, again))

    async def _release(self, claim: _Refused) -> bool:
        """Evict the pods of a claim; returns whether that is done."""
        done = True
        for pod in claim.pods:
            try:
                await self._evict(claim, pod)
            except ForbiddenError as error:
                log.warning("refused.forbidden", namespace=claim.namespace, error=str(error))
            except NetclaimError as error:
                log.warning("refused.failed", namespace=claim.namespace, error=str(error))
                done = False
        return done

    async def _evict(self, claim: _Refused, pod: Consumer) -> None:
        try:
            found = await self._client.get(PODS, pod.name, namespace=claim.namespace)
            if found["metadata"]["uid"] != pod.uid or _has_begun(found):
                return
            await self._client.evict(pod.name, namespace=claim.namespace, uid=pod.uid)
        except NotFoundError:
            return
        self.count += 1
        fields = {"namespace": claim.namespace, "pod": pod.name, "claim": claim.name}
        log.info("refused.evicted", **fields, why=claim.why)
        text = f"evicted, so that others can have its devices: claim {claim.name} was refused: "
        try:
            event = event_about(
                found,
                kind=PODS.kind,
                action="Evict",
                reason="ClaimRefused",
                note=text + claim.why,
                now=self._now(),
                identity=self._identity,
            )
            await self._client.create(EVENTS, event)
        except NetclaimError as error:  # the claim's own event said why; not worth a retry
            log.warning("refused.event_failed", **fields, error=str(error))

    def _reason(self, found: JsonObject) -> tuple[str, tuple[Consumer, ...]]:
        """Why a claim was refused, and the pods that wait for it; empty if it was not."""
        try:
            status = ResourceClaim.read(found).status
        except ObjectError:
            return "", ()
        own = [each for each in status.results if each.driver == self._driver]
        pods = tuple(one for one in status.reserved_for if one.is_pod)
        if own and pods and all(pool_of(each.pool) for each in own):
            return NO_LINK, pods
        reports = [status.report_of(each) for each in own]
        conditions = [report.ready for report in reports if report is not None]
        refused = [
            each.message
            for each in conditions
            if each is not None and each.status == "False" and each.reason.endswith(REFUSED)
        ]
        return (max(refused, key=len), pods) if refused and pods else ("", ())


def _later(claim: _Refused, due_s: float) -> _Refused:
    return _Refused(due_s, claim.namespace, claim.name, claim.pods, claim.why)


def _has_begun(pod: JsonObject) -> bool:
    """Whether a container of a pod ever ran, or the pod is about to go anyway."""
    status: dict[str, Any] = pod.get("status", {})
    if status.get("phase") != "Pending" or "deletionTimestamp" in pod["metadata"]:
        return True
    listed = [
        *status.get("initContainerStatuses", ()),
        *status.get("containerStatuses", ()),
    ]
    return any({"running", "terminated"} & {*each.get("state", ())} for each in listed)
