"""Binding conditions (KEP-5007): what a device's driver says before a pod gets its node.

Promise: as kube-scheduler: a pod is bound when every condition that its devices ask for is true;
a failure condition, or ten minutes, take its devices away again, and it is tried anew after a
pause. What goes on is in the objects alone: the node in `status.nominatedNodeName`, the failure in
the pod's condition. No I/O.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from netclaim.model.claim import JsonObject
from netclaim.schema.status_rules import device_id

__all__ = ["FAILED", "Binding", "binding_of", "conditions_of", "paused_until", "waits_on"]

FAILED: Final = "SchedulerError"  # the reason in the pod's condition
TIMEOUT: Final = timedelta(minutes=10)  # the scheduler's bindingTimeout
PAUSE: Final = timedelta(seconds=5)  # the scheduler's is between one and ten


class Binding(NamedTuple):
    """How far it is: ready, still waiting, or failed with the reason."""

    ready: bool
    failure: str = ""


def waits_on(pod: JsonObject, claims: Sequence[JsonObject]) -> str:
    """Return the node for which a pod's claims are allocated already; nothing if it has none."""
    node: str = pod.get("status", {}).get("nominatedNodeName", "")
    uid = pod["metadata"]["uid"]
    reserved = all(
        any(user["uid"] == uid for user in claim.get("status", {}).get("reservedFor", ()))
        for claim in claims
    )
    return node if reserved else ""


def conditions_of(claims: Iterable[JsonObject]) -> bool:
    """Whether devices of claims ask for conditions."""
    return any(result.get("bindingConditions") for _, result in _results(claims))


def binding_of(claims: Sequence[JsonObject], now: datetime) -> Binding:
    """Read how far the devices of claims are."""
    waiting = False
    for claim, result in _results(claims):
        wanted = result.get("bindingConditions", ())
        if not wanted:
            continue
        reports = claim["status"].get("devices", ())
        report: JsonObject = next(
            (one for one in reports if device_id(one) == device_id(result)), {}
        )
        true = {one["type"]: one for one in report.get("conditions", ()) if one["status"] == "True"}
        name = claim["metadata"]["name"]
        for condition in result.get("bindingFailureConditions", ()):
            if condition in true:
                said = ": ".join(filter(None, map(true[condition].get, ("reason", "message"))))
                failure = f"device {result['device']} of claim {name} failed to bind: {said}"
                return Binding(ready=False, failure=failure)
        if not all(condition in true for condition in wanted):
            waiting = True
            if datetime.fromisoformat(claim["status"]["allocation"]["allocationTimestamp"]) < (
                now - TIMEOUT
            ):
                return Binding(ready=False, failure=f"device binding timeout: claim {name}")
    return Binding(ready=not waiting)


def paused_until(pod: JsonObject) -> datetime | None:
    """Return when a pod whose devices failed to bind is tried again."""
    for condition in pod.get("status", {}).get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition.get("reason") == FAILED:
            return datetime.fromisoformat(condition["lastTransitionTime"]) + PAUSE
    return None


def _results(claims: Iterable[JsonObject]) -> Iterator[tuple[JsonObject, JsonObject]]:
    for claim in claims:
        allocation = claim.get("status", {}).get("allocation", {})
        for result in allocation.get("devices", {}).get("results", ()):
            yield claim, result
