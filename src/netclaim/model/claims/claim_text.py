"""Read a claim from the API server's JSON, and of its parameters only those for one driver.

A claim has room for 64 parameters of 10 KiB, in its spec and again in its allocation. A tenant who
fills them with empty lists makes the driver create 200,000 objects, which takes 80 ms in one piece,
the garbage collector's share included; to look over the text takes one.

Promise: what is for other drivers, or for nobody who asks, is never decoded. What is for the driver
is decoded once and an entry at a time, so that a thread that does it lets others work in between.
Parameters that cannot be decoded are replaced by what says so, and the claim is read all the same.
Limit: that the text is JSON throughout is seen only where it is decoded.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from netclaim.json_text import UNREADABLE, fault_of, read_around
from netclaim.model.api.base import FREE, Base, Meta, ObjectError
from netclaim.model.api.dra.claim import (
    AllocatedDevices,
    AllocationResult,
    ClaimSpec,
    ClaimStatus,
    Consumer,
    DeviceClaim,
    DeviceRequest,
    DeviceResult,
    DeviceStatus,
    ResourceClaim,
)
from netclaim.model.api.dra.config import DeviceConfig, OpaqueParameters
from netclaim.model.claims.claim import Claim, ClaimError, claim_of
from netclaim.model.claims.unreadable import LEVELS_ABOVE, stand_in


class _Opaque(Base, frozen=True):
    driver: str
    parameters: msgspec.Raw = msgspec.Raw(b"null")


class _Config(Base, frozen=True):
    source: str = ""
    requests: tuple[str, ...] = ()
    opaque: _Opaque | None = None


class _Request(Base, frozen=True):
    name: str


class _Asked(Base, frozen=True):
    requests: tuple[_Request, ...] = ()
    config: tuple[_Config, ...] = ()


class _Spec(Base, frozen=True):
    devices: _Asked = _Asked()


class _Given(Base, frozen=True):
    results: tuple[DeviceResult, ...] = ()
    config: tuple[_Config, ...] = ()


class _Allocation(Base, frozen=True):
    devices: _Given = _Given()


class _Status(Base, frozen=True):
    allocation: _Allocation | None = None
    reserved_for: tuple[Consumer, ...] = ()
    devices: tuple[DeviceStatus, ...] = ()


class _Text(Base, frozen=True):
    """A ResourceClaim of any served version, with parameters as they were written."""

    metadata: Meta
    spec: _Spec = _Spec()
    status: _Status = _Status()


_text_decoder = msgspec.json.Decoder(_Text)
_parameters_decoder = msgspec.json.Decoder()


def claim_from_text(text: bytes, driver: str = "") -> Claim:
    """Return a claim with the parameters for a driver; without any, if none is named.

    ClaimError if it is none. One of UNREADABLE if the text is not JSON around the parameters.
    """
    try:
        return claim_of(read_claim_text(text, driver))
    except ObjectError as error:
        raise ClaimError("ResourceClaim", error.fault) from error


def read_claim_text(text: bytes, driver: str = "") -> ResourceClaim:
    """Return the same as an object of the API, without what a driver does not need of the spec."""
    try:
        found = _text_decoder.decode(text)
    except UNREADABLE:  # a null, not a claim, or parameters that cannot be looked over
        whole = ResourceClaim.read(read_around(text, FREE, stand_in, levels=LEVELS_ABOVE))
        found = _text_decoder.decode(msgspec.json.encode(whole))
    return _with_parameters(found, driver)


def _with_parameters(found: _Text, driver: str) -> ResourceClaim:
    asked, status = found.spec.devices, found.status
    decoded: dict[bytes, Any] = {}  # what the spec has as well is not decoded again
    allocation = None
    if status.allocation is not None:
        given = status.allocation.devices
        config = _read_configs(given.config, driver, {}, decoded)
        allocation = AllocationResult(AllocatedDevices(given.results, config))
    requests = tuple([DeviceRequest(each.name) for each in asked.requests])
    devices = DeviceClaim(requests, config=_read_configs(asked.config, driver, decoded, {}))
    return ResourceClaim(
        found.metadata,
        ClaimSpec(devices),
        ClaimStatus(allocation, status.reserved_for, status.devices),
    )


def _read_configs(
    entries: Iterable[_Config], driver: str, known: Mapping[bytes, Any], decoded: dict[bytes, Any]
) -> tuple[DeviceConfig, ...]:
    """Decode the driver's entries, unless their text is `known`; all are noted in `decoded`."""
    configs = []
    for entry in entries:
        if entry.opaque is not None and entry.opaque.driver == driver:
            text = bytes(entry.opaque.parameters)
            parameters = known[text] if text in known else _parameters(text)
            decoded[text] = parameters
            opaque = OpaqueParameters(driver, parameters)
            configs.append(DeviceConfig(entry.source, entry.requests, opaque))
    return tuple(configs)


def _parameters(text: bytes) -> Any:
    try:
        return _parameters_decoder.decode(text)
    except UNREADABLE as error:
        return stand_in(fault_of(error))
