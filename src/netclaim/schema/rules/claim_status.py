"""The rules for a claim's status: its allocation, its reservations, what drivers report."""

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from netclaim.model.api.limits import (
    ALLOCATED_CONFIGS_MAX,
    CONDITIONS_MAX,
    HARDWARE_ADDRESS_MAX,
    INTERFACE_NAME_MAX,
    IPS_MAX,
    MESSAGE_MAX,
    REASON_MAX,
    RESERVED_MAX,
    RESULTS_MAX,
)
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Path
from netclaim.schema.refusal import (
    Fault,
    duplicate,
    forbidden,
    invalid,
    missing,
    too_long,
    too_many,
    unsupported,
)
from netclaim.schema.rules.claims import (
    RequestNames,
    check_admin_access,
    check_config,
    check_raw,
    check_request_ref,
    request_names,
)
from netclaim.schema.rules.lists import check_each, check_set
from netclaim.schema.rules.names import (
    check_driver,
    check_label,
    check_label_key,
    check_pool,
    check_uuid,
)

STATUS: Final = ("status",)
ALLOCATION: Final = (*STATUS, "allocation")
RESERVED: Final = (*STATUS, "reservedFor")
DEVICES_MAX: Final = 1 << 20  # the API has no limit of its own; an allocation has

DeviceId = tuple[str, str, str, str]  # driver, pool, device, share


def check_claim_status(
    claim: JsonObject, old: JsonObject, namespace_labels: JsonObject
) -> Iterator[Fault]:
    """The new status of a claim, compared with its old one."""
    status, before = claim.get("status", {}), old.get("status", {})
    names = request_names(claim.get("spec", {}).get("devices", {}))
    allocation, was = status.get("allocation"), before.get("allocation")
    if allocation is not None and was is None:
        yield from _check_admin_results(allocation, namespace_labels)
    reserved = status.get("reservedFor", ())
    yield from check_set(
        reserved,
        RESERVED_MAX,
        RESERVED,
        _check_consumer,
        key=lambda consumer: str(consumer.get("uid", "")),
    )
    allocated = allocated_ids(status)
    yield from check_set(
        status.get("devices", ()),
        DEVICES_MAX,
        (*STATUS, "devices"),
        lambda device, at: _check_device(device, at, allocated),
        key=device_id,
    )
    if reserved and allocation is None:
        yield forbidden(RESERVED, "may not be specified when `allocated` is not set")
    added = [one for one in reserved if one not in before.get("reservedFor", ())]
    if added and allocation is not None and claim["metadata"].get("deletionTimestamp"):
        yield forbidden(RESERVED, "new entries may not be added during deletion")
    if allocation is not None and was is not None:
        if allocation != was:
            yield invalid(ALLOCATION, "<omitted>", "field is immutable")
    elif allocation is not None:
        yield from _check_allocation(allocation.get("devices", {}), names)


def device_id(device: JsonObject) -> DeviceId:
    """What distinguishes a device from others, in a result or a report."""
    keys = ("driver", "pool", "device", "shareID")
    driver, pool, name, share = (str(device.get(key, "")) for key in keys)
    return driver, pool, name, share


def allocated_ids(status: JsonObject) -> set[DeviceId]:
    """The devices of a claim's allocation."""
    results = status.get("allocation", {}).get("devices", {}).get("results", ())
    return {device_id(result) for result in results}


def _check_admin_results(allocation: JsonObject, namespace_labels: JsonObject) -> Iterator[Fault]:
    results = allocation.get("devices", {}).get("results", ())
    asked = {"requests": [{"exactly": result} for result in results]}
    for fault in check_admin_access(asked, namespace_labels, (*ALLOCATION, "devices")):
        path = tuple("results" if step == "requests" else step for step in fault.path)
        yield replace(fault, path=path)


def _check_consumer(consumer: JsonObject, at: Path) -> Iterator[Fault]:
    for key in ("resource", "name", "uid"):
        if not consumer.get(key):
            yield missing((*at, key))


