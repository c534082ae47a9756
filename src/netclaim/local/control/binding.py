"""Binding conditions (KEP-5007): what a device's driver must report before a pod gets its node.

Promise: as with kube-scheduler, a pod is bound when every condition that its devices require is
true; a failure condition, or ten minutes, take its devices away again, and it is tried again after
a pause. All state is in the objects: the node in `status.nominatedNodeName`, the failure in the
pod's condition. No I/O.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from netclaim.model.api.base import JsonObject
from netclaim.model.api.dra.claim import DeviceResult, ResourceClaim

FAILED: Final = "SchedulerError"  # the reason in the pod's condition
TIMEOUT: Final = timedelta(minutes=10)  # the scheduler's bindingTimeout
PAUSE: Final = timedelta(seconds=5)  # the scheduler's is between one and ten


class Binding(NamedTuple):
    """The progress of a binding: ready, still waiting, or failed with the reason."""

    ready: bool
    failure: str = ""


def waits_on(pod: JsonObject, claims: Sequence[JsonObject]) -> str:
    """Return the node for which a pod's claims are allocated already; empty if there is none."""
    node: str = pod.get("status", {}).get("nominatedNodeName", "")
    uid = pod["metadata"]["uid"]
    read = map(ResourceClaim.read, claims)
    return node if all(claim.status.is_reserved_for(uid) for claim in read) else ""


def conditions_of(claims: Iterable[JsonObject]) -> bool:
    """Whether devices of claims require conditions."""
    return any(result.binding_conditions for _, result in _results(claims))


def binding_of(claims: Sequence[JsonObject], now: datetime) -> Binding:
    """Read the progress from the devices of claims."""
    waiting = False
    for claim, result in _results(claims):
        if not result.binding_conditions:
            continue
        report = claim.status.report_of(result)
        true = report.true if report is not None else {}
        name = claim.metadata.name
        for condition in result.binding_failure_conditions:
            if condition in true:
                said = ": ".join(filter(None, (true[condition].reason, true[condition].message)))
                failure = f"device {result.device} of claim {name} failed to bind: {said}"
                return Binding(ready=False, failure=failure)
        if not all(condition in true for condition in result.binding_conditions):
            waiting = True
            assert claim.status.allocation is not None  # it has results
            allocated = datetime.fromisoformat(claim.status.allocation.allocation_timestamp)
            if allocated < now - TIMEOUT:
                return Binding(ready=False, failure=f"device binding timeout: claim {name}")
    return Binding(ready=not waiting)


def paused_until(pod: JsonObject) -> datetime | None:
    """Return when a pod whose devices failed to bind is tried again."""
    for condition in pod.get("status", {}).get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition.get("reason") == FAILED:
            return datetime.fromisoformat(condition["lastTransitionTime"]) + PAUSE
    return None


def _results(claims: Iterable[JsonObject]) -> Iterator[tuple[ResourceClaim, DeviceResult]]:
    for claim in map(ResourceClaim.read, claims):
        for result in claim.status.results:
            yield claim, result
