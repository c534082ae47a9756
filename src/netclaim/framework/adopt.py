"""Adopt: know the node's pods again when the journal was lost.

The journal is on the node's disk, and a disk can be lost: an emptied state directory, a driver that
was installed without one that lasts. What it knew is in the claims, too: their allocation, and in
their status what was attached.

Promise: until the journal is complete, a pod's claims are looked up before anything is decided
about it; a running sandbox is taken to have what its claim's status says. Limit: what ended while
nobody knew of it is not undone.
"""

from collections.abc import Awaitable, Callable, Mapping

import structlog

from netclaim.framework.journal import Journal
from netclaim.framework.pod_plans import Claims, Pods
from netclaim.framework.records import Booking, DeviceReport, Lease, Report
from netclaim.model.attachment import Attachment, Interface
from netclaim.model.claim import Claim, DeviceKey, ReportedDevice
from netclaim.model.pod import PodSandbox
from netclaim.model.prepared import ClaimRef

__all__ = ["Adopter"]

log = structlog.get_logger()


class Adopter:
    """Fills a new journal from the API server."""

    def __init__(
        self,
        driver: str,
        journal: Journal,
        claims: Claims,
        pods: Pods,
        *,
        prepare: Callable[[ClaimRef], Awaitable[object]],
    ) -> None:
        self._driver = driver
        self._journal = journal
        self._claims = claims
        self._pods = pods
        self._prepare = prepare

    async def book(self, pod: PodSandbox) -> tuple[Claim, ...]:
        """Plan the claims of a pod that the journal lacks; those claims. Once complete: none."""
        if self._journal.complete:
            return ()
        booked = []
        for name in sorted(await self._pods.claims_of(pod) or ()):
            found = await self._claims.get(ClaimRef(uid="", namespace=pod.namespace, name=name))
            if found is None or pod.uid not in found.pod_uids:
                continue
            claim = found.of_driver(self._driver)
            if claim.devices and claim.uid not in self._journal.bookings:
                await self._prepare(claim.ref)
                log.warning("adopt.booked", claim=claim.name, pod=pod.name, uid=claim.uid)
                booked.append(claim)
        return tuple(booked)

    async def take_over(self, pod: PodSandbox) -> None:
        """Know of a running sandbox again: its plans, and what was attached. Again: nothing."""
        for claim in await self.book(pod):
            booking = self._journal.bookings[claim.uid]
            ready = {each.key: each for each in claim.reported if each.driver == self._driver}
            await self._journal.put_report(_report(booking, ready))
            await self._journal.put_leases(_leases(booking, ready, pod))


def _leases(
    booking: Booking, ready: Mapping[DeviceKey, ReportedDevice], pod: PodSandbox
) -> list[Lease]:
    plans = booking.prepared.plans if booking.prepared is not None else ()
    return [
        Lease(
            Attachment(plan, pod, _interface(each), data=each.data),
            state="attached",
        )
        for plan in plans
        if plan.network is not None and (each := ready.get(plan.device.key)) is not None
    ]


def _report(booking: Booking, ready: Mapping[DeviceKey, ReportedDevice]) -> Report:
    """What the status says already, so that it is not written anew as if it had changed."""
    devices = tuple(
        DeviceReport(
            device=device,
            ready=True,
            message=each.message,
            since=each.since,
            interface=_interface(each),
            data=each.data,
        )
        for device in booking.devices
        if (each := ready.get(device.key)) is not None
    )
    return Report(claim=booking.claim, devices=devices, written=True)


def _interface(reported: ReportedDevice) -> Interface | None:
    if not reported.interface_name:
        return None
    return Interface(reported.interface_name, reported.hardware_address, reported.ips)
