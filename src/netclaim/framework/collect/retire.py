"""Retire: the end of a driver that will not come back to its node.

A driver that ends leaves everything in place for the next one. One whose DaemonSet was deleted has
no next one: `netclaim driver retire` says so, before kubelet ends the pod. It then prepares no more
claims, and goes on releasing those it has until their pods have ended, which kubelet could not end
otherwise.

Promise: pods keep what they have. A newer process that takes the seat ends the retirement: the
driver came back. Limit: how long it may last is decided by kubelet, which ends the process.
"""

import asyncio
from collections.abc import Collection, Iterable
from typing import Final

import structlog

from netclaim.framework.journal.records import Booking, Lease

log = structlog.get_logger()

# Kubelet removes the slices of a driver that has been away for 30 s. It does so itself: after an
# uninstall the driver has no right to.
AWAY_S: Final = 40.0
REASON: Final = "the driver is being uninstalled and prepares no more claims on this node"


class Retirement:
    """Whether this process is to be the driver's last on the node."""

    def __init__(self) -> None:
        self._begun = asyncio.Event()
        self.away = False  # whether kubelet has removed the slices, and may find us again
        self.done = False  # whether nothing was left to release when the work ended

    @property
    def begun(self) -> bool:
        return self._begun.is_set()

    async def wait(self) -> None:
        await self._begun.wait()

    async def wait_to_leave(self) -> None:
        """Return when kubelet should not find the driver for a while, which happens once."""
        await self._begun.wait()
        if self.away:
            await asyncio.Event().wait()

    def begin(self, held: Iterable[str]) -> None:
        """Prepare no more claims from now on. `held` is what is still to be released."""
        if not self.begun:
            log.warning("retire.begun", held=sorted(held))
            self._begun.set()

    def refusal(self) -> str:
        """Why a new claim is not prepared; empty if it may be."""
        return REASON if self.begun else ""

    def end(self, bookings: Collection[object], leases: Collection[object]) -> None:
        """Note, as the work ends, whether anything is still to be released."""
        self.done = self.begun and not bookings and not leases

    def cancel(self) -> None:
        """A newer process does the work, so this one was not the last."""
        self._begun.clear()
        self.away = self.done = False


def holdings(bookings: Iterable[Booking], leases: Iterable[Lease]) -> tuple[str, ...]:
    """What has to be released before the driver may leave, one line each."""
    claims = {f"claim {each.claim.namespace}/{each.claim.name}" for each in bookings}
    pods = {
        f"interface of pod {each.attachment.pod.namespace}/{each.attachment.pod.name}"
        for each in leases
    }
    return (*sorted(claims), *sorted(pods))
