"""What is left of a device's capacities and of its pool's counters, and who has the rest.

Promise: every amount has its owner, so that what is free and what is held add up to the whole,
unless more was given away than there is. It prints as one line. No I/O.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from netclaim.allocator.objects.capacity import Capacity
from netclaim.allocator.objects.claim import Claim, Request
from netclaim.allocator.objects.device import CounterId, Device
from netclaim.allocator.search.holders import Holders
from netclaim.allocator.search.need import Need
from netclaim.allocator.search.pool import Pool
from netclaim.model.api.dra.ids import DeviceId
from netclaim.model.quantity import Quantity


@dataclass(frozen=True, slots=True)
class Part:
    """How much a claim has; of a counter, by which device."""

    claim: Claim | None
    amount: Quantity
    device: DeviceId | None = None

    def said(self, users: str = "") -> str:
        """Return it as text; `users` is who uses the claim."""
        who = f"claim {self.claim}" if self.claim is not None else "another claim"
        comma = "," if users else ""
        by = f" by device {self.device.device}" if self.device is not None else ""
        return f"{who}{users}{comma} has {self.amount}{by}"

    def __str__(self) -> str:
        return self.said()


@dataclass(frozen=True, slots=True)
class Shortage:
    """Too little is left of a capacity, or of a counter that the devices of the pool share."""

    need: str
    left: str
    parts: tuple[Part, ...] = ()  # who has the rest

    def said(self, parts: Iterable[str]) -> str:
        """Return it as text; `parts` is who has the rest, in words."""
        return "; ".join([f"{self.need}, {self.left}", *parts])

    def __str__(self) -> str:
        return self.said(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class Room:
    """What is left of a capacity of a device, and what a request would take of it."""

    name: str
    capacity: Capacity
    free: Quantity
    needed: Quantity
    asked: str = ""  # nothing: the policy's default, or all of it
    parts: tuple[Part, ...] = ()

    @property
    def enough(self) -> bool:
        return self.needed <= self.free

    @property
    def left(self) -> str:
        return f"{self.free} of {self.capacity.value} free"

    @property
    def why_needed(self) -> str:
        """Why the request needs that much."""
        policy = self.capacity.policy
        if not self.asked:
            default = policy is not None and policy.default is not None
            return "the default of its request policy" if default else "all, as nothing is asked"
        if Quantity.parse(self.asked) == self.needed:
            return "as asked"
        return f"{self.asked} rounded up by its request policy: {policy}"

    @property
    def shortage(self) -> Shortage:
        """What is reported if there is not enough."""
        need = f"capacity {self.name}: needs {self.needed} ({self.why_needed})"
        return Shortage(need, self.left, self.parts)


def rooms_of(request: Request, device: Device, need: Need, holders: Holders) -> tuple[Room, ...]:
    """Return what is left of each capacity that a request needs, in the order of publication."""
    held = holders.consumed(device.id)
    asked = dict(request.capacity)
    return tuple(
        Room(
            name=name,
            capacity=device.capacities[name],
            free=_less(device.capacities[name].value, held.get(name, 0)),
            needed=amount,
            asked=asked.get(name, ""),
            parts=tuple(
                Part(share.claim, share.consumed[name])
                for share in holders.shares(device.id)
                if name in share.consumed
            ),
        )
        for name, amount in need.consumed.items()
    )


def counters_short(
    pool: Pool, free: Mapping[CounterId, int], device: Device, holders: Holders
) -> tuple[Shortage, ...]:
    """Return the counters that keep a device from being used: its own, and overdrawn ones."""
    if not device.consumes or (device.shareable and holders.shared(device.id)):
        return ()
    zero = Quantity(0)
    return tuple(
        Shortage(
            f"counter {counter}: needs {device.consumes.get(counter, zero)}",
            f"{replace(total, nanos=free[counter])} of {total} free",
            tuple(_takers(pool, counter, holders)),
        )
        for counter, total in pool.counters.items()
        if free[counter] < device.consumes.get(counter, zero).nanos
    )


def _takers(pool: Pool, counter: CounterId, holders: Holders) -> Iterator[Part]:
    """Yield who has how much of a counter; a shared device takes it once, by its first share."""
    for device in pool.consumers:
        if counter in device.consumes and holders.in_use(device.id):
            shares = holders.shares(device.id)
            claim = holders.holder(device.id) or (shares[0].claim if shares else None)
            yield Part(claim, device.consumes[counter], device.id)


def _less(whole: Quantity, nanos: int) -> Quantity:
    """Return what is left, in the notation of the whole; nothing if more was given away."""
    return replace(whole, nanos=max(0, whole.nanos - nanos))
