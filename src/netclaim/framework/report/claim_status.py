"""What a claim's status says about its devices: composed from the journal, put into JSON. No I/O.

Promise: it is always within the API's limits, and a condition's transition time changes only when
its status does. Limit: the API has one entry for a device of a claim. If several pods share the
claim, `networkData` is that of one pod for as long as it has the device; `data` lists all pods by
name (`model.api.dra.interface_data`).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from netclaim.framework.journal.records import Booking, DeviceReport, HealthReport, Lease, Report
from netclaim.framework.telemetry.logs import brief
from netclaim.model.api.dra.device_status import api_time, condition, device_entry
from netclaim.model.api.dra.interface_data import data_of, network_data
from netclaim.model.claims.claim import AllocatedDevice, DeviceKey, JsonObject
from netclaim.model.devices.device import Taint
from netclaim.model.on_node.attachment import Attachment

REFUSED: Final = "Refused"  # the end of the reason by which a controller knows such claims
NO_WORD: Final = re.compile(r"[^A-Za-z0-9]+")  # between the words of a taint's key


def compose(
    booking: Booking,
    leases: Iterable[Lease],
    failures: Mapping[DeviceKey, str],
    previous: Report | None,
    now: datetime,
    *,
    tainted: Mapping[str, tuple[Taint, ...]] | None = None,
    refused: bool = False,
) -> Report:
    """The claim's report. A device of which nothing new is known stays as it was.

    `refused`: failures are because of what the claim says.

    `tainted` are the node's devices that have taints, by name; None if they are not known yet. A
    failure counts while no pod has the device: that of a second pod on a shared claim is shown on
    that pod, and does not make the first one's interface any less ready.
    """
    before = {d.device.key: d for d in previous.devices} if previous is not None else {}
    attached: dict[DeviceKey, list[Attachment]] = {}
    for lease in leases:
        if lease.state == "attached":
            key = lease.attachment.plan.device.key
            attached.setdefault(key, []).append(lease.attachment)
    plain = {
        plan.device.key
        for plan in (booking.prepared.plans if booking.prepared is not None else ())
        if plan.network is None
    }
    reports = []
    for device in booking.devices:
        here = attached.get(device.key, [])
        failure = None if here else failures.get(device.key)
        last = before.get(device.key)
        if failure is not None or here or device.key in plain:
            report = _device_report(device, here, failure, last, now)
            if failure is not None and refused:
                report = msgspec.structs.replace(report, refused=True)
        elif last is not None:
            report = last
        else:
            continue
        known = last.health if last is not None else None
        if tainted is not None:
            known = _health(tainted.get(device.device, ()), known, now)
        reports.append(msgspec.structs.replace(report, health=known))
    return Report(claim=booking.claim, devices=tuple(reports))


def _device_report(
    device: AllocatedDevice,
    attachments: list[Attachment],
    failure: str | None,
    before: DeviceReport | None,
    now: datetime,
) -> DeviceReport:
    ready = failure is None
    same = before is not None and before.ready == ready
    by_name = sorted(attachments, key=lambda each: (each.pod.name, each.pod.uid, each.pod.id))
    shown = _shown(by_name, before)
    return DeviceReport(
        device=device,
        ready=ready,
        message=_ready_text(shown, len(by_name)) if failure is None else brief(failure),
        since=before.since if before is not None and same else api_time(now),
        interface=shown.interface if shown is not None else None,
        data=data_of(by_name),
    )


def _health(
    taints: Sequence[Taint], before: HealthReport | None, now: datetime
) -> HealthReport | None:
    """What a device's taints say of its health; None for a device that never had any."""
    if not taints:
        if before is None or before.healthy:
            return before
        return HealthReport(
            healthy=True,
            reason="NoTaint",
            message="the device has no taint any more",
            since=api_time(now),
        )
    keys = ", ".join(dict.fromkeys(taint.key for taint in taints))
    leaving = any(taint.effect == "NoExecute" for taint in taints)
    effect = "pods that use it are evicted" if leaving else "no other pod gets it"
    return HealthReport(
        healthy=False,
        reason=_reason(taints[0].key),
        message=brief(f"the device is tainted: {keys}; {effect}"),
        since=before.since if before is not None and not before.healthy else api_time(now),
    )


def _reason(key: str) -> str:
    """A taint's key as a condition's reason: example.com/no-carrier is NoCarrier."""
    words = NO_WORD.split(key.rpartition("/")[2])
    reason = "".join(word[:1].upper() + word[1:] for word in words)
    return reason if reason[:1].isalpha() else "Tainted"


def _shown(attachments: list[Attachment], before: DeviceReport | None) -> Attachment | None:
    """The attachment whose interface is shown: the one shown already, or the first."""
    if before is not None and before.interface is not None:
        for attachment in attachments:
            if attachment.interface == before.interface:
                return attachment
    return attachments[0] if attachments else None


def _ready_text(shown: Attachment | None, pods: int) -> str:
    if shown is None or shown.interface is None:
        return "the device is ready"
    name = shown.interface.name
    if pods == 1:
        return f"the device is in the pod as {name}"
    return f"the device is in {pods} pods as {name}; networkData is that of pod {shown.pod.name}"


def device_statuses(report: Report, subject: str) -> list[JsonObject]:
    """The report as entries of status.devices; the conditions' reasons begin with `subject`."""
    return [_entry(device, subject) for device in report.devices]


def without_details(entry: JsonObject) -> JsonObject:
    """An entry with nothing in it that came from a plugin, a claim or a node."""
    conditions = [
        {**each, "message": "the API server refused the details; the driver's log has them"}
        for each in entry["conditions"]
    ]
    kept = {key: value for key, value in entry.items() if key not in {"data", "networkData"}}
    return {**kept, "conditions": conditions}


def _state(report: DeviceReport) -> str:
    """How far a device is, as the end of a condition's reason."""
    if report.ready:
        return "Ready"
    return REFUSED if report.refused else "NotReady"


def _entry(report: DeviceReport, subject: str) -> JsonObject:
    conditions = [
        condition(
            "Ready",
            holds=report.ready,
            reason=f"{subject}{_state(report)}",
            message=report.message,
            since=report.since,
        )
    ]
    if (health := report.health) is not None:
        conditions.append(
            condition(
                "Healthy",
                holds=health.healthy,
                reason=health.reason,
                message=health.message,
                since=health.since,
            )
        )
    entry = device_entry(report.device, conditions)
    if report.data:
        entry["data"] = report.data
    if network := network_data(report.interface):
        entry["networkData"] = network
    return entry
