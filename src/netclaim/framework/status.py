"""What a claim's status says about its devices: composed from the journal, put into JSON. Pure.

Promise: within the API's limits whatever the driver says; a condition's transition time changes
only when its status does. Limit: the API has one entry for one device of a claim. Of several pods
on a shared claim, `networkData` is one's, and stays that one's while it has the device; `data`
lists all by name, as many as fit.
"""

import ipaddress
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from netclaim.framework.logs import brief, cut
from netclaim.framework.records import Booking, DeviceReport, Lease, Report
from netclaim.model.attachment import Attachment, Interface
from netclaim.model.claim import AllocatedDevice, DeviceKey, JsonObject, ReportedDevice

__all__ = ["compose", "device_statuses", "interface_in"]

# The API's limits for one entry of status.devices, in bytes and addresses.
DATA_MAX: Final = 10 * 1024
IPS_MAX: Final = 16
INTERFACE_NAME_MAX: Final = 256
HARDWARE_ADDRESS_MAX: Final = 128


class _PodData(msgspec.Struct, frozen=True, rename="camel"):
    """What `_shared_data` wrote of a pod, as far as it is read again."""

    uid: str = ""
    name: str = msgspec.field(default="", name="interfaceName")
    hardware_address: str = ""
    ips: tuple[str, ...] = ()


class _SharedData(msgspec.Struct, frozen=True):
    pods: tuple[_PodData, ...] = ()


def compose(
    booking: Booking,
    leases: Iterable[Lease],
    failures: Mapping[DeviceKey, str],
    previous: Report | None,
    now: datetime,
) -> Report:
    """The claim's report. A device of which nothing new is known stays as it was.

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
        if failure is not None or here or device.key in plain:
            reports.append(_device_report(device, here, failure, before.get(device.key), now))
        elif device.key in before:
            reports.append(before[device.key])
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
        since=before.since if before is not None and same else now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        interface=shown.interface if shown is not None else None,
        data=_data(by_name),
    )


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


def _data(attachments: list[Attachment]) -> JsonObject:
    if not attachments:
        return {}
    if len(attachments) > 1:
        return _shared_data(attachments)
    data = attachments[0].data
    size = len(msgspec.json.encode(data))
    if size > DATA_MAX:
        return {
            "omitted": f"the driver's data has {size} bytes; the API accepts at most {DATA_MAX}"
        }
    return data


def _shared_data(attachments: list[Attachment]) -> JsonObject:
    """One entry for each pod, as many as fit."""
    pods: list[JsonObject] = []
    room = DATA_MAX - 64  # for what is around the list
    for attachment in attachments:
        pod = {"name": attachment.pod.name, "uid": attachment.pod.uid}
        pod |= _network_data(attachment.interface)
        room -= len(msgspec.json.encode(pod)) + 1
        if room < 0:
            return {"pods": pods, "omitted": len(attachments) - len(pods)}
        pods.append(pod)
    return {"pods": pods}


def interface_in(reported: ReportedDevice, pod_uid: str) -> Interface | None:
    """The interface that a status lists for one of several pods; None if it does not list it."""
    try:
        listed = msgspec.convert(reported.data, _SharedData).pods
    except msgspec.ValidationError:  # another driver's, or of an earlier version
        return None
    found = next((each for each in listed if each.uid == pod_uid and each.name), None)
    return Interface(found.name, found.hardware_address, found.ips) if found else None


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
    if report.data:
        entry["data"] = report.data
    if network := _network_data(report.interface):
        entry["networkData"] = network
    return entry


def _network_data(interface: Interface | None) -> JsonObject:
    if interface is None:
        return {}
    named: JsonObject = {
        "interfaceName": cut(interface.name, INTERFACE_NAME_MAX),
        "hardwareAddress": cut(interface.hardware_address, HARDWARE_ADDRESS_MAX),
        "ips": list(dict.fromkeys(map(_canonical, interface.ips)))[:IPS_MAX],
    }
    return {key: value for key, value in named.items() if value}


def _canonical(ip: str) -> str:
    """Address and prefix length in the one spelling the API takes."""
    return str(ipaddress.ip_interface(ip))
