"""What became of each pod: its interfaces, or what stopped it. Pure, from the cluster's objects.

A pod has its interfaces when it runs and its claims report every device of ours as ready.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from netclaim.local.api.store import Store
from netclaim.local.control import UNSCHEDULABLE
from netclaim.local.node.claims import ClaimNotReadyError, claim_names
from netclaim.local.node.pod_status import is_running
from netclaim.model.claim import JsonObject
from netclaim.schema.kinds import CLAIM, EVENT, POD, REPLICA_SET

__all__ = ["Interface", "PodOutcome", "outcomes", "settled"]

State: TypeAlias = Literal["ready", "starting", "stopped"]
TRIES_ENOUGH: Final = 2  # a second failure shows that the first was not by chance
STAGES: Final = {
    "FailedResourceClaimCreation": "claim",
    "FailedPrepareDynamicResources": "prepare",
    "FailedCreatePodSandBox": "attach",
    "Failed": "attach",
}


@dataclass(frozen=True, slots=True)
class Interface:
    """An interface that a pod got through a claim."""

    name: str
    ips: tuple[str, ...]
    mac: str
    device: str
    claim: str


@dataclass(frozen=True, slots=True)
class PodOutcome:
    """Where a pod has come to."""

    namespace: str
    name: str
    uid: str
    node: str
    ip: str
    state: State
    interfaces: tuple[Interface, ...] = ()
    stage: str = ""  # where it stopped: claim, schedule, prepare, attach, report, order
    reason: str = ""
    owner: str = ""  # what made it, such as `Deployment web`


def outcomes(store: Store, drivers: Collection[str]) -> tuple[PodOutcome, ...]:
    """What became of all pods so far."""
    tries = _tries(store)
    return tuple(_outcome(store, pod, drivers, tries) for pod in store.list(POD))


def settled(found: Collection[PodOutcome], expected: int) -> bool:
    """Whether nothing more is going to happen by itself."""
    return len(found) >= expected and all(pod.state != "starting" for pod in found)


def _outcome(
    store: Store, pod: JsonObject, drivers: Collection[str], tries: Mapping[str, int]
) -> PodOutcome:
    meta, status = pod["metadata"], pod.get("status", {})
    interfaces, missing = _interfaces(store, pod, drivers)
    stage, reason = _obstacle(pod, missing)
    if is_running(pod) and not missing:
        state: State = "ready"
    else:
        final = stage in ("schedule", "claim") or tries.get(meta["uid"], 0) >= TRIES_ENOUGH
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
    """What made a pod: its controller, or that one's."""
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
    """The stage that a pod is stopped at, and why; nothing if it is not."""
    status = pod.get("status", {})
    if is_running(pod):
        return ("report", missing) if missing else ("", "")
    if status.get("reason") in STAGES:
        return STAGES[status["reason"]], status.get("message", "")
    for condition in status.get("conditions", ()):
        if condition.get("reason") == UNSCHEDULABLE:
            return "schedule", condition.get("message", "")
    return "", ""


def _tries(store: Store) -> dict[str, int]:
    """How often each pod's start has failed."""
    counts: dict[str, int] = {}
    for event in store.list(EVENT):
        if event.get("reason") in STAGES:
            uid = event.get("regarding", {}).get("uid", "")
            counts[uid] = counts.get(uid, 0) + 1
    return counts


def _interfaces(
    store: Store, pod: JsonObject, drivers: Collection[str]
) -> tuple[tuple[Interface, ...], str]:
    """The interfaces that a pod's claims report, and what they do not report yet."""
    found: list[Interface] = []
    missing = ""
    try:
        names = claim_names(pod)
    except ClaimNotReadyError as error:
        return (), str(error)
    for name in names.values():
        claim = store.get(CLAIM, name, pod["metadata"]["namespace"]) or {}
        status = claim.get("status", {})
        reported = {_key(device): device for device in status.get("devices", ())}
        results = status.get("allocation", {}).get("devices", {}).get("results", ())
        alone = _running_users(store, claim) <= 1
        for result in results:
            if result["driver"] in drivers:
                report = reported.get(_key(result), {})
                shown = list(_shown(report, pod["metadata"]["uid"], name, alone=alone))
                found += shown
                if not shown or not _is_ready(report):
                    missing = f"claim {name} reports no interface for {result['device']} yet"
    return tuple(found), missing


def _running_users(store: Store, claim: JsonObject) -> int:
    """How many of the pods that a claim is reserved for run."""
    users = claim.get("status", {}).get("reservedFor", ())
    namespace = claim.get("metadata", {}).get("namespace", "")
    pods = (store.get(POD, user["name"], namespace) for user in users)
    return sum(pod is not None and is_running(pod) for pod in pods)


def _shown(report: JsonObject, pod_uid: str, claim: str, *, alone: bool) -> Iterator[Interface]:
    """The interface of a report; where pods share a claim, this pod's own.

    A report without a list of pods is about one of them: whose, is known if only one runs.
    """
    shared = report.get("data", {}).get("pods")
    if shared:
        entries = [one for one in shared if one.get("uid") == pod_uid]
    else:
        entries = [report.get("networkData")] if alone else []
    for network in entries:
        if network:
            yield Interface(
                name=network.get("interfaceName", ""),
                ips=tuple(network.get("ips", ())),
                mac=network.get("hardwareAddress", ""),
                device=report["device"],
                claim=claim,
            )


def _is_ready(report: JsonObject) -> bool:
    conditions = report.get("conditions", ())
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)


def _key(device: JsonObject) -> tuple[str, ...]:
    return tuple(str(device.get(key, "")) for key in ("driver", "pool", "device", "shareID"))
