"""What became of each pod: its interfaces, or what stopped it, from the cluster's objects. No I/O.

A pod has its interfaces when it runs, its claims report each of netclaim's devices as ready, and it
asks for no network that nothing here attaches.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from netclaim.local.api.store import Store
from netclaim.local.control import UNSCHEDULABLE
from netclaim.local.node.pod_status import is_running
from netclaim.local.result.given import GivenDevice
from netclaim.local.result.interfaces import Interface, interfaces_of
from netclaim.local.result.multus import missing_networks
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import EVENT, NODE, POD, REPLICA_SET

State: TypeAlias = Literal["ready", "starting", "stopped"]
TRIES_ENOUGH: Final = 2  # a second failure shows that the first was no accident
FINAL: Final = ("claim", "schedule", "network")  # nothing changes there by itself
STAGES: Final = {
    "FailedResourceClaimCreation": "claim",
    "FailedPrepareDynamicResources": "prepare",
    "FailedCreatePodSandBox": "attach",
    "Failed": "attach",
}


@dataclass(frozen=True, slots=True)
class PodOutcome:
    """How far a pod has come."""

    namespace: str
    name: str
    uid: str
    node: str
    ip: str
    state: State
    interfaces: tuple[Interface, ...] = ()
    stage: str = ""  # where it stopped: a key of `show.STAGES`
    reason: str = ""
    devices: tuple[GivenDevice, ...] = ()  # of drivers without interfaces
    owner: str = ""  # what made it, for example `Deployment web`


def outcomes(store: Store, drivers: Collection[str]) -> tuple[PodOutcome, ...]:
    """Return what became of all pods so far."""
    tries = _tries(store)
    return tuple(_outcome(store, pod, drivers, tries) for pod in store.list(POD))


def settled(found: Collection[PodOutcome], expected: int) -> bool:
    """Whether nothing more will happen by itself."""
    return len(found) >= expected and all(pod.state != "starting" for pod in found)


def _outcome(
    store: Store, pod: JsonObject, drivers: Collection[str], tries: Mapping[str, int]
) -> PodOutcome:
    meta, status = pod["metadata"], pod.get("status", {})
    interfaces, missing = interfaces_of(store, pod, drivers)
    stage, reason = _obstacle(pod, missing)
    if lost := _lost(store, pod):
        stage, reason = "schedule", lost
    if is_running(pod) and not stage:
        state: State = "ready"
    else:
        final = stage in FINAL or tries.get(meta["uid"], 0) >= TRIES_ENOUGH
        state = "stopped" if final else "starting"
    return PodOutcome(
        namespace=meta["namespace"],
        name=meta["name"],
        uid=meta["uid"],
        node=pod["spec"].get("nodeName", ""),
        ip=status.get("podIP", ""),
        state=state,
        interfaces=interfaces,
        stage=stage,
        reason=reason,
        owner=_owner(store, pod),
    )


def _owner(store: Store, pod: JsonObject) -> str:
    """Return what made a pod: its controller, or that one's controller."""
    found = _controller(pod)
    if found is not None and found["kind"] == REPLICA_SET.name:
        namespace = pod["metadata"]["namespace"]
        replica_set = store.get(REPLICA_SET, found["name"], namespace)
        found = (_controller(replica_set) if replica_set else None) or found
    return f"{found['kind']} {found['name']}" if found is not None else ""


def _controller(found: JsonObject) -> JsonObject | None:
    owners = found["metadata"].get("ownerReferences", ())
    return next((owner for owner in owners if owner.get("controller")), None)


def _obstacle(pod: JsonObject, missing: str) -> tuple[str, str]:
    """Return the stage that a pod is stopped at, and why; empty if it is not stopped."""
    status = pod.get("status", {})
    if is_running(pod):
        if missing:
            return "report", missing
        networks = missing_networks(pod)
        return ("network", networks) if networks else ("", "")
    if status.get("reason") in STAGES:
        return STAGES[status["reason"]], status.get("message", "")
    for condition in status.get("conditions", ()):
        if condition.get("reason") == UNSCHEDULABLE:
            return "schedule", condition.get("message", "")
    return "", ""


def _lost(store: Store, pod: JsonObject) -> str:
    """Return why no kubelet ever sees a pod, if it names a node that does not exist."""
    named = pod["spec"].get("nodeName", "")
    nodes = [node["metadata"]["name"] for node in store.list(NODE)]
    if not named or not nodes or named in nodes:
        return ""
    return f'nodeName is set to "{named}", but the nodes are {", ".join(nodes)}'


def _tries(store: Store) -> dict[str, int]:
    """Return how often each pod's start has failed."""
    counts: dict[str, int] = {}
    for event in store.list(EVENT):
        if event.get("reason") in STAGES:
            uid = event.get("regarding", {}).get("uid", "")
            counts[uid] = counts.get(uid, 0) + 1
    return counts
