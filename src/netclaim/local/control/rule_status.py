"""The progress of a DeviceTaintRule's evictions, as a condition in its status.

The type and the reasons are those of Kubernetes 1.37. A rule with the effect None is a rehearsal:
its condition describes what NoExecute would do. What is there already is not written again.
"""

from dataclasses import dataclass
from typing import Final

from netclaim.local.api.verbs import STAMPS, Verbs
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import RULE

MANAGER: Final = "device-taint-eviction"
IN_PROGRESS: Final = "EvictionInProgress"


@dataclass(frozen=True, slots=True)
class Progress:
    """The namespaces of pods that wait, how many were evicted, and for a rehearsal the devices."""

    waiting: tuple[str, ...] = ()
    evicted: int = 0
    published: int = 0
    allocated: int = 0


def write_progress(verbs: Verbs, rule: JsonObject, progress: Progress) -> None:
    """Write the condition of a rule, unless it is there already."""
    status, reason, message = _said(rule["spec"]["taint"]["effect"], progress)
    condition = {
        "type": IN_PROGRESS,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": rule["metadata"].get("generation", 1),
    }
    before: JsonObject = next(iter(rule.get("status", {}).get("conditions", ())), {})
    if {**before, **condition} != before:
        stamped = {**condition, "lastTransitionTime": STAMPS.now()}
        verbs.set_status(RULE, rule, {"conditions": [stamped]}, manager=MANAGER)


def _said(effect: str, progress: Progress) -> tuple[str, str, str]:
    """Return a condition's status, reason and message."""
    evicted = f"{_pods(progress.evicted)} evicted so far" if progress.evicted else ""
    waiting = f"{_pods(len(progress.waiting))} in {_namespaces(progress.waiting)}"
    if effect == "None":
        devices = (
            f"{progress.published} published and {progress.allocated} allocated devices selected"
        )
        return "False", "NoEffect", f"{devices}; NoExecute would evict {waiting}"
    if effect != "NoExecute":
        return "False", "OtherEffect", "only the effect NoExecute evicts pods"
    if progress.waiting:
        return "True", "PodsPendingEviction", "; ".join(filter(None, [f"{waiting} wait", evicted]))
    return "False", "Completed" if progress.evicted else "NotStarted", evicted


def _pods(number: int) -> str:
    return "1 pod" if number == 1 else f"{number} pods"


def _namespaces(names: tuple[str, ...]) -> str:
    number = len(set(names))
    return "1 namespace" if number == 1 else f"{number} namespaces"
