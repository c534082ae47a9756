"""The annotation in which Multus reports a pod's networks, from the status of the pod's claim.

    [{"name": "default/media-net", "interface": "net1", "ips": ["10.10.1.2"], "mac": "02:…"}]

KubeVirt, agents for policies and people's scripts read it (k8s.v1.cni.cncf.io/network-status, of
the Network Plumbing Working Group). Promise: the entries of others, such as Multus' own for the
pod's default network, stay in front, unless they are too long to be such. The same status gives the
same text. No I/O.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from netclaim.controller.annotated.names import CLAIM_NETWORKS, STATUS_ANNOTATION
from netclaim.controller.annotated.wanted import request_name
from netclaim.json_text import read_json
from netclaim.model.api.dra.claim import DeviceRequest, DeviceStatus, ResourceClaim
from netclaim.model.claims.claim import JsonObject
from netclaim.model.pools.counted_pool import pool_of_class

THERE_MAX: Final = 8 * 1024  # of what is there: Multus' own entry has a few hundred bytes
TEXT_MAX: Final = 128 * 1024  # of the result; an object's annotations may have 256 KiB
DEFAULT_ROUTES: Final = ("0.0.0.0/0", "::/0")
DEVICE_INFO: Final = "1.1.0"  # the version of the device information specification
INDENT: Final = 4  # as Multus writes it, for those who look


def mirrored(claim: JsonObject, annotations: JsonObject) -> str | None:
    """Return the text that a pod's annotation should have; None as long as a network is missing."""
    found = ResourceClaim.read(claim)
    asked = sum(not any(map(pool_of_class, _classes(one))) for one in found.spec.devices.requests)
    # The pod's author may have changed the claim's annotation.
    names = str(found.metadata.annotations.get(CLAIM_NETWORKS, "")).split(",", asked)[:asked]
    requests = {request_name(index): name for index, name in enumerate(names)}
    own = list(_entries(found, requests))
    if len(own) < asked:
        return None
    others = [each for each in _there(annotations) if each.get("name") not in names]
    text = _text([*others, *own])
    return text if len(text) <= TEXT_MAX else _text(own)


def _classes(request: DeviceRequest) -> Iterator[str]:
    """The classes that a request asks for: that of an address is a pool's, and is no network."""
    return (one.device_class_name for one in request.alternatives)


def _text(entries: list[JsonObject]) -> str:
    return json.dumps(entries, indent=INDENT, ensure_ascii=False)


def _entries(claim: ResourceClaim, requests: dict[str, str]) -> Iterator[JsonObject]:
    for result in sorted(claim.status.results, key=lambda each: _number(each.request, requests)):
        report = claim.status.report_of(result)
        if report is None or not report.network_data.interface_name:
            continue
        if report.ready is None or report.ready.status != "True":
            continue
        yield _entry(requests.get(result.request, result.request), report)


def _number(request: str, requests: dict[str, str]) -> int:
    return list(requests).index(request) if request in requests else len(requests)


def _entry(name: str, report: DeviceStatus) -> JsonObject:
    data = report.network_data
    entry: JsonObject = {"name": name, "interface": data.interface_name}
    if data.ips:
        entry["ips"] = [each.partition("/")[0] for each in data.ips]
    if data.hardware_address:
        entry["mac"] = data.hardware_address
    more: JsonObject = report.data if isinstance(report.data, dict) else {}
    if isinstance(mtu := more.get("mtu"), int) and mtu > 0:
        entry["mtu"] = mtu
    dns = more.get("dns")
    entry |= {"default": False, "dns": dns if isinstance(dns, dict) else {}}
    if gateways := list(_gateways(more.get("routes"))):
        entry["gateway"] = gateways
    if isinstance(pci := more.get("pciAddress"), str) and pci:
        device: JsonObject = {"pci-address": pci}
        entry["device-info"] = {"type": "pci", "version": DEVICE_INFO, "pci": device}
    return entry


def _gateways(routes: Any) -> Iterator[str]:
    """Yield the gateways of default routes, of which Multus writes these, and of no others."""
    for route in routes if isinstance(routes, list) else ():
        if isinstance(route, dict) and route.get("dst") in DEFAULT_ROUTES and route.get("gw"):
            yield str(route["gw"])


def _there(annotations: JsonObject) -> list[JsonObject]:
    """Return what the annotation has already; nothing if that is long or cannot be read."""
    text = annotations.get(STATUS_ANNOTATION, "")
    if not text or len(text) > THERE_MAX:
        return []
    try:
        found: Any = read_json(text)
    except ValueError:
        return []
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
