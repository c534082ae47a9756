"""What a claim's status says about its devices: composed from the journal, put into JSON. Pure.

Promise: within the API's limits whatever the driver says; a condition's transition time changes
only when its status does. Limit: the API has one entry for one device of a claim. Of several pods
on a shared claim, `networkData` is one's, and stays that one's while it has the device; `data`
lists all by name (`status_data`).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from netclaim.framework.logs import brief
from netclaim.framework.records import Booking, DeviceReport, HealthReport, Lease, Report
from netclaim.framework.status_data import data_of, network_data
from netclaim.model.attachment import Attachment
from netclaim.model.claim import AllocatedDevice, DeviceKey, JsonObject
from netclaim.model.device import Taint

__all__ = ["compose", "device_statuses"]

HEALTHY: Final = "Healthy"  # the condition of a device that is or was tainted
NO_WORD: Final = re.compile(r"[^A-Za-z0-9]+")  # between the words of a taint's key


def compose(
    booking: Booking,
    leases: Iterable[Lease],
    failures: Mapping[DeviceKey, str],
    previous: Report | None,
    now: datetime,
    *,
    tainted: Mapping[str, tuple[Taint, ...]] | None = None,
) -> Report:
    """The claim's report. A device of which nothing new is known stays as it was.

    `tainted` are the node's devices that have taints, by name; None: not known yet.

    A failure counts while no pod has the device: that of a second pod on a shared claim is told on
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
        since=before.since if before is not None and same else _time(now),
        interface=shown.interface if shown is not None else None,
        data=data_of(by_name),
    )


def _health(
    taints: Sequence[Taint], before: HealthReport | None, now: datetime
) -> HealthReport | None:
    """What its taints say of a device; one that never had any has no such entry, as most."""
    if not taints:
        if before is None or before.healthy:
            return before
        return HealthReport(
            healthy=True,
            reason="NoTaint",
            message="the device has no taint any more",
            since=_time(now),
        )
    keys = ", ".join(dict.fromkeys(taint.key for taint in taints))
    leaving = any(taint.effect == "NoExecute" for taint in taints)
    effect = "pods that use it are evicted" if leaving else "no other pod gets it"
    return HealthReport(
        healthy=False,
        reason=_reason(taints[0].key),
        message=brief(f"the device is tainted: {keys}; {effect}"),
        since=before.since if before is not None and not before.healthy else _time(now),
    )


def _reason(key: str) -> str:
    """A taint's key as a condition's reason: example.com/no-carrier is NoCarrier."""
    words = NO_WORD.split(key.rpartition("/")[2])
    reason = "".join(word[:1].upper() + word[1:] for word in words)
    return reason if reason[:1].isalpha() else "Tainted"


def _time(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def _shown(attachments: list[Attachment], before: DeviceReport | None) -> Attachment | None:
    """Choose whose interface is shown: whose is shown already, or the first."""
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
    """The report as entries of status.devices; `subject` begins the conditions' reasons."""
    return [_entry(device, subject) for device in report.devices]


def _entry(report: DeviceReport, subject: str) -> JsonObject:
    device = report.device
    entry: JsonObject = {"driver": device.driver, "pool": device.pool, "device": device.device}
    if device.share_id is not None:
        entry["shareID"] = device.share_id
    entry["conditions"] = [
        {
            "type": "Ready",
            "status": "True" if report.ready else "False",
            "reason": f"{subject}Ready" if report.ready else f"{subject}NotReady",
            "message": report.message,
            "lastTransitionTime": report.since,
        }
    ]
    if (health := report.health) is not None:
        entry["conditions"].append(
            {
                "type": HEALTHY,
                "status": "True" if health.healthy else "False",
                "reason": health.reason,
                "message": health.message,
                "lastTransitionTime": health.since,
            }
        )
    if report.data:
        entry["data"] = report.data
    if network := network_data(report.interface):
        entry["networkData"] = network
    return entry
