"""Adopt: know the node's pods again when the journal was lost.

The journal is on the node's disk, and a disk can be lost: an emptied state directory, a driver that
was installed without one that lasts. What it knew is in the claims, too: their allocation, and in
their status what was attached, unless that was not written yet: then the driver may know.

Promise: until the journal is complete, and for a while after the release of a claim that a pod may
name, the claims of a pod that is not known are looked up before anything is decided about it; a
running sandbox that still has what its claim's status says is taken to have it from us. Pods that
cannot have claims, or no interfaces, wait for nobody. Limit: what ended while nobody knew of it is
left to `collect`; a claim that cannot be planned any more, or whose link is away, is told and left
alone.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

import structlog

from netclaim.errors import RequestError
from netclaim.framework.attach import Attacher
from netclaim.framework.contract import NotBegunError
from netclaim.framework.fairness import HookTime
from netclaim.framework.journal import Journal
from netclaim.framework.locks import KeyedLock
from netclaim.framework.logs import explain
from netclaim.framework.pod_plans import PODS_KEPT, Claims, Pods, ReleasedLately
from netclaim.framework.records import Booking, DeviceReport, Report
from netclaim.framework.status_data import interface_in
from netclaim.framework.subject import claim_fields, pod_fields
from netclaim.model.attachment import Attachment, Interface
from netclaim.model.claim import Claim, DeviceKey, ReportedDevice
from netclaim.model.plan import Plan
from netclaim.model.pod import PodSandbox
from netclaim.model.prepared import ClaimRef

__all__ = ["Adopter", "Planner"]

log = structlog.get_logger()


class Planner(Protocol):
    """What plans claims."""

    async def adopt(self, ref: ClaimRef, *, ending: bool) -> None:
        """Plan a claim, or raise and leave no trace. Again: nothing.

        `ending`: unless it is known, kubelet has released it already.
        """
        ...

    async def settle(self, ref: ClaimRef) -> None:
        """Plan a claim that is owed, or raise why it cannot be. Again: nothing."""
        ...


class Adopter:
    """Fills a new journal from the API server."""

    def __init__(
        self,
        driver: str,
        journal: Journal,
        attacher: Attacher,
        claims: Claims,
        pods: Pods,
        *,
        planner: Planner,
        released: ReleasedLately,
        hook_time: HookTime,
    ) -> None:
        self._driver = driver
        self._journal = journal
        self._attacher = attacher
        self._claims = claims
        self._pods = pods
        self._planner = planner
        self._released = released
        self._hook_time = hook_time
        self._known: dict[str, None] = {}  # UIDs of pods that were looked up; oldest first
        self._planning: dict[str, str] = {}  # by sandbox, the claim that is planned or failed to be
        self._locks = KeyedLock()
        self.blind = False  # whether a pod may not be read: then it cannot be known what runs

    async def book(self, pod: PodSandbox) -> None:
        """Plan the claims of a pod whose sandbox is made. Again, or once complete: nothing."""
        await self._settle_owed(pod)
        if self._is_known(pod):
            return
        async with self._locks.hold(pod.uid):
            for claim in await self._claims_of(pod):
                await self._plan_for(pod, claim, hooked=True)
            self._note(pod)

    async def take_over(self, pod: PodSandbox, *, hooked: bool = False) -> None:
        """Know of a running sandbox: its plans, and what it has. Again: nothing.

        `hooked`: the runtime waits, as it always does in `book`.
        """
        await self._settle_owed(pod)
        if self._is_known(pod):
            return
        async with self._locks.hold(pod.uid):
            for claim in await self._claims_of(pod):
                booking = await self._planned(claim, pod, hooked=hooked)
                if booking is not None:
                    mine = (each for each in claim.reported if each.driver == self._driver)
                    ready = {each.key: each for each in mine}
                    if claim.uid not in self._journal.reports:
                        await self._journal.put_report(_report(booking, ready))
                    plans = _network_plans(booking)
                    shared = claim.pod_uids != {pod.uid}
                    await self._attacher.take_over(
                        pod,
                        _attachments(plans, ready, pod, shared=shared),
                        [plan for plan in plans if shared or plan.device.key not in ready],
                    )
            self._note(pod)

    def pop_failed(self, sandbox_id: str) -> frozenset[str] | None:
        """The claim whose planning made the last call for a sandbox fail. Again: None."""
        claim_uid = self._planning.pop(sandbox_id, None)
        return None if claim_uid is None else frozenset({claim_uid})

    async def _settle_owed(self, pod: PodSandbox) -> None:
        """Plan what kubelet was told is prepared; a link that was away may be back."""
        here = [b for b in self._journal.bookings.values() if b.claim.namespace == pod.namespace]
        owed = [booking for booking in here if booking.owed]
        shared = [b for b in owed if b.sole_pod_uid is None and pod.uid not in b.pods]
        used = await self._pods.claims_of(pod) if shared and pod.may_claim else None
        for booking in owed:
            if pod.uid not in booking.pods and not (used and booking.claim.name in used.names):
                continue
            self._planning[pod.id] = booking.claim.uid
            await self._planner.settle(booking.claim)
            self._planning.pop(pod.id, None)

    async def _plan_for(self, pod: PodSandbox, claim: Claim, *, hooked: bool) -> None:
        booking = self._journal.bookings.get(claim.uid)
        if hooked and not (booking and booking.ready):  # the driver is called
            self._hook_time.check_claims(pod, {claim.uid: False})
        self._planning[pod.id] = claim.uid
        # A journal that is complete would know the claim, had kubelet not released it.
        await self._planner.adopt(claim.ref, ending=self._journal.complete)
        self._planning.pop(pod.id, None)

    def _is_known(self, pod: PodSandbox) -> bool:
        if pod.netns is None or not pod.may_claim or pod.uid in self._known:
            return True
        return self._journal.complete and not self._released.has(pod.namespace)

    def _note(self, pod: PodSandbox) -> None:
        if not self.blind:
            self._known[pod.uid] = None
        if len(self._known) > PODS_KEPT:
            del self._known[next(iter(self._known))]

    async def _claims_of(self, pod: PodSandbox) -> list[Claim]:
        """The pod's claims on our devices."""
        used = await self._pods.claims_of(pod)
        if used is None:
            return []
        self.blind = not used.known
        claims = []
        for name in sorted(used.names):
            found = await self._claims.get(ClaimRef(uid="", namespace=pod.namespace, name=name))
            if found is not None and pod.uid in found.pod_uids:
                claims.append(found.of_driver(self._driver))
        return [claim for claim in claims if claim.devices]

    async def _planned(self, claim: Claim, pod: PodSandbox, *, hooked: bool) -> Booking | None:
        """Plan a running pod's claim; one that cannot be planned any more is told."""
        at = claim_fields(claim.ref) | pod_fields(pod)
        try:
            await self._plan_for(pod, claim, hooked=hooked)
        except (RequestError, NotBegunError) as error:
            self.pop_failed(pod.id)
            explain("adopt.failed", error, **at)
            return None
        log.info("adopt.done", **at)
        return self._journal.bookings.get(claim.uid)  # kubelet may have released it by now


def _network_plans(booking: Booking) -> list[Plan]:
    plans = booking.prepared.plans if booking.prepared is not None else ()
    return [plan for plan in plans if plan.network is not None]


def _attachments(
    plans: Iterable[Plan],
    ready: Mapping[DeviceKey, ReportedDevice],
    pod: PodSandbox,
    *,
    shared: bool,
) -> Iterator[Attachment]:
    """What the status says of a pod; on a shared claim its data is that of all pods."""
    for plan in plans:
        reported = ready.get(plan.device.key)
        if reported is not None:
            interface = interface_in(reported, pod.uid) or _interface(reported)
            yield Attachment(plan, pod, interface, data={} if shared else reported.data)


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
