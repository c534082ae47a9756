"""Adopt: know the node's pods again when the journal was lost.

The journal is on the node's disk, and a disk can be lost: an emptied state directory, a driver that
was installed without one that lasts. What it knew is in the claims, too: their allocation, and in
their status what was attached, unless that was not written yet: then the driver may know.

Promise: until the journal is complete, and for a while after the release of a claim that a pod may
name, the claims of a pod that is not known are looked up before anything is decided about it; a
running sandbox that still has what its claim's status says is taken to have it from us. Pods that
cannot have claims, or no interfaces, wait for nobody. Limit: what ended while nobody knew of it is
left to `collect`; a claim that cannot be planned any more, or whose link is away, is logged and
left alone.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from netclaim.errors import RequestError
from netclaim.framework.attach.attacher import Attacher
from netclaim.framework.attach.hook_budget import HookTime
from netclaim.framework.attach.sandbox import Sandbox
from netclaim.framework.contract import NotBegunError
from netclaim.framework.journal.journal import Journal
from netclaim.framework.journal.pod_plans import PODS_KEPT, Claims, Pods, ReleasedLately
from netclaim.framework.journal.records import Booking, DeviceReport, Report
from netclaim.framework.telemetry.logs import explain
from netclaim.framework.telemetry.subject import claim_fields, pod_fields
from netclaim.model.api.dra.interface_data import interface_in
from netclaim.model.claims.claim import Claim, DeviceKey, ReportedDevice
from netclaim.model.on_node.attachment import Attachment, Interface
from netclaim.model.on_node.plan import Plan
from netclaim.model.on_node.pod import PodSandbox
from netclaim.model.on_node.prepared import ClaimRef

log = structlog.get_logger()


class ClaimPlanner(Protocol):
    """What plans claims: one of a pod, one that is owed, and what kubelet has on record."""

    async def adopt(self, ref: ClaimRef, *, released: bool, new_pod: str = "") -> None: ...
    async def settle(self, ref: ClaimRef) -> None: ...
    async def recall(self, on_record: Collection[ClaimRef] | None) -> None: ...


@dataclass(slots=True)
class Adopter:
    """Fills a new journal from the API server."""

    driver: str
    journal: Journal
    attacher: Attacher
    planner: ClaimPlanner
    claims: Claims
    pods: Pods
    released: ReleasedLately
    on_record: Callable[[], Collection[ClaimRef] | None]  # kubelet's claims; None: not known
    hook_time: HookTime
    blind: bool = False  # whether a pod may not be read: then it cannot be known what runs
    _known: dict[str, None] = field(default_factory=dict)  # UIDs of looked up pods; oldest first

    async def make_known(self, sandbox: Sandbox, *, new: bool, hooked: bool) -> None:
        """Have the claims of a sandbox planned; of one that runs, take over what it has.

        `new`: it is being made, and has nothing. `hooked`: all pods of the node wait.
        """
        pod = sandbox.pod
        await self._settle_owed(sandbox)
        if self._is_known(pod):
            return
        used = await self.pods.claims_of(pod)
        if used is not None:
            self.blind = not used.known
        planned = self._planned_for(pod) if new else {}
        for name in sorted(used.names) if used is not None else ():
            if name in planned:
                await self._plan(sandbox, planned[name], hooked=True, new=True)
            elif (claim := await self._claim_of(pod, name)) is not None:
                if new:
                    await self._plan(sandbox, claim.ref, hooked=True, new=True)
                else:
                    await self._take_over(sandbox, claim, hooked=hooked)
        if not self.blind:
            self._known[pod.uid] = None
        if len(self._known) > PODS_KEPT:
            del self._known[next(iter(self._known))]

    async def complete_journal(self) -> None:
        """Note that everything that runs on the node, or is about to, is in the journal.

        Claims of pods that have no sandbox yet, or not any more, are not found by what runs, but by
        what kubelet has on record.
        """
        await self.planner.recall(self.on_record())
        await self.journal.mark_complete()
        self.attacher.rewrite_marks()

    async def _settle_owed(self, sandbox: Sandbox) -> None:
        """Plan what was answered as prepared; a link that was away may be back."""
        pod = sandbox.pod
        every = self.journal.booked.group("state", "owed")
        owed = [booking for booking in every if booking.claim.namespace == pod.namespace]
        shared = [b for b in owed if b.sole_pod_uid is None and pod.uid not in b.pods]
        used = await self.pods.claims_of(pod) if shared and pod.may_claim else None
        for booking in owed:
            if pod.uid in booking.pods or (used and booking.claim.name in used.names):
                sandbox.blamed = frozenset({booking.claim.uid})
                await self.planner.settle(booking.claim)
                sandbox.blamed = None

    async def _plan(
        self, sandbox: Sandbox, ref: ClaimRef, *, hooked: bool, new: bool = False
    ) -> None:
        booking = self.journal.bookings.get(ref.uid)
        if hooked and not (booking and booking.is_planned):  # the driver is called
            self.hook_time.check_claims(sandbox.pod, {ref.uid: False})
        sandbox.blamed = frozenset({ref.uid})
        # A journal that is complete would know the claim, had kubelet not released it.
        released = self.journal.complete
        await self.planner.adopt(ref, released=released, new_pod=sandbox.pod.uid if new else "")
        sandbox.blamed = None

    async def _take_over(self, sandbox: Sandbox, claim: Claim, *, hooked: bool) -> None:
        """Plan a running pod's claim, and take over what the pod has of it.

        A claim that cannot be planned any more is logged.
        """
        pod = sandbox.pod
        at = claim_fields(claim.ref) | pod_fields(pod)
        try:
            await self._plan(sandbox, claim.ref, hooked=hooked)
        except (RequestError, NotBegunError) as error:
            sandbox.blamed = None
            explain("adopt.failed", error, **at)
            return
        log.info("adopt.done", **at)
        booking = self.journal.bookings.get(claim.uid)
        if booking is None:  # kubelet has released it by now
            return
        ready = {each.key: each for each in claim.reported if each.driver == self.driver}
        if claim.uid not in self.journal.reports:
            await self.journal.put_report(_report(booking, ready))
        plans = _network_plans(booking)
        shared = claim.pod_uids != {pod.uid}
        await self.attacher.take_over(
            pod,
            _attachments(plans, ready, pod, shared=shared),
            [plan for plan in plans if shared or plan.device.key not in ready],
        )

    def _is_known(self, pod: PodSandbox) -> bool:
        if pod.netns is None or not pod.may_claim or pod.uid in self._known:
            return True
        return self.journal.complete and not self.released.has(pod.namespace)

    async def _claim_of(self, pod: PodSandbox, name: str) -> Claim | None:
        """A claim of the pod's, if it has devices of the driver."""
        found = await self.claims.get(ClaimRef(uid="", namespace=pod.namespace, name=name))
        if found is None or pod.uid not in found.pod_uids:
            return None
        mine = found.of_driver(self.driver)
        return mine if mine.devices else None

    def _planned_for(self, pod: PodSandbox) -> Mapping[str, ClaimRef]:
        """The claims that are planned for this very pod, by name; one may be being released."""
        mine = self.journal.booked.group("pod", pod.uid)
        known = (each for each in mine if each.claim.namespace == pod.namespace)
        return {each.claim.name: each.claim for each in known if each.is_planned}


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
