"""Pods that use claims: their interfaces, or what they wait for.

Promise: every claim that a pod names is accounted for, also one that is not made yet. A pod on a
shared claim has its own interface where the driver lists it. No I/O. Limit: a driver that reports
nothing leaves its pods Ready as soon as they run, since there is nothing else to go by.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from netclaim.model.api.dra.claim import DeviceStatus, NetworkData, ResourceClaim
from netclaim.model.on_node.pod import ENDED
from netclaim.schema.annotated import NOT_CLAIMED, TEMPLATE
from netclaim.status.objects import Pod
from netclaim.status.values import ClaimStatus, Interface, PodClaim, PodState
from netclaim.status.values import Pod as PodView

EXTENDED: Final = "extended-resources"


def claim_names(pod: Pod) -> Iterator[tuple[str, str, str]]:
    """Yield each claim of a pod: the pod's name for it, its own name if known, its template."""
    made = {one.name: one.resource_claim_name for one in pod.status.resource_claim_statuses}
    for one in pod.spec.resource_claims:
        name = one.resource_claim_name or made.get(one.name, "")
        yield one.name, name, one.resource_claim_template_name
    extended = pod.status.extended_resource_claim_status.resource_claim_name
    if extended:
        yield EXTENDED, extended, ""


def pod_views(
    pods: Iterable[Pod],
    claims: Mapping[tuple[str, str], ClaimStatus],
    raw: Mapping[tuple[str, str], ResourceClaim],
    reporting: Collection[str],
) -> tuple[PodView, ...]:
    """Return the pods that use claims; `reporting` are the drivers that write statuses."""
    found = []
    for pod in pods:
        used = [_claim(pod, *names, claims) for names in claim_names(pod)]
        if not used:
            continue
        found.append(_view(pod, tuple(used), claims, raw, reporting))
    return tuple(sorted(found, key=lambda one: (one.namespace, one.name)))


def _claim(
    pod: Pod,
    entry: str,
    name: str,
    template: str,
    claims: Mapping[tuple[str, str], ClaimStatus],
) -> PodClaim:
    claim = claims.get((pod.metadata.namespace, name))
    state = claim.state if claim is not None else "Missing"
    return PodClaim(entry=entry, claim=name, template=template, state=state)


def _view(
    pod: Pod,
    used: tuple[PodClaim, ...],
    claims: Mapping[tuple[str, str], ClaimStatus],
    raw: Mapping[tuple[str, str], ResourceClaim],
    reporting: Collection[str],
) -> PodView:
    space = pod.metadata.namespace
    ended = pod.status.phase in ENDED
    there = [claims[space, one.claim] for one in used if (space, one.claim) in claims]
    waiting = "" if ended else _waiting(pod, used, there, reporting)
    state: PodState = "Ready"
    if ended:
        state = "Ended"
    elif waiting:
        state = "NotReady" if pod.status.phase == "Running" else "Waiting"
    return PodView(
        namespace=space,
        name=pod.metadata.name,
        node=pod.spec.node_name,
        phase=pod.status.phase or "Pending",
        state=state,
        waiting=waiting,
        interfaces=()
        if ended
        else tuple(
            interface
            for one in used
            if (space, one.claim) in raw
            for interface in _interfaces(pod, raw[space, one.claim])
        ),
        claims=used,
    )


def _interfaces(pod: Pod, claim: ResourceClaim) -> Iterator[Interface]:
    for one in claim.status.devices:
        own = _own(pod, one)
        if own is not None and (own.interface_name or own.ips):
            yield Interface(
                name=own.interface_name,
                ips=own.ips,
                mac=own.hardware_address,
                claim=claim.metadata.name,
                driver=one.driver,
                pool=one.pool,
                device=one.device,
            )


def _own(pod: Pod, device: DeviceStatus) -> NetworkData | None:
    shared = device.shared.pods
    if shared:
        return next((one for one in shared if one.uid == pod.metadata.uid), None)
    return device.network_data


def _waiting(
    pod: Pod, used: Iterable[PodClaim], there: Iterable[ClaimStatus], reporting: Collection[str]
) -> str:
    """Return what a pod waits for: the first thing that has to happen."""
    for one in used:
        if one.state == "Missing" and one.template == TEMPLATE:
            return NOT_CLAIMED
        if one.state == "Missing":
            made = f" from template {one.template}" if one.template else ""
            name = f" {one.claim}" if one.claim else ""
            return (
                f"claim{name} for {one.entry} is not made yet{made}"
                if made
                else (f"claim{name} does not exist")
            )
    for claim in there:
        if claim.state == "Pending":
            return _unscheduled(pod) or f"claim {claim.name} is not allocated"
        if claim.state == "NotReady":
            return claim.message or f"claim {claim.name} is not ready"
    for claim in there:
        late = [one for one in claim.devices if one.ready is None and one.driver in reporting]
        if late and pod.spec.node_name:
            return f"the driver on {pod.spec.node_name} has not reported {late[0].device} yet"
    return _unscheduled(pod) or ("" if pod.spec.node_name else "it has no node yet")


def _unscheduled(pod: Pod) -> str:
    """Return why a pod has no node, without what the scheduler says about preemption."""
    scheduled = (one for one in pod.status.conditions if one.type == "PodScheduled")
    message = next((one.message for one in scheduled if one.status == "False"), "")
    for end in (" still not schedulable", " preemption:"):
        message = message.partition(end)[0]
    return message.strip()
