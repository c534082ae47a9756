"""Book: write down that a claim takes its devices, unless it cannot have them.

Promise: no claim gets a device that another one holds, and no pod or namespace gets more devices
than it may have; a claim that is refused for one of these reasons leaves nothing in the journal.
Claims that kubelet forgot are found when they are in somebody's way. Limit: what is released, and
how, is the preparer's.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from netclaim.errors import PeerError, Reason
from netclaim.framework.journal.journal import Journal
from netclaim.framework.journal.records import Booking
from netclaim.framework.prepare.holders import Holders
from netclaim.framework.prepare.limits import Limits, NamespaceFullError
from netclaim.model.claims.claim import Claim
from netclaim.model.on_node.prepared import ClaimRef

# Claims of a full namespace that are looked up at each refusal, for some that kubelet forgot: a few
# requests each time kubelet comes back, and all of them within an hour.
LOOKED_UP: Final = 8


class DeviceBusyError(PeerError):
    """Another claim holds the device; it may be about to be released."""

    why: Reason = "device"


class Booker:
    """Books the devices of claims, one claim at a time."""

    def __init__(
        self,
        journal: Journal,
        holders: Holders,
        limits: Limits,
        release_if_stale: Callable[[ClaimRef], Awaitable[bool]],
    ) -> None:
        """`release_if_stale` undoes a claim that kubelet forgot, and says whether it was one."""
        self._journal = journal
        self._holders = holders
        self._limits = limits
        self._release_if_stale = release_if_stale
        self._lock = asyncio.Lock()
        self._looked_up = 0

    async def book(self, claim: Claim) -> Booking:
        """Write down that the claim takes its devices, unless another claim has one of them.

        One that lost its devices, and that kubelet has not released yet, is released for it.
        """
        booking = Booking.of(claim)
        other = await self._put_unless_held(claim, booking)
        if other is not None and await self._release_if_stale(other):
            other = await self._put_unless_held(claim, booking)
        if other is not None:
            raise DeviceBusyError(f"a device is still held by claim {other.namespace}/{other.name}")
        return booking

    async def _put_unless_held(self, claim: Claim, booking: Booking) -> ClaimRef | None:
        """Put a claim's booking; or return another claim that has one of its devices."""
        try:
            async with self._lock:
                other = self._holders.blocking(claim)
                if other is None:
                    self._limits.check_claim(claim, self._journal.booked)
                    await self._journal.put_booking(booking)
                return other
        except NamespaceFullError:
            await self._release_some_stale(claim.namespace)
            raise

    async def _release_some_stale(self, namespace: str) -> None:
        """Look a few claims of a full namespace up, and at the next call the next ones."""
        refs = [each.claim for each in self._journal.booked.group("namespace", namespace)]
        first = self._looked_up % len(refs)
        self._looked_up += LOOKED_UP
        for ref in (refs[first:] + refs[:first])[:LOOKED_UP]:
            await self._release_if_stale(ref)
