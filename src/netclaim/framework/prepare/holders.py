"""Who holds what of the node: the claim that keeps another one from its devices.

The scheduler decides who gets a device; this is the last line of defence against its races and
against claims that were never released. Promise: to find such a claim takes as long as there are
devices in the one that asks, however many others are held. No I/O.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from netclaim.framework.contract import Hold
from netclaim.framework.journal.records import Booking
from netclaim.model.claims.claim import AllocatedDevice, Claim
from netclaim.model.on_node.prepared import ClaimRef


@dataclass(slots=True)
class _Thing:
    """The claims that hold a thing, by UID."""

    holding: dict[str, ClaimRef] = field(default_factory=dict)
    whole: dict[str, ClaimRef] = field(default_factory=dict)  # of these, those that have all of it


class Holders:
    """Follows the bookings."""

    def __init__(self, holds: Callable[[AllocatedDevice], Sequence[Hold]]) -> None:
        """`holds` says what a claim with a device holds."""
        self._holds = holds
        self._things: dict[tuple[str, ...], _Thing] = {}

    def note(self, before: Booking | None, after: Booking | None) -> None:
        """A booking has changed."""
        if before is not None and after is not None and before.devices is after.devices:
            return
        if before is not None:
            self._forget(before)
        if after is not None:
            self._learn(after)

    def blocking(self, claim: Claim) -> ClaimRef | None:
        """Another claim that keeps this one from one of its devices, if there is any."""
        for hold in self._of(claim.devices):
            thing = self._things.get(hold.thing)
            if thing is None:
                continue
            others = thing.holding if hold.whole else thing.whole
            for other in others.values():
                if other.uid != claim.uid:
                    return other
        return None

    def _learn(self, booking: Booking) -> None:
        for hold in self._of(booking.devices):
            thing = self._things.setdefault(hold.thing, _Thing())
            thing.holding[booking.claim.uid] = booking.claim
            if hold.whole:
                thing.whole[booking.claim.uid] = booking.claim

    def _forget(self, booking: Booking) -> None:
        for name in {hold.thing for hold in self._of(booking.devices)}:
            thing = self._things[name]
            del thing.holding[booking.claim.uid]
            thing.whole.pop(booking.claim.uid, None)
            if not thing.holding:
                del self._things[name]

    def _of(self, devices: Iterable[AllocatedDevice]) -> list[Hold]:
        return [hold for device in devices for hold in self._holds(device)]
