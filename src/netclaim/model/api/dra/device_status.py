"""A claim's entry about a device in `status.devices`, in the API's form. No I/O."""

from datetime import datetime

from netclaim.model.api.dra.claim import DeviceReference
from netclaim.model.claims.claim import AllocatedDevice, JsonObject


def device_entry(
    device: AllocatedDevice | DeviceReference, conditions: list[JsonObject]
) -> JsonObject:
    entry: JsonObject = {"driver": device.driver, "pool": device.pool, "device": device.device}
    if device.share_id:
        entry["shareID"] = device.share_id
    entry["conditions"] = conditions
    return entry


def condition(kind: str, *, holds: bool, reason: str, message: str, since: str) -> JsonObject:
    return {
        "type": kind,
        "status": "True" if holds else "False",
        "reason": reason,
        "message": message,
        "lastTransitionTime": since,
    }


def api_time(now: datetime) -> str:
    """A time as the API writes it, to the second."""
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")
