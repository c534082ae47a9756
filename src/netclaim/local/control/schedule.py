"""The embedded scheduler: a node for each pod, devices for its claims, by netclaim's allocator.

Promise: a pod's claims are allocated and reserved before it gets its node, as in a real cluster;
what prevents that is written into its status and reported once in an event. A pod whose devices
have binding conditions waits for them. Limit: of a pod it considers claims, nodeSelector, required
node affinity and tolerations; among nodes that fit, the one with the fewest pods is chosen.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from netclaim.allocator import (
    Allocation,
    AllocationError,
    Allocator,
    Claim,
    Holders,
    Node,
    Slice,
    explain,
    with_rules,
)
from netclaim.local.api.verbs import STAMPS, Verbs
from netclaim.local.control.binding import (
    FAILED,
    binding_of,
    conditions_of,
    paused_until,
    waits_on,
)
from netclaim.local.control.claims import FINALIZER, meant
from netclaim.local.control.extended_resources import MANAGER
from netclaim.local.control.node_fit import node_takes, why_no_node
from netclaim.local.control.why_not import why_not
from netclaim.local.events import record
from netclaim.local.node.claims import ClaimNotMadeError, ClaimNotReadyError, claim_names
from netclaim.model.api.dra.device_class import DeviceClass
from netclaim.model.api.dra.taint import DeviceTaintRule
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import CLAIM, CLASS, NODE, POD, RULE, SLICE

UNSCHEDULABLE: Final = "Unschedulable"


class _NoNodeError(Exception):
    """A pod cannot have a node now; the text says why."""


@dataclass(frozen=True, slots=True)
class _Placement:
    node: str
    allocations: tuple[Allocation, ...]


def schedule(verbs: Verbs) -> None:
    """Give a node to each pod that can have one."""
    pending = [
        pod
        for pod in verbs.list(POD)
        if not pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"]
    ]
    offers = _Offers(verbs) if pending else None
    now = datetime.now(UTC)
    for pod in pending:
        assert offers is not None
        if (until := paused_until(pod)) is not None:
            if until > now:
                continue
            _forget_failure(verbs, pod)
        try:
            claims = _claims(verbs, pod)
            if node := waits_on(pod, claims):
                _bind(verbs, pod, claims, node)
                continue
            placement = offers.place(pod, claims)
        except ClaimNotMadeError:  # the pod came after this round's claims were made
            continue
        except (_NoNodeError, ClaimNotReadyError) as error:
            _refuse(verbs, pod, str(error))
            continue
        given = [_give(verbs, pod, claim, placement) for claim in claims]
        if conditions_of(given):
            _nominate(verbs, pod, placement.node)
        _bind(verbs, pod, given, placement.node)


def _bind(verbs: Verbs, pod: JsonObject, claims: Sequence[JsonObject], node: str) -> None:
    """Give a pod its node, or wait for its devices, or take them away again."""
    binding = binding_of(claims, datetime.now(UTC))
    meta = pod["metadata"]
    if binding.ready:
        verbs.bind(verbs.get(POD, meta["name"], meta["namespace"]), node)
    elif binding.failure:
        for claim in claims:
            _take_back(verbs, pod, claim)
        _refuse(verbs, pod, binding.failure, reason=FAILED)


def _forget_failure(verbs: Verbs, pod: JsonObject) -> None:
    """Remove a pod's condition about devices that failed to bind."""
    status = pod["status"]
    others = [one for one in status["conditions"] if one.get("reason") != FAILED]
    verbs.set_status(POD, pod, {**status, "conditions": others}, manager=MANAGER)


def _nominate(verbs: Verbs, pod: JsonObject, node: str) -> None:
    """Record for which node the pod's devices are being made ready."""
    now = verbs.get(POD, pod["metadata"]["name"], pod["metadata"]["namespace"])
    status = {**now.get("status", {}), "nominatedNodeName": node}
    verbs.set_status(POD, now, status, manager=MANAGER)
    text = f"waiting for binding conditions for device on node {node}"
    record(verbs, pod, "BindingConditionsPending", text, by=MANAGER)


def _take_back(verbs: Verbs, pod: JsonObject, claim: JsonObject) -> None:
    """Remove a pod's reservation from a claim, and its devices if no other pod has it."""
    status = claim["status"]
    kept = [one for one in status.get("reservedFor", ()) if one["uid"] != pod["metadata"]["uid"]]
    left = {**status, "reservedFor": kept} if kept else {}
    verbs.set_status(CLAIM, claim, left, manager=MANAGER)