def _check_allocation(devices: JsonObject, names: RequestNames) -> Iterator[Fault]:
    at = (*ALLOCATION, "devices")
    yield from check_each(
        devices.get("results", ()),
        RESULTS_MAX,
        (*at, "results"),
        lambda result, where: _check_result(result, where, names),
    )
    yield from check_each(
        devices.get("config", ()),
        ALLOCATED_CONFIGS_MAX,
        (*at, "config"),
        lambda config, where: _check_allocated_config(config, where, names),
    )


def _check_result(result: JsonObject, at: Path, names: RequestNames) -> Iterator[Fault]:
    yield from check_request_ref(result.get("request", ""), (*at, "request"), names)
    yield from _check_device_id(result, at)


def _check_device_id(device: JsonObject, at: Path) -> Iterator[Fault]:
    yield from check_driver(device.get("driver", ""), (*at, "driver"))
    yield from check_pool(device.get("pool", ""), (*at, "pool"))
    yield from check_label(device.get("device", ""), (*at, "device"))
    if "shareID" in device:
        yield from check_uuid(device["shareID"], (*at, "shareID"))


def _check_allocated_config(config: JsonObject, at: Path, names: RequestNames) -> Iterator[Fault]:
    source = config.get("source", "")
    if not source:
        yield missing((*at, "source"))
    elif source not in ("FromClaim", "FromClass"):
        yield unsupported((*at, "source"), source, ("FromClaim", "FromClass"))
    yield from check_config(config, at, names)


def _check_device(device: JsonObject, at: Path, allocated: set[DeviceId]) -> Iterator[Fault]:
    yield from _check_device_id(device, at)
    if device_id(device) not in allocated:
        yield invalid(at, device_id(device), "must be an allocated device in the claim")
    yield from _check_conditions(device.get("conditions", ()), (*at, "conditions"))
    if "data" in device:
        yield from check_raw(device["data"], (*at, "data"))
    yield from _check_network(device.get("networkData", {}), (*at, "networkData"))


def _check_conditions(conditions: Sequence[JsonObject], at: Path) -> Iterator[Fault]:
    if len(conditions) > CONDITIONS_MAX:
        yield too_many(at, len(conditions), CONDITIONS_MAX)
    seen = set()
    for index, condition in enumerate(conditions):
        where = (*at, index)
        kind = condition.get("type", "")
        if kind in seen:
            yield duplicate(where, kind)
        seen.add(kind)
        yield from _check_condition(condition, where)


def _check_condition(condition: JsonObject, at: Path) -> Iterator[Fault]:
    if kind := condition.get("type"):
        yield from check_label_key(kind, (*at, "type"))
    else:
        yield missing((*at, "type"), "must be set")
    status = condition.get("status", "")
    if not status:
        yield missing((*at, "status"), "must be set")
    elif status not in ("True", "False", "Unknown"):
        yield unsupported((*at, "status"), status, ("False", "True", "Unknown"))
    if not condition.get("lastTransitionTime"):
        yield missing((*at, "lastTransitionTime"), "must be set")
    reason = condition.get("reason", "")
    if not reason:
        yield missing((*at, "reason"), "must be set")
    elif len(reason) > REASON_MAX:
        yield too_long((*at, "reason"), REASON_MAX)
    if len(condition.get("message", "").encode()) > MESSAGE_MAX:
        yield too_long((*at, "message"), MESSAGE_MAX)


def _check_network(data: JsonObject, at: Path) -> Iterator[Fault]:
    for key, limit in (
        ("interfaceName", INTERFACE_NAME_MAX),
        ("hardwareAddress", HARDWARE_ADDRESS_MAX),
    ):
        if len(data.get(key, "").encode()) > limit:
            yield too_long((*at, key), limit)
    yield from check_set(data.get("ips", ()), IPS_MAX, (*at, "ips"), _check_address, key=str)


def _check_address(address: str, at: Path) -> Iterator[Fault]:
    try:
        usual = "/" in address and str(ipaddress.ip_interface(address)) == address
    except ValueError:
        usual = False
    if not usual:
        yield invalid(at, address, "must be an address with its prefix length, in canonical form")
