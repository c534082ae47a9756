"""What a claim's status says of an interface, and of those of several pods that share a claim.

    data: {cniVersion: 1.0.0, pods: [{name: a, uid: ..., interfaceName: net1, ips: [...]}, ...]}

Promise: within the API's limits whatever the driver says; of more pods than fit, `omitted` counts
the rest. What is listed can be read back. No I/O.
"""

import ipaddress
from typing import Final

import msgspec

from netclaim.framework.logs import cut
from netclaim.model.attachment import Attachment, Interface
from netclaim.model.claim import JsonObject, ReportedDevice

__all__ = ["data_of", "interface_in", "network_data"]

# The API's limits for one entry of status.devices, in bytes and addresses.
DATA_MAX: Final = 10 * 1024
COMMON_MAX: Final = 1024  # of data; a version, a bandwidth and the like, not a list
IPS_MAX: Final = 16
ESCAPED: Final = (b"<", b">", b"&", "\u2028".encode(), "\u2029".encode())  # by Go's encoder
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


def data_of(attachments: list[Attachment]) -> JsonObject:
    """What the driver says of a device; of several pods, a list of them beside what is alike."""
    if not attachments:
        return {}
    if len(attachments) > 1:
        return _shared_data(attachments)
    data = attachments[0].data
    size = _size(data)
    if size > DATA_MAX:
        return {
            "omitted": f"the driver's data has {size} bytes; the API accepts at most {DATA_MAX}"
        }
    return data


def _shared_data(attachments: list[Attachment]) -> JsonObject:
    """One entry for each pod, as many as fit, beside what the driver says of all alike."""
    common = _common([attachment.data for attachment in attachments])
    pods: list[JsonObject] = []
    room = DATA_MAX - 64 - _size(common)  # for what is around the list
    for attachment in attachments:
        pod = {"name": attachment.pod.name, "uid": attachment.pod.uid}
        pod |= network_data(attachment.interface)
        room -= _size(pod) + 1
        if room < 0:
            return {**common, "pods": pods, "omitted": len(attachments) - len(pods)}
        pods.append(pod)
    return {**common, "pods": pods}


def _common(several: list[JsonObject]) -> JsonObject:
    """What is the same in all of them, unless it would take the room of the pods."""
    first, *others = several
    common = {
        key: value
        for key, value in first.items()
        if key not in {"pods", "omitted"} and all(each.get(key) == value for each in others)
    }
    return common if _size(common) <= COMMON_MAX else {}


def _size(value: JsonObject) -> int:
    """How many bytes the API server counts: it writes some characters as six, such as `<`."""
    text = msgspec.json.encode(value)
    longer = sum(text.count(each) * (6 - len(each)) for each in ESCAPED)
    return len(text) + longer


def interface_in(reported: ReportedDevice, pod_uid: str) -> Interface | None:
    """The interface that a status lists for one of several pods; None if it does not list it."""
    try:
        listed = msgspec.convert(reported.data, _SharedData).pods
    except msgspec.ValidationError:  # another driver's, or of an earlier version
        return None
    found = next((each for each in listed if each.uid == pod_uid and each.name), None)
    return Interface(found.name, found.hardware_address, found.ips) if found else None


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