def _claims(verbs: Verbs, pod: JsonObject) -> list[JsonObject]:
    """Return the pod's claims; all of them have to exist, and be for this pod."""
    meta = pod["metadata"]
    found = []
    for name in claim_names(pod).values():
        claim = verbs.store.get(CLAIM, name, meta["namespace"])
        if claim is None:
            known = (one["metadata"]["name"] for one in verbs.list(CLAIM, meta["namespace"]))
            raise _NoNodeError(f'resourceclaim "{name}" not found{meant(name, known)}')
        if "deletionTimestamp" in claim["metadata"]:
            raise _NoNodeError(f'resourceclaim "{name}" is being deleted')
        owners = claim["metadata"].get("ownerReferences", ())
        if any(o.get("controller") and o["uid"] != meta["uid"] for o in owners):
            raise _NoNodeError(f'resourceclaim "{name}" was created for another pod')
        found.append(claim)
    return found


class _Offers:
    """The nodes and devices of one round, and what is already taken."""

    def __init__(self, verbs: Verbs) -> None:
        self._nodes = [(found, Node.read(found)) for found in verbs.list(NODE)]
        self._load = Counter(found["spec"].get("nodeName") for found in verbs.list(POD))
        self._allocator = Allocator(
            with_rules(
                [Slice.read(found) for found in verbs.list(SLICE)],
                [DeviceTaintRule.read(found) for found in verbs.list(RULE)],
            ),
            [DeviceClass.read(found) for found in verbs.list(CLASS)],
            Holders(Claim.read(found) for found in verbs.list(CLAIM)),
        )

    def place(self, pod: JsonObject, claims: Sequence[JsonObject]) -> _Placement:
        """Choose a node, and mark what the claims get there as taken."""
        nodes = [read for node, read in self._nodes if node_takes(pod["spec"], node)]
        if not nodes:
            raise _NoNodeError(why_no_node(pod["spec"], [node for node, _ in self._nodes]))
        read = [Claim.read(claim) for claim in claims]
        try:
            decision = self._allocator.decide(read, nodes)
        except AllocationError as error:
            raise _NoNodeError(str(error)) from error
        if not decision.schedulable:
            raise _NoNodeError(why_not([explain(self._allocator, read, node) for node in nodes]))
        failed = pod.get("status", {}).get("nominatedNodeName", "")  # other nodes come first
        node = min(decision.placements, key=lambda name: (name == failed, self._load[name]))
        self._load[node] += 1
        allocations = decision.placements[node].allocations()
        for allocation in allocations:
            self._allocator.holders.hold(allocation.claim, allocation.result)
        return _Placement(node, allocations)


def _give(verbs: Verbs, pod: JsonObject, claim: JsonObject, placement: _Placement) -> JsonObject:
    """Write a claim's allocation and the pod's reservation; returns the claim."""
    meta = claim["metadata"]
    mine = [one for one in placement.allocations if one.claim.uid == meta["uid"]]
    if FINALIZER not in meta.get("finalizers", ()):
        kept = [*meta.get("finalizers", ()), FINALIZER]
        protected = {**claim, "metadata": {**meta, "finalizers": kept}}
        claim = verbs.replace(CLAIM, protected, claim, manager=MANAGER)
    status = claim.get("status", {})
    if mine:
        status = {**status, "allocation": {**mine[0].object, "allocationTimestamp": STAMPS.now()}}
    user = {
        "resource": "pods",
        "name": pod["metadata"]["name"],
        "uid": pod["metadata"]["uid"],
    }
    if user not in status.get("reservedFor", ()):
        status = {**status, "reservedFor": [*status.get("reservedFor", ()), user]}
    return verbs.set_status(CLAIM, claim, status, manager=MANAGER)


def _refuse(verbs: Verbs, pod: JsonObject, message: str, *, reason: str = UNSCHEDULABLE) -> None:
    now = verbs.get(POD, pod["metadata"]["name"], pod["metadata"]["namespace"])
    status = now.get("status", {})
    others = [c for c in status.get("conditions", ()) if c["type"] != "PodScheduled"]
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": reason,
        "message": message,
        **({"lastTransitionTime": STAMPS.now()} if reason == FAILED else {}),
    }
    if condition in status.get("conditions", ()):
        return
    conditions = [*others, condition]
    verbs.set_status(POD, now, {**status, "conditions": conditions}, manager=MANAGER)
    record(verbs, pod, "FailedScheduling", message, by=MANAGER, warning=True)
