"""Claims that wait for binding conditions, and the verdicts on them in the API's form. No I/O.

Promise: a claim waits if a device of the driver on this node has binding conditions and the claim's
status says neither that they hold nor that one of the failure conditions does.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from netclaim.errors import NetclaimError, reason_of
from netclaim.framework.telemetry.logs import brief
from netclaim.model.api.dra.claim import ClaimStatus, DeviceResult
from netclaim.model.api.dra.device_status import api_time, condition, device_entry
from netclaim.model.claims.claim import Claim, JsonObject
from netclaim.model.claims.claim_text import claim_from_text, read_claim_text

PASSED: Final = "the claim can be served on this node"


class Awaited(msgspec.Struct, frozen=True):
    """A claim that waits for conditions, with this driver's devices of this node only."""

    claim: Claim
    devices: tuple[DeviceResult, ...]


def awaited_of(text: bytes, driver: str, pool: str) -> Awaited | None:
    """The claim if it waits for conditions on this node; None otherwise.

    Only then its parameters are decoded. Raises what `claim_text` does.
    """
    found = read_claim_text(text)
    devices = tuple(
        each
        for each in found.status.results
        if (each.driver, each.pool) == (driver, pool) and each.binding_conditions
    )
    if not devices or _is_decided(found.status, devices):
        return None
    claim = claim_from_text(text, driver).of_driver(driver)
    mine = tuple(device for device in claim.devices if device.pool == pool)
    return Awaited(msgspec.structs.replace(claim, devices=mine), devices)


def verdict_entries(awaited: Awaited, error: Exception | None, now: datetime) -> list[JsonObject]:
    """The entries of status.devices that say how the check went.

    An error about one device is reported on that device only; one failure is enough for the
    scheduler.
    """
    failed = error.device if isinstance(error, NetclaimError) else None
    reason, text = "Passed", PASSED
    if error is not None:
        reason, text = reason_of(error).capitalize(), brief(str(error) or type(error).__name__)
    entries = []
    for device in awaited.devices:
        if error is None:
            names = device.binding_conditions
        elif failed in {None, device.key}:
            names = device.binding_failure_conditions
        else:
            continue
        conditions = [
            condition(name, holds=True, reason=reason, message=text, since=api_time(now))
            for name in names
        ]
        entries.append(device_entry(device, conditions))
    return entries


def _is_decided(status: ClaimStatus, devices: Sequence[DeviceResult]) -> bool:
    reports = [(each, status.report_of(each)) for each in devices]
    said = [(each, report.true.keys() if report else ()) for each, report in reports]
    if any(name in true for each, true in said for name in each.binding_failure_conditions):
        return True
    return all(name in true for each, true in said for name in each.binding_conditions)
