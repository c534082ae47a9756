"""Adopt: know the node's pods again when the journal was lost.

The journal is on the node's disk, and a disk can be lost: an emptied state directory, a driver that
was installed without one that lasts. What it knew is in the claims, too: their allocation, and in
their status what was attached.

Promise: until the journal is complete, a pod's claims are looked up before anything is decided
about it; a running sandbox is taken to have what its claim's status says. Limit: what ended while
nobody knew of it is not undone, nor is a link that is away in a pod found there again.
"""

from collections.abc import Awaitable, Callable, Mapping

import structlog

from netclaim.errors import HostError, RequestError
from netclaim.framework.contract import NotBegunError
from netclaim.framework.faults import explain
from netclaim.framework.journal import Journal
from netclaim.framework.locks import KeyedLock
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
        unprepare: Callable[[ClaimRef], Awaitable[None]],
    ) -> None:
        self._driver = driver
        self._journal = journal
        self._claims = claims
        self._pods = pods
        self._prepare = prepare
        self._unprepare = unprepare
        self._locks = KeyedLock()

    async def book(self, pod: PodSandbox) -> None:
        """Plan the claims of a pod that the journal lacks. Once it is complete: nothing."""
        if not self._journal.complete:
            async with self._locks.hold(pod.uid):
                await self._planned(pod)

    async def take_over(self, pod: PodSandbox) -> None:
        """Know of a running sandbox again: its plans, and what was attached. Again: nothing."""
        if self._journal.complete:
            return
        async with self._locks.hold(pod.uid):
            for claim in await self._planned(pod):
                booking = self._journal.bookings[claim.uid]
                ready = {each.key: each for each in claim.reported if each.driver == self._driver}
                leases = [
                    lease
                    for lease in _leases(booking, ready, pod)
                    if lease.attachment.key not in self._journal.leases
                ]
                await self._journal.put_leases(leases)
                if claim.uid not in self._journal.reports:
                    await self._journal.put_report(_report(booking, ready))

    async def _planned(self, pod: PodSandbox) -> list[Claim]:
        """The pod's claims on our devices, each planned now if it was not."""
        used = await self._pods.claims_of(pod)
        planned = []
        for name in sorted(used.names) if used is not None else ():
            found = await self._claims.get(ClaimRef(uid="", namespace=pod.namespace, name=name))
            if found is None or pod.uid not in found.pod_uids:
                continue
            claim = found.of_driver(self._driver)
            if not claim.devices:
                continue
            if claim.uid in self._journal.bookings or await self._is_prepared(claim, pod):
                planned.append(claim)
        return planned

    async def _is_prepared(self, claim: Claim, pod: PodSandbox) -> bool:
        """Plan a claim; one that cannot be planned any more is told, and left alone."""
        at = {"claim": claim.name, "namespace": claim.namespace, "pod": pod.name}
        try:
            await self._prepare(claim.ref)
        except (RequestError, HostError, NotBegunError) as error:
            explain("adopt.failed", error, **at)
            await self._unprepare(claim.ref)
            return False
        log.warning("adopt.done", **at)
        return True


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
