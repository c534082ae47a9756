"""Claims as their drivers report them.

Promise: a claim is Ready when every device of a driver that reports is, and NotReady as soon as one
is not. Devices of a driver that has reported nothing leave a claim Reserved. No I/O.
"""

from collections.abc import Iterable, Mapping

from netclaim.model.api.dra.claim import DeviceResult, DeviceStatus, ResourceClaim, SharedData
from netclaim.model.api.dra.ids import DeviceId
from netclaim.status.values import ClaimDevice, ClaimState, ClaimStatus, PodInterface


def claim_statuses(
    claims: Iterable[ResourceClaim], nodes: Mapping[DeviceId, str]
) -> tuple[ClaimStatus, ...]:
    """Return claims by namespace and name; `nodes` says where devices are."""
    found = [_status(claim, nodes) for claim in claims]
    return tuple(sorted(found, key=lambda one: (one.namespace, one.name)))


def _status(claim: ResourceClaim, nodes: Mapping[DeviceId, str]) -> ClaimStatus:
    status = claim.status
    devices = tuple(_device(one, status.report_of(one), nodes) for one in status.node_results)
    worst = next((one for one in devices if one.ready is False), None)
    return ClaimStatus(
        namespace=claim.metadata.namespace,
        name=claim.metadata.name,
        state=_state(claim, devices),
        deleting=claim.metadata.deletion_timestamp is not None,
        classes=claim.classes,
        message=worst.message if worst is not None else "",
        since=max((one.since for one in ((worst,) if worst else devices)), default=""),
        devices=devices,
        pods=status.pods,
    )


def _device(
    given: DeviceResult, reported: DeviceStatus | None, nodes: Mapping[DeviceId, str]
) -> ClaimDevice:
    ready = reported.ready if reported is not None else None
    network = reported.network_data if reported is not None else None
    shared = reported.shared if reported is not None else SharedData()
    return ClaimDevice(
        driver=given.driver,
        pool=given.pool,
        device=given.device,
        request=given.request,
        share_id=given.share_id,
        admin_access=given.admin_access,
        node=nodes.get(given.id, ""),
        ready=ready.status == "True" if ready is not None else None,
        reason=ready.reason if ready is not None else "",
        message=ready.message if ready is not None else "",
        since=(ready.last_transition_time or "") if ready is not None else "",
        unhealthy=reported.unhealthy if reported is not None else "",
        interface=network.interface_name if network is not None else "",
        mac=network.hardware_address if network is not None else "",
        ips=network.ips if network is not None else (),
        pods=tuple(
            PodInterface(
                pod=one.name, interface=one.interface_name, mac=one.hardware_address, ips=one.ips
            )
            for one in shared.pods
        ),
        pods_omitted=shared.omitted,
    )


def _state(claim: ResourceClaim, devices: tuple[ClaimDevice, ...]) -> ClaimState:
    if claim.status.allocation is None:
        return "Pending"
    verdicts = [one.ready for one in devices]
    if False in verdicts:
        return "NotReady"
    if verdicts and None not in verdicts:
        return "Ready"
    return "Reserved" if claim.status.reserved_for else "Allocated"
