"""Delete pods whose devices got a taint that they do not tolerate.

This works as the device taint eviction controller of Kubernetes 1.37: NoExecute taints count, of
slices and of DeviceTaintRules; only a toleration with that very effect helps, for its
tolerationSeconds from the time the taint was added, or for ever. Each rule's status shows the
progress of its evictions. Each call does what is due; a call that finds nothing to do writes
nothing. Limit: devices that a pod has as extended resources do not count, as in Kubernetes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from netclaim.local.api.verbs import Verbs
from netclaim.local.control.rule_status import MANAGER, Progress, write_progress
from netclaim.local.events import record
from netclaim.local.node.claims import ClaimNotReadyError, claim_names
from netclaim.model.api.base import JsonObject
from netclaim.model.api.dra.claim import ResourceClaim
from netclaim.model.api.dra.ids import DeviceId, PoolId
from netclaim.model.api.dra.slice import ResourceSlice
from netclaim.model.api.dra.taint import DeviceTaint, DeviceTaintRule, Toleration
from netclaim.schema.kinds import CLAIM, POD, RULE, SLICE

NO_EXECUTE: Final = "NoExecute"
CONDITION: Final = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByDeviceTaintManager",
    "message": "Device Taint manager: deleting due to NoExecute taint",
}


@dataclass(frozen=True, slots=True)
class _Due:
    """When a pod has to be deleted, and the rules that demand it."""

    when: datetime
    rules: frozenset[str] = frozenset()


class Evictions:
    """The evictions of one cluster, and how many pods each rule has evicted so far."""

    def __init__(self) -> None:
        self._evicted: dict[str, int] = {}  # by the rule's UID

    def evict(self, verbs: Verbs, now: datetime | None = None) -> datetime | None:
        """Delete the pods that are due; returns when the next one is."""
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
    """The taints of devices, and where they come from; `as_if` is a rule to read as NoExecute."""

    def __init__(self, verbs: Verbs, as_if: JsonObject | None = None) -> None:
        claims = map(ResourceClaim.read, verbs.list(CLAIM))
        self._claims = {
            (claim.metadata.namespace, claim.metadata.name): claim
            for claim in claims
            if claim.status.allocation is not None
        }
        self._devices = _devices(map(ResourceSlice.read, verbs.list(SLICE)))
        self.rules = list(verbs.list(RULE))
        read = map(DeviceTaintRule.read, self.rules)
        self._evicting = [rule for rule in read if rule.spec.taint.effect == NO_EXECUTE]
        if as_if is not None:
            self._evicting.append(DeviceTaintRule.read(as_if))

    @property
    def may_evict(self) -> bool:
        published = (taint for taints in self._devices.values() for taint in taints)
        return bool(self._evicting) or any(t.effect == NO_EXECUTE for t in published)

    def due(self, pod: JsonObject) -> _Due | None:
        """Return when a pod has to be deleted; None if it may stay."""
        if not pod["spec"].get("nodeName"):
            return None
        found = [due for claim in self._claims_of(pod) for due in self._claim_due(claim)]
        if not found:
            return None
        rules = frozenset(rule for due in found for rule in due.rules)
        return _Due(min(due.when for due in found), rules)

    def published(self, rule: JsonObject) -> int:
        """Return how many devices a rule selects."""
        read = DeviceTaintRule.read(rule)
        return sum(read.concerns(device) for device in self._devices)

    def allocated(self, rule: JsonObject) -> int:
        """Return how many times claims have a device that a rule selects."""
        read = DeviceTaintRule.read(rule)
        claims = self._claims.values()
        return sum(read.concerns(one.id) for claim in claims for one in claim.status.results)

    def _claims_of(self, pod: JsonObject) -> Iterator[ResourceClaim]:
        meta = pod["metadata"]
        listed = {one["name"] for one in pod["spec"].get("resourceClaims", ())}
        try:
            names = [name for key, name in claim_names(pod).items() if key in listed]
        except ClaimNotReadyError:
            return
        for name in names:
            claim = self._claims.get((meta["namespace"], name))
            if claim is not None and claim.status.is_reserved_for(meta["uid"]):
                yield claim

    def _claim_due(self, claim: ResourceClaim) -> Iterator[_Due]:
        for result in claim.status.results:
            for taint, rule in self._taints(result.id):
                when = _until(taint, result.tolerations)
                if when is not None:
                    yield _Due(when, frozenset((rule,) if rule else ()))

    def _taints(self, device: DeviceId) -> Iterator[tuple[DeviceTaint, str]]:
        """Yield the taints of a device that evict, each with the UID of its rule."""
        for taint in self._devices.get(device, ()):
            if taint.effect == NO_EXECUTE:
                yield taint, ""
        for rule in self._evicting:
            if rule.concerns(device):
                evicting = msgspec.structs.replace(rule.spec.taint, effect=NO_EXECUTE)
                yield evicting, rule.metadata.uid


def _devices(slices: Iterable[ResourceSlice]) -> dict[DeviceId, tuple[DeviceTaint, ...]]:
    """Return the taints of each device in the newest generation of its pool."""
    specs = [one.spec for one in slices]
    newest: dict[PoolId, int] = {}
    for spec in specs:
        newest[spec.pool_id] = max(newest.get(spec.pool_id, 0), spec.pool.generation)
    return {
        DeviceId(spec.driver, spec.pool.name, device.name): device.taints
        for spec in specs
        if spec.pool.generation == newest[spec.pool_id]
        for device in spec.devices
    }


def _until(taint: DeviceTaint, tolerations: Iterable[Toleration]) -> datetime | None:
    """Return until when a taint is tolerated; None means for ever."""
    helpful = [
        one.toleration_seconds
        for one in tolerations
        if one.effect == NO_EXECUTE and one.tolerates(taint)
    ]
    seconds = [max(0, one) for one in helpful if one is not None]
    if len(seconds) < len(helpful):
        return None
    return datetime.fromisoformat(taint.time_added) + timedelta(seconds=min(seconds, default=0))


def _namespaces(pods: Iterable[JsonObject]) -> tuple[str, ...]:
    return tuple(pod["metadata"]["namespace"] for pod in pods)


def _delete(verbs: Verbs, pod: JsonObject) -> None:
    meta = pod["metadata"]
    record(verbs, pod, "DeviceTaintManagerEviction", "Marking for deletion", by=MANAGER)
    status = pod.get("status", {})
    others = [one for one in status.get("conditions", ()) if one["type"] != CONDITION["type"]]
    conditions = [*others, dict(CONDITION)]
    verbs.set_status(POD, pod, {**status, "conditions": conditions}, manager=MANAGER)
    verbs.delete(POD, meta["name"], meta["namespace"], uid=meta["uid"])
