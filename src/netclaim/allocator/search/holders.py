"""Who holds which device: what claims have in their status, and what was allocated since.

Promise: a device that a claim holds for itself is in use; of a device that claims share, what each
consumes is counted. Holding the same again changes nothing. `changes` grows with every change to a
pool, so that it shows whether what was found out before is still true.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from netclaim.allocator.objects.claim import Claim
from netclaim.model.api.dra.claim import AllocationResult, DeviceResult
from netclaim.model.api.dra.ids import DeviceId, PoolId
from netclaim.model.quantity import Quantity

NOTHING: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class Share:
    """What a claim has of a device that it shares with others."""

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

    def hold(self, claim: Claim, allocation: AllocationResult) -> None:
        """Let a claim have what an allocation gives it; admin access takes nothing from others."""
        for result in allocation.devices.results:
            if result.admin_access:
                continue
            if result.share_id:
                self._share(claim, result)
            else:
                self._claims[result.id] = claim
            pool = result.id.in_pool
            self._changes[pool] = self._changes.get(pool, 0) + 1

    def holder(self, device: DeviceId) -> Claim | None:
        return self._claims.get(device)

    def shares(self, device: DeviceId) -> tuple[Share, ...]:
        return tuple(self._shares.get(device, {}).values())

    def consumed(self, device: DeviceId) -> Mapping[str, int]:
        """Return how much of each capacity is consumed by shares, in billionths."""
        return self._consumed.get(device, NOTHING)

    def shared(self, device: DeviceId) -> bool:
        return device in self._shares

    def in_use(self, device: DeviceId) -> bool:
        """Whether a claim has a device, or a share of it."""
        return device in self._claims or device in self._shares

    def changes(self, pools: Iterable[PoolId]) -> int:
        """Return how often anything has changed in these pools."""
        return sum([self._changes.get(pool, 0) for pool in pools])

    def __contains__(self, device: DeviceId) -> bool:
        return device in self._claims

    def _share(self, claim: Claim, result: DeviceResult) -> None:
        shares = self._shares.setdefault(result.id, {})
        if result.share_id in shares:
            return
        amounts = result.consumed_capacity
        consumed = {name: Quantity.parse(amount) for name, amount in amounts.items()}
        shares[result.share_id] = Share(claim, result.share_id, consumed)
        sums = self._consumed.setdefault(result.id, {})
        for name, amount in consumed.items():
            sums[name] = sums.get(name, 0) + amount.nanos
