"""Which pods give back what refused claims hold: those that wait for them.

A claim that a driver refuses for what it says is not prepared by waiting, but it keeps its devices,
and others wait for those. Nobody but the control plane can take an allocation away, and it does so
when no pod has the claim any more. So a pod that waits for such a claim is evicted. A claim that
has addresses of pools and no link is refused by every node, whose drivers have no device to report
that of.

Promise: only pods of which no container ever ran, and whose claim was refused `GRACE_S` ago and
still is. No I/O. Limit: a workload makes another pod, which may get the same devices; until it is
refused, others have had their turn.
"""

from collections.abc import Mapping
from typing import Any, Final

from netclaim.controller.waiting_pods.evictions import Found
from netclaim.model.api.base import ObjectError
from netclaim.model.api.dra.claim import Consumer, ResourceClaim
from netclaim.model.claims.claim import JsonObject
from netclaim.model.pools.counted_pool import pool_of

REFUSED: Final = "Refused"  # how the reason of such a condition ends
# Long enough to read the event, and for a label of the namespace that is set together with the pod;
# much less than the 60 to 90 s after which kubelet would ask again.
GRACE_S: Final = 15.0
NO_LINK: Final = "it has addresses of pools, and no link for them; ask for a link as well"


class RefusedClaims:
    """The rule for refused claims."""

    name = "refused"
    event = "ClaimRefused"

    def __init__(self, driver: str, *, grace_s: float = GRACE_S) -> None:
        self._driver = driver
        self._grace_s = grace_s

    def find(self, claim: JsonObject) -> Found | None:
        """The pods that wait for a refused claim."""
        why, pods = self._reason(claim)
        return Found(pods, self._grace_s, why) if pods else None

    def concerns(self, pod: JsonObject) -> bool:
        """Whether no container of a pod ever ran, and it is not about to go anyway."""
        return not _has_begun(pod)

    def note(self, claim: str, why: str) -> str:
        return f"evicted, so that others can have its devices: claim {claim} was refused: {why}"

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
