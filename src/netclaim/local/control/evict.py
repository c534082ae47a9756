"""Delete pods whose devices got a taint that they do not put up with.

As the device taint eviction controller of Kubernetes 1.37: NoExecute taints count, of slices and of
DeviceTaintRules; only a toleration with that very effect helps, for its tolerationSeconds from the
time the taint was added, or for ever. Each rule's status says how far its evictions are. Each call
does what is due; a call that finds nothing to do writes nothing. Limit: devices that a pod has as
extended resources do not count, as in Kubernetes.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from netclaim.allocator import DeviceId, TaintRule, Toleration
from netclaim.local.api.verbs import Verbs
from netclaim.local.control.rule_status import Progress, write_progress
from netclaim.local.events import record
from netclaim.local.node.claims import ClaimNotReadyError, claim_names
from netclaim.model.claim import JsonObject
from netclaim.model.device import Taint
from netclaim.schema.kinds import CLAIM, POD, RULE, SLICE

__all__ = ["Evictions"]

MANAGER: Final = "device-taint-eviction"
NO_EXECUTE: Final = "NoExecute"
CONDITION: Final = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByDeviceTaintManager",
    "message": "Device Taint manager: deleting due to NoExecute taint",
}


@dataclass(frozen=True, slots=True)
class _Due:
    """When a pod has to go, and the rules that want it."""

    when: datetime
    rules: frozenset[str] = frozenset()


class Evictions:
    """The evictions of one cluster, and how many pods each rule has evicted so far."""

    def __init__(self) -> None:
        self._evicted: dict[str, int] = {}  # by the rule's UID

    def evict(self, verbs: Verbs, now: datetime | None = None) -> datetime | None:
        """Delete the pods that are due; return when the next one is."""
        moment = now or datetime.now(UTC)
        world = _World(verbs)
        if not world.may_evict and not world.rules:
            return None
        waiting: list[tuple[JsonObject, _Due]] = []
        for pod in list(verbs.list(POD)):
            due = world.due(pod)
            if due is None or "deletionTimestamp" in pod["metadata"]:
                continue
            if due.when > moment:
                waiting.append((pod, due))
                continue
            _delete(verbs, pod)
            for uid in due.rules:
                self._evicted[uid] = self._evicted.get(uid, 0) + 1
        for rule in world.rules:
            write_progress(verbs, rule, self._progress(verbs, rule, waiting))
        return min((due.when for _, due in waiting), default=None)

    def _progress(
        self, verbs: Verbs, rule: JsonObject, waiting: Iterable[tuple[JsonObject, _Due]]
    ) -> Progress:
        uid = rule["metadata"]["uid"]
        evicted = self._evicted.get(uid, 0)
        if rule["spec"]["taint"]["effect"] != "None":
            pods = [pod for pod, due in waiting if uid in due.rules]
            return Progress(_namespaces(pods), evicted)
        meant = _World(verbs, as_if=rule)
        pods = [pod for pod in verbs.list(POD) if (due := meant.due(pod)) and uid in due.rules]
        return Progress(_namespaces(pods), evicted, meant.published(rule), meant.allocated(rule))


class _World:
    """Which taints devices have, from where; `as_if` is a rule to be read as NoExecute."""

    def __init__(self, verbs: Verbs, as_if: JsonObject | None = None) -> None:
        self._claims = {
            (claim["metadata"]["namespace"], claim["metadata"]["name"]): claim
            for claim in verbs.list(CLAIM)
            if "allocation" in claim.get("status", {})
        }
        self._devices = _devices(verbs.list(SLICE))
        self.rules = list(verbs.list(RULE))
        evicting = [rule for rule in self.rules if rule["spec"]["taint"]["effect"] == NO_EXECUTE]
        self._evicting = [*evicting, *([as_if] if as_if is not None else ())]

    @property
    def may_evict(self) -> bool:
        """Whether any taint evicts."""
        published = (taint for taints in self._devices.values() for taint in taints)
        return bool(self._evicting) or any(t["effect"] == NO_EXECUTE for t in published)

    def due(self, pod: JsonObject) -> _Due | None:
        """Return when a pod has to go; None if it may stay."""
        if not pod["spec"].get("nodeName"):
            return None
        found = [due for claim in self._claims_of(pod) for due in self._claim_due(claim)]
        if not found:
            return None
        rules = frozenset(rule for due in found for rule in due.rules)
        return _Due(min(due.when for due in found), rules)

    def published(self, rule: JsonObject) -> int:
        """Return how many devices a rule selects."""
        read = TaintRule.read(rule)
        return sum(read.concerns(device) for device in self._devices)

    def allocated(self, rule: JsonObject) -> int:
        """Return how many times claims have a device that a rule selects."""
        read = TaintRule.read(rule)
        return sum(
            read.concerns(_id(one)) for claim in self._claims.values() for one in _results(claim)
        )

    def _claims_of(self, pod: JsonObject) -> Iterator[JsonObject]:
        meta = pod["metadata"]
        listed = {one["name"] for one in pod["spec"].get("resourceClaims", ())}
        try:
            names = [name for key, name in claim_names(pod).items() if key in listed]
        except ClaimNotReadyError:
            return
        for name in names:
            claim = self._claims.get((meta["namespace"], name), {})
            users = claim.get("status", {}).get("reservedFor", ())
            if any(user["uid"] == meta["uid"] for user in users):
                yield claim

    def _claim_due(self, claim: JsonObject) -> Iterator[_Due]:
        for result in _results(claim):
            for taint, rule in self._taints(_id(result)):
                when = _until(taint, result.get("tolerations", ()))
                if when is not None:
                    yield _Due(when, frozenset((rule,) if rule else ()))

    def _taints(self, device: DeviceId) -> Iterator[tuple[JsonObject, str]]:
        """Yield the taints of a device that evict, each with the UID of its rule."""
        for taint in self._devices.get(device, ()):
            if taint["effect"] == NO_EXECUTE:
                yield taint, ""
        for rule in self._evicting:
            if TaintRule.read(rule).concerns(device):
                yield {**rule["spec"]["taint"], "effect": NO_EXECUTE}, rule["metadata"]["uid"]


def _devices(slices: Iterable[JsonObject]) -> dict[DeviceId, list[JsonObject]]:
    """Return the taints of each device in the newest generation of its pool."""
    found = list(slices)
    newest: dict[tuple[str, str], int] = {}
    for one in found:
        pool = (one["spec"]["driver"], one["spec"]["pool"]["name"])
        newest[pool] = max(newest.get(pool, 0), one["spec"]["pool"].get("generation", 0))
    return {
        DeviceId(driver, pool["name"], device["name"]): device.get("taints", [])
        for one in found
        for driver, pool in [(one["spec"]["driver"], one["spec"]["pool"])]
        if pool.get("generation", 0) == newest[driver, pool["name"]]
        for device in one["spec"].get("devices", ())
    }


def _until(taint: JsonObject, tolerations: Iterable[Mapping[str, Any]]) -> datetime | None:
    """Return until when a taint is tolerated; None for ever."""
    added = datetime.fromisoformat(taint["timeAdded"])
    read = Taint(taint["key"], taint["effect"], taint.get("value", ""))
    helpful = [
        one
        for one in tolerations
        if one.get("effect") == NO_EXECUTE and Toleration.read(one).tolerates(read)
    ]
    if any(one.get("tolerationSeconds") is None for one in helpful):
        return None
    seconds = [max(0, one["tolerationSeconds"]) for one in helpful]
    return added + timedelta(seconds=min(seconds, default=0))


def _results(claim: JsonObject) -> list[JsonObject]:
    found: list[JsonObject] = claim["status"]["allocation"].get("devices", {}).get("results", [])
    return found


def _id(result: Mapping[str, Any]) -> DeviceId:
    return DeviceId(result["driver"], result["pool"], result["device"])


def _namespaces(pods: Iterable[JsonObject]) -> tuple[str, ...]:
    return tuple(pod["metadata"]["namespace"] for pod in pods)


def _delete(verbs: Verbs, pod: JsonObject) -> None:
    meta = pod["metadata"]
    record(verbs, pod, "DeviceTaintManagerEviction", "Marking for deletion", by=MANAGER)
    status = pod.get("status", {})
    others = [one for one in status.get("conditions", ()) if one["type"] != CONDITION["type"]]
    changed = {**pod, "status": {**status, "conditions": [*others, dict(CONDITION)]}}
    verbs.replace(POD, changed, pod, manager=MANAGER, subresource="status")
    verbs.delete(POD, meta["name"], meta["namespace"], uid=meta["uid"])
