"""Parameters for a driver, and for which requests their author wrote them.

An allocation repeats the configuration of the claim. Since Kubernetes 1.37 the scheduler clears
`requests` there where an entry covers all requests, so that in a claim with one request an entry
for everything and one for that request look alike. The claim's spec still distinguishes them: it
never changes, and entries keep their order.

Promise: an entry of an older scheduler comes out as it is. So does an entry that is not in the
spec, and it is for all requests. Parameters are nested less deeply than a walk can follow; of those
that cannot be read, `unreadable` says why. No I/O.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec

from netclaim.model.api.base import JsonObject, ObjectError
from netclaim.model.api.dra.claim import AllocatedDevices
from netclaim.model.api.dra.config import DeviceConfig, OpaqueParameters
from netclaim.model.claims.unreadable import bounded, why_unreadable


class OpaqueConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """Parameters for a driver, from the device class (an admin) or from the claim (a user).

    The `requests` of a claim's are as in its spec, whatever the scheduler made of them.
    """

    source: Literal["FromClass", "FromClaim"]
    driver: str
    parameters: JsonObject
    requests: tuple[str, ...] = ()

    @property
    def unreadable(self) -> str:
        """Why the parameters cannot be read, and are not here; empty if they are."""
        return why_unreadable(self.parameters)

    def applies_to(self, request: str) -> bool:
        """Whether it is meant for a request; one that names no request is meant for all."""
        base = request.partition("/")[0]
        return not self.requests or request in self.requests or base in self.requests


def opaque_configs(
    allocated: AllocatedDevices, spec: Sequence[DeviceConfig]
) -> tuple[OpaqueConfig, ...]:
    """Return the parameters in an allocation; `spec` is the configuration in the claim's spec."""
    chosen = [result.request for result in allocated.results]
    names = {*chosen, *[request.partition("/")[0] for request in chosen]}
    # What is for alternatives that were not chosen is not in the allocation.
    written = [
        (one.requests, _bounded(one.opaque))
        for one in spec
        if not one.requests or not names.isdisjoint(one.requests)
    ]
    return tuple(
        [_config(entry, written) for entry in allocated.config if entry.opaque is not None]
    )


def _config(
    entry: DeviceConfig, written: list[tuple[tuple[str, ...], OpaqueParameters | None]]
) -> OpaqueConfig:
    """Return an entry as it was written; takes it, and what is before it, from the list."""
    opaque, requests = _bounded(entry.opaque), entry.requests
    if opaque is None or not isinstance(opaque.parameters, dict):
        raise ObjectError("ResourceClaim", "opaque parameters are not an object")
    if entry.source == "FromClass":
        return OpaqueConfig("FromClass", opaque.driver, opaque.parameters, requests)
    for position, (meant, theirs) in enumerate(written):
        if opaque == theirs and (not requests or requests == meant):
            requests = meant
            del written[: position + 1]
            break  # without a break it is there once more for its next request, as before 1.37
    return OpaqueConfig("FromClaim", opaque.driver, opaque.parameters, requests)


def _bounded(opaque: OpaqueParameters | None) -> OpaqueParameters | None:
    if opaque is None:
        return None
    return msgspec.structs.replace(opaque, parameters=bounded(opaque.parameters))
