"""What a claim's status says about its devices: composed from the journal, put into JSON. Pure.

Promise: within the API's limits whatever the driver says; a condition's transition time changes
only when its status does. Limit: the API has one entry for one device of a claim, so of several
pods on a shared claim the first one's interface is in `networkData` and `data` lists all.
"""

import ipaddress
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from netclaim.framework.logs import brief, cut
from netclaim.framework.records import Booking, DeviceReport, Lease, Report
from netclaim.model.attachment import Attachment, Interface
from netclaim.model.claim import AllocatedDevice, DeviceKey, JsonObject

__all__ = ["compose", "device_statuses", "network_data"]

# The API's limits for one entry of status.devices, in bytes and addresses.
DATA_MAX: Final = 10 * 1024
IPS_MAX: Final = 16
INTERFACE_NAME_MAX: Final = 256
HARDWARE_ADDRESS_MAX: Final = 128


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
    interface = attachments[0].interface if attachments else None
    return DeviceReport(
        device=device,
        ready=ready,
        message=_ready_text(interface) if failure is None else brief(failure),
        since=before.since if before is not None and same else now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        interface=interface,
        data=_data(attachments),
    )


def _ready_text(interface: Interface | None) -> str:
    return f"the device is in the pod as {interface.name}" if interface else "the device is ready"


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
    """One line for each pod, as many as fit."""
    pods: list[JsonObject] = []
    room = DATA_MAX - 64  # for what is around the list
    for attachment in attachments:
        pod = {"name": attachment.pod.name, "uid": attachment.pod.uid}
        pod |= network_data(attachment.interface)
        room -= len(msgspec.json.encode(pod)) + 1
        if room < 0:
            return {"pods": pods, "omitted": len(attachments) - len(pods)}
        pods.append(pod)
    return {"pods": pods}


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
    if network := network_data(report.interface):
        entry["networkData"] = network
    return entry


def network_data(interface: Interface | None) -> JsonObject:
    """An interface as the API has it, within its limits; empty if there is none."""
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
