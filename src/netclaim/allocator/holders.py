"""Who holds which device: what claims have in their status, and what was allocated since.

Promise: a device that a claim holds for itself is in use until that claim lets go of it; of a
device that claims share, what each consumes is counted. Admin access holds nothing. `changes`
grows with every change to a pool, so that what was found out before can be trusted again.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from netclaim.allocator.claim import Claim
from netclaim.allocator.device import DeviceId, PoolId
from netclaim.model.claim import JsonObject
from netclaim.model.quantity import Quantity

__all__ = ["Holders", "Share"]

NOTHING: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class Share:
    """What a claim has of a device that others can have too."""

    claim: Claim
    id: str
    consumed: Mapping[str, Quantity]


class Holders:
    """Devices in use, each with the claim that holds it or the claims that share it."""

    def __init__(self, claims: Iterable[Claim] = ()) -> None:
        self._claims: dict[DeviceId, Claim] = {}
        self._shares: dict[DeviceId, dict[str, Share]] = {}
        self._consumed: dict[DeviceId, dict[str, int]] = {}  # the sum over its shares
        self._changes: dict[PoolId, int] = {}
        for claim in claims:
            if claim.allocation is not None:
                self.hold(claim, claim.allocation)

    def hold(self, claim: Claim, allocation: JsonObject) -> None:
        """Let a claim have what an allocation gives it. Again: the same."""
        for device, result in _held(allocation):
            if result.get("shareID"):
                self._share(device, claim, result)
            else:
                self._claims[device] = claim
            self._changed(device)

    def release(self, allocation: JsonObject) -> None:
        """Let go of what an allocation gave. Again: nothing happens."""
        for device, result in _held(allocation):
            if result.get("shareID"):
                self._unshare(device, result["shareID"])
            else:
                self._claims.pop(device, None)
            self._changed(device)

    def holder(self, device: DeviceId) -> Claim | None:
        """Return the claim that holds a device for itself."""
        return self._claims.get(device)

    def shares(self, device: DeviceId) -> tuple[Share, ...]:
        """Return what claims have of a device that they share."""
        return tuple(self._shares.get(device, {}).values())

    def consumed(self, device: DeviceId) -> Mapping[str, int]:
        """Return how much of each capacity is consumed by shares, in billionths."""
        return self._consumed.get(device, NOTHING)

    def shared(self, device: DeviceId) -> bool:
        """Whether a claim has a share of a device."""
        return device in self._shares

    def in_use(self, device: DeviceId) -> bool:
        """Whether a claim has a device, or a share of it."""
        return device in self._claims or device in self._shares

    def changes(self, pools: Iterable[PoolId]) -> int:
        """Return how often anything has changed in these pools."""
        return sum([self._changes.get(pool, 0) for pool in pools])

    def __contains__(self, device: DeviceId) -> bool:
        return device in self._claims

    def _share(self, device: DeviceId, claim: Claim, result: Mapping[str, Any]) -> None:
        self._unshare(device, result["shareID"])
        amounts = result.get("consumedCapacity") or {}
        consumed = {name: Quantity.parse(amount) for name, amount in amounts.items()}
        share = Share(claim, result["shareID"], consumed)
        self._shares.setdefault(device, {})[share.id] = share
        self._count(device, share, 1)

    def _unshare(self, device: DeviceId, share_id: str) -> None:
        shares = self._shares.get(device, {})
        share = shares.pop(share_id, None)
        if share is None:
            return
        self._count(device, share, -1)
        if not shares:
            del self._shares[device]
            del self._consumed[device]

    def _count(self, device: DeviceId, share: Share, times: int) -> None:
        sums = self._consumed.setdefault(device, {})
        for name, amount in share.consumed.items():
            sums[name] = sums.get(name, 0) + times * amount.nanos

    def _changed(self, device: DeviceId) -> None:
        pool = device.in_pool
        self._changes[pool] = self._changes.get(pool, 0) + 1


def _held(allocation: JsonObject) -> Iterator[tuple[DeviceId, Mapping[str, Any]]]:
    """Yield what an allocation takes from others: all but what is for admin access."""
    for result in (allocation.get("devices") or {}).get("results") or ():
        if not result.get("adminAccess"):
            yield DeviceId(result["driver"], result["pool"], result["device"]), result
