"""What a claim's status says of an interface, and of those of several pods that share a claim.

    data: {cniVersion: 1.0.0, pods: [{name: a, uid: ..., interfaceName: net1, ips: [...]}, ...]}

Promise: always within the API's limits; of more pods than fit, `omitted` counts the rest. What is
listed can be read back. No I/O.
"""

import ipaddress
from typing import Final

import msgspec

from netclaim.model.api.dra.claim import SharedData
from netclaim.model.api.limits import HARDWARE_ADDRESS_MAX, INTERFACE_NAME_MAX, IPS_MAX, RAW_MAX
from netclaim.model.claims.claim import JsonObject, ReportedDevice
from netclaim.model.on_node.attachment import Attachment, Interface
from netclaim.model.text import cut

COMMON_MAX: Final = 1024  # of data; a version, a bandwidth and the like, not a list
ESCAPED: Final = (b"<", b">", b"&", "\u2028".encode(), "\u2029".encode())  # by Go's encoder


def data_of(attachments: list[Attachment]) -> JsonObject:
    """What the driver says of a device; of several pods, a list of them beside what is alike."""
    if not attachments:
        return {}
    if len(attachments) > 1:
        return _shared_data(attachments)
    data = attachments[0].data
    size = _size(data)
    if size > RAW_MAX:
        return {"omitted": f"the driver's data has {size} bytes; the API accepts at most {RAW_MAX}"}
    return data


def _shared_data(attachments: list[Attachment]) -> JsonObject:
    """One entry for each pod, as many as fit, beside what the driver says of all alike."""
    common = _common([attachment.data for attachment in attachments])
    pods: list[JsonObject] = []
    room = RAW_MAX - 64 - _size(common)  # for what is around the list
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
    listed = SharedData.find(reported.data).pods
    found = next((each for each in listed if each.uid == pod_uid and each.interface_name), None)
    return Interface(found.interface_name, found.hardware_address, found.ips) if found else None


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
