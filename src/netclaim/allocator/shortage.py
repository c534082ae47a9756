"""What is left of a device's capacities and of its pool's counters, and who has the rest.

Promise: every amount with its owner, so that the sum of what is free and what is held is the whole,
unless more was given away than there is. Prints as one line. No I/O.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from netclaim.allocator.capacity import Capacity, Shortfall
from netclaim.allocator.claim import Claim, Request
from netclaim.allocator.device import CounterId, Device, DeviceId
from netclaim.allocator.holders import Holders
from netclaim.allocator.need import Need
from netclaim.allocator.pool import Pool
from netclaim.model.quantity import Quantity

__all__ = ["CounterShort", "Part", "Room", "TooSmall", "UsedUp", "counters_short", "rooms_of"]


@dataclass(frozen=True, slots=True)
class Part:
    """How much a claim has; of a counter, by which device."""

    claim: Claim | None
    amount: Quantity
    device: DeviceId | None = None

    def said(self, users: str = "") -> str:
        """Say it; `users` is who uses the claim."""
        who = f"claim {self.claim}" if self.claim is not None else "another claim"
        comma = "," if users else ""
        by = f" by device {self.device.device}" if self.device is not None else ""
        return f"{who}{users}{comma} has {self.amount}{by}"

    def __str__(self) -> str:
        return self.said()


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
        """Whether there is as much left as is needed."""
        return self.needed <= self.free

    @property
    def left(self) -> str:
        """How much is left."""
        return f"{self.free} of {self.capacity.value} free"

    @property
    def why_needed(self) -> str:
        """How the request came to need so much."""
        policy = self.capacity.policy
        if not self.asked:
            default = policy is not None and policy.default is not None
            return "the default of its request policy" if default else "all, as nothing is asked"
        if Quantity.parse(self.asked) == self.needed:
            return "as asked"
        return f"{self.asked} rounded up by its request policy: {policy}"

    def __str__(self) -> str:
        return "; ".join([self.left, *map(str, self.parts)])


@dataclass(frozen=True, slots=True)
class TooSmall:
    """The device could not serve the request even if nobody else had it."""

    shortfall: Shortfall

    def __str__(self) -> str:
        return str(self.shortfall)


@dataclass(frozen=True, slots=True)
class UsedUp:
    """Other claims have so much of a capacity that too little is left."""

    room: Room

    def __str__(self) -> str:
        return "; ".join([f"{self.need}, {self.left}", *map(str, self.parts)])

    @property
    def need(self) -> str:
        """What is needed."""
        room = self.room
        return f"capacity {room.name}: needs {room.needed} ({room.why_needed})"

    @property
    def left(self) -> str:
        """What is left."""
        return self.room.left

    @property
    def parts(self) -> tuple[Part, ...]:
        """Who has the rest."""
        return self.room.parts


@dataclass(frozen=True, slots=True)
class CounterShort:
    """Too little is left of a counter that the devices of the pool share."""

    counter: CounterId
    needed: Quantity
    free: Quantity
    total: Quantity
    parts: tuple[Part, ...] = ()

    @property
    def need(self) -> str:
        """What is needed."""
        return f"counter {self.counter}: needs {self.needed}"

    @property
    def left(self) -> str:
        """What is left."""
        return f"{self.free} of {self.total} free"

    def __str__(self) -> str:
        return "; ".join([f"{self.need}, {self.left}", *map(str, self.parts)])


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
) -> tuple[CounterShort, ...]:
    """Return the counters that are in the way of a device: its own, and overdrawn ones."""
    if not device.consumes or (device.shareable and holders.shared(device.id)):
        return ()
    zero = Quantity(0)
    return tuple(
        CounterShort(
            counter,
            device.consumes.get(counter, zero),
            replace(pool.counters[counter], nanos=left),
            pool.counters[counter],
            tuple(_takers(pool, counter, holders)),
        )
        for counter, left in free.items()
        if left < device.consumes.get(counter, zero).nanos
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
