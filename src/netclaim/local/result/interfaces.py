"""The interfaces that a pod got through its claims, as the claims report them. No I/O."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from netclaim.local.api.store import Store
from netclaim.local.node.claims import ClaimNotReadyError, claim_names
from netclaim.local.node.pod_status import is_running
from netclaim.model.api.base import JsonObject
from netclaim.model.api.dra.claim import DeviceStatus, NetworkData, ResourceClaim
from netclaim.schema.kinds import CLAIM, POD


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
    """Return the interfaces that a pod's claims report, and what they do not report yet."""
    found: list[Interface] = []
    missing = ""
    try:
        names = claim_names(pod)
    except ClaimNotReadyError as error:
        return (), str(error)
    for name in names.values():
        obj = store.get(CLAIM, name, pod["metadata"]["namespace"])
        if obj is None:
            missing = f"claim {name} does not exist"
            continue
        claim = ResourceClaim.read(obj)
        alone = _running_users(store, claim) <= 1
        for result in claim.status.node_results:
            if result.driver in drivers:
                report = claim.status.report_of(result)
                uid = pod["metadata"]["uid"]
                shown = [] if report is None else list(_shown(report, uid, name, alone=alone))
                found += shown
                if not shown or report is None or "Ready" not in report.true:
                    missing = f"claim {name} reports no interface for {result.device} yet"
    return tuple(found), missing


def _running_users(store: Store, claim: ResourceClaim) -> int:
    """Return how many of the pods that a claim is reserved for run."""
    users, namespace = claim.status.reserved_for, claim.metadata.namespace
    pods = (store.get(POD, user.name, namespace) for user in users)
    return sum(pod is not None and is_running(pod) for pod in pods)


def _shown(report: DeviceStatus, pod_uid: str, claim: str, *, alone: bool) -> Iterator[Interface]:
    """Yield the interface of a report; if pods share a claim, only this pod's own.

    A report without a list of pods is about one of them; which one is known if only one runs.
    """
    entries: list[NetworkData] = [one for one in report.shared.pods if one.uid == pod_uid]
    if not report.shared.pods and alone and report.network_data != NetworkData():
        entries = [report.network_data]
    for network in entries:
        yield Interface(
            name=network.interface_name,
            ips=network.ips,
            mac=network.hardware_address,
            device=report.device,
            claim=claim,
        )
