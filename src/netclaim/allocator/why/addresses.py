"""Why a request for an address has none: its pool is full, or not to be used. No I/O."""

from collections.abc import Iterable

from netclaim.allocator.why.reason import DeviceReport, RequestReport, Tainted
from netclaim.allocator.why.shortage import Shortage
from netclaim.model.pools.counted_pool import pool_of, pool_of_class


def addresses_short(found: Iterable[RequestReport]) -> str:
    """Say why a request for an address has none, on all nodes alike; empty for any other request.

    A pool is the same device on every node.
    """
    for request in found:
        pool = pool_of_class(request.request.class_name)
        if not pool:
            return ""
        for device in request.devices:
            if pool_of(device.device.pool) == pool:
                return f"the pool {pool} {_reason(device)}"
        return f"the pool {pool} is not offered; is there an AddressPool of this name?"
    return ""


def _reason(device: DeviceReport) -> str:
    for reason in device.reasons:
        if isinstance(reason, Tainted) and reason.taint.value:
            return f"is not to be used: {reason.taint.value}"
        if isinstance(reason, Shortage):
            count = len(reason.parts)
            return f"has no free address: {count} claim{'s' * (count != 1)} have one, {reason.left}"
    return f"has no address for it: {'; '.join(map(str, device.reasons))}"
