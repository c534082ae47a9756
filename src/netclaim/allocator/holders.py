"""Who holds which device: what claims have in their status, and what was allocated since.

Promise: a device that a claim holds for itself is in use until that claim lets go of it. Devices
held with admin access or as a share are in use by nobody. `changes` grows with every change to a
pool, so that what was found out before can be trusted again. Limit: capacity that shares consume
is not counted; this is where it would be.
"""

from collections.abc import Iterable, Iterator

from netclaim.allocator.claim import Claim
from netclaim.allocator.device import DeviceId, PoolId
from netclaim.model.claim import JsonObject

__all__ = ["Holders"]


class Holders:
    """Devices in use, each with the claim that holds it."""

    def __init__(self, claims: Iterable[Claim] = ()) -> None:
        self._claims: dict[DeviceId, Claim] = {}
        self._changes: dict[PoolId, int] = {}
        for claim in claims:
            if claim.allocation is not None:
                self.hold(claim, claim.allocation)

    def hold(self, claim: Claim, allocation: JsonObject) -> None:
        """Let a claim have what an allocation gives it. Again: the same."""
        for device in _exclusive(allocation):
            self._claims[device] = claim
            self._changed(device)

    def release(self, allocation: JsonObject) -> None:
        """Let go of what an allocation gave. Again: nothing happens."""
        for device in _exclusive(allocation):
            self._claims.pop(device, None)
            self._changed(device)

    def holder(self, device: DeviceId) -> Claim | None:
        """Return the claim that holds a device."""
        return self._claims.get(device)

    def changes(self, pools: Iterable[PoolId]) -> int:
        """Return how often anything has changed in these pools."""
        return sum([self._changes.get(pool, 0) for pool in pools])

    def __contains__(self, device: DeviceId) -> bool:
        return device in self._claims

    def _changed(self, device: DeviceId) -> None:
        pool = PoolId(device.driver, device.pool)
        self._changes[pool] = self._changes.get(pool, 0) + 1


def _exclusive(allocation: JsonObject) -> Iterator[DeviceId]:
    """Yield the devices that an allocation takes for itself."""
    for result in (allocation.get("devices") or {}).get("results") or ():
        if not result.get("adminAccess") and not result.get("shareID"):
            yield DeviceId(result["driver"], result["pool"], result["device"])
