"""Claims that wait for conditions, and the verdicts on them as the API has them. Pure.

Promise: a claim waits if a device of ours on this node has binding conditions and the claim's
status says neither that they hold nor that one of the failure conditions does.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from netclaim.errors import NetclaimError, reason_of
from netclaim.framework.logs import brief
from netclaim.model.claim import Claim, DeviceKey, JsonObject, parse_claim

__all__ = ["Awaited", "AwaitedDevice", "awaited_of", "verdict_entries"]

PASSED: Final = "the claim can be served on this node"


class AwaitedDevice(msgspec.Struct, frozen=True):
    """A device, and the conditions that its claim waits for."""

    pool: str
    device: str
    share_id: str
    conditions: tuple[str, ...]
    failures: tuple[str, ...]

    @property
    def key(self) -> DeviceKey:
        """As errors and other devices have it."""
        return (self.pool, self.device, self.share_id)


class Awaited(msgspec.Struct, frozen=True):
    """A claim that waits, with this driver's devices of this node only."""

    claim: Claim
    driver: str
    devices: tuple[AwaitedDevice, ...]


def awaited_of(obj: Mapping[str, Any], driver: str, pool: str) -> Awaited | None:
    """What a claim waits for on this node; None: nothing, or nothing any more."""
    status = obj.get("status") or {}
    allocated = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
    devices = tuple(
        AwaitedDevice(
            pool=each["pool"],
            device=each["device"],
            share_id=each.get("shareID") or "",
            conditions=tuple(each["bindingConditions"]),
            failures=tuple(each.get("bindingFailureConditions") or ()),
        )
        for each in allocated
        if (each["driver"], each["pool"]) == (driver, pool) and each.get("bindingConditions")
    )
    if not devices or _is_decided(status.get("devices") or (), driver, devices):
        return None
    claim = parse_claim(obj).of_driver(driver)
    mine = tuple(device for device in claim.devices if device.pool == pool)
    return Awaited(msgspec.structs.replace(claim, devices=mine), driver, devices)


def verdict_entries(awaited: Awaited, error: Exception | None, now: datetime) -> list[JsonObject]:
    """The entries of status.devices that say how the check went.

    An error about one device is said on that one, and the others say nothing: one failure is enough
    for the scheduler.
    """
    failed = error.device if isinstance(error, NetclaimError) else None
    entries = []
    for device in awaited.devices:
        if error is None:
            conditions = [_condition(name, "Passed", PASSED, now) for name in device.conditions]
        elif failed in {None, device.key}:
            reason = reason_of(error).capitalize()
            text = brief(str(error) or type(error).__name__)
            conditions = [_condition(name, reason, text, now) for name in device.failures]
        else:
            continue
        entry: JsonObject = {
            "driver": awaited.driver,
            "pool": device.pool,
            "device": device.device,
            "conditions": conditions,
        }
        if device.share_id:
            entry["shareID"] = device.share_id
        entries.append(entry)
    return entries


def _is_decided(
    reported: Sequence[Mapping[str, Any]], driver: str, devices: Sequence[AwaitedDevice]
) -> bool:
    said = {
        (entry["pool"], entry["device"], entry.get("shareID") or ""): {
            each["type"] for each in entry.get("conditions") or () if each["status"] == "True"
        }
        for entry in reported
        if entry["driver"] == driver
    }
    if any(said.get(device.key, set()) & set(device.failures) for device in devices):
        return True
    return all(set(device.conditions) <= said.get(device.key, set()) for device in devices)


def _condition(name: str, reason: str, message: str, now: datetime) -> JsonObject:
    return {
        "type": name,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
