"""The interfaces that a pod got through its claims, as the claims report them. No I/O."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from netclaim.local.api.store import Store
from netclaim.local.node.claims import ClaimNotReadyError, claim_names
from netclaim.local.node.pod_status import is_running
from netclaim.model.claim import JsonObject
from netclaim.schema.kinds import CLAIM, POD

__all__ = ["Interface", "interfaces_of"]


@dataclass(frozen=True, slots=True)
class Interface:
    """An interface that a pod got through a claim."""

    name: str
    ips: tuple[str, ...]
    mac: str
    device: str
    claim: str


def interfaces_of(
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
        claim = store.get(CLAIM, name, pod["metadata"]["namespace"])
        if claim is None:
            missing = f"claim {name} does not exist"
            continue
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
