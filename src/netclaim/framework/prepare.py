"""Prepare: a claim into plans, and its release.

Promise: the plan is in the journal before anybody hears of success; a second call returns the saved
plan and disturbs nothing; a device that another claim holds is not given away, nor more than a pod
or a namespace may have; of a claim that is refused for that nothing is written. A claim that may be
planned later is answered as prepared, and owed: planned before its pod gets a sandbox. Releasing
detaches first, works without the claim object, and succeeds for a claim that was never prepared;
under a pod that still runs it is put off until the pod has ended. Limit: one attempt a call;
`answer` retries.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, Protocol

import msgspec
import structlog

from netclaim.errors import NetclaimError, PeerError, Reason, RequestError
from netclaim.framework.contract import Driver, LaterError, NetworkDriver
from netclaim.framework.detach import Reports
from netclaim.framework.journal import Journal
from netclaim.framework.limits import Limits, NamespaceFullError, holder
from netclaim.framework.locks import KeyedLock
from netclaim.framework.marks import PlanMarks
from netclaim.framework.metrics import Metrics
from netclaim.framework.pod_plans import Claims, ReleasedLately
from netclaim.framework.records import Booking
from netclaim.framework.subject import claim_fields, concerning
from netclaim.model.claim import AllocatedDevice, Claim, DeviceKey
from netclaim.model.plan import Plan, Prepared
from netclaim.model.pod import PodSandbox
from netclaim.model.prepared import ClaimRef, PrepareAnswer, PreparedDevice

__all__ = [
    "Attachments",
    "ContainerFiles",
    "DeviceBusyError",
    "DriverError",
    "Namespaces",
    "Preparer",
]

log = structlog.get_logger()

# Claims of a full namespace that are looked up at each refusal, for some that kubelet forgot: a few
# requests each time kubelet comes back, and all of them within an hour.
LOOKED_UP: Final = 8


class Attachments(Protocol):
    """What is attached on behalf of claims."""

    def users(self, claim_uid: str) -> Sequence[PodSandbox]:
        """The running sandboxes that have something of the claim."""
        ...

    async def release_claim(self, claim_uid: str) -> None:
        """Detach everything of the claim, or raise."""
        ...


class Namespaces(Protocol):
    """The API server's namespaces."""

    async def labels(self, name: str) -> Mapping[str, str]:
        """A namespace's labels, as they were a moment ago."""
        ...


class ContainerFiles(Protocol):
    """How containers get a plan's edits."""

    async def write(self, prepared: Prepared, pod_claim_name: str) -> Mapping[DeviceKey, str]:
        """Make the edits available; the ids that containers ask for them by.

        `pod_claim_name` is the claim's name in the pod that it was made for, if it was.
        """
        ...

    async def remove(self, claim_uid: str) -> None:
        """Take them away. Again: nothing."""
        ...


class DeviceBusyError(PeerError):
    """Another claim holds the device; it may be about to be released."""

    why: Reason = "device"


class DriverError(NetclaimError):
    """The driver broke its contract; its author acts."""


class Preparer:
    """Turns claims into plans and releases them."""

    def __init__(
        self,
        driver: Driver,
        journal: Journal,
        claims: Claims,
        namespaces: Namespaces,
        *,
        hooked: Callable[[], Awaitable[None]],
        attachments: Attachments,
        files: ContainerFiles,
        reports: Reports,
        marks: PlanMarks,
        released: ReleasedLately,
        metrics: Metrics,
        limits: Limits,
        refusal: Callable[[], str] = str,
    ) -> None:
        """`hooked` waits until a pod that starts would be noticed; else it would start without.

        `refusal` says why no new claim is prepared; nothing if one is.
        """
        self._driver = driver
        self._journal = journal
        self._claims = claims
        self._namespaces = namespaces
        self._hooked = hooked
        self._attachments = attachments
        self._files = files
        self._reports = reports
        self._marks = marks
        self._released = released
        self._metrics = metrics
        self._limits = limits
        self._refusal = refusal
        self._locks = KeyedLock()
        self._booking = asyncio.Lock()
        self._looked_up = 0

    async def prepare(self, ref: ClaimRef) -> PrepareAnswer:
        """Plan the claim, write the plan down, answer. Again: the saved plan."""
        if ref.uid not in self._journal.bookings and (why := self._refusal()):
            raise RequestError(why)
        await self._hooked()
        async with self._working_on(ref):
            try:
                return await self._prepare(ref, ending=False)
            except LaterError as error:
                if not isinstance(self._driver, NetworkDriver):
                    raise
                return await self._owe(ref, error)

    async def adopt(self, ref: ClaimRef, *, ending: bool) -> None:
        """Plan a claim that was prepared before, as far as one knows; or leave no trace of it.

        `ending`: unless it is known, kubelet has released it already, and will not again.
        """
        async with self._working_on(ref):
            known = self._journal.bookings.get(ref.uid)
            try:
                await self._prepare(ref, ending=ending if known is None else known.ending)
            except NetclaimError:
                booking = self._journal.bookings.get(ref.uid)
                if booking is not None and known is None:
                    await self._release(booking)
                raise

    async def recall(self, on_record: Collection[ClaimRef] | None) -> None:
        """Plan what kubelet has on record, and the journal lost; None: that cannot be known.

        Kubelet does not ask for these claims again. One that cannot be planned stays booked if it
        is there, so that its pods are refused. Raises what may pass, after all others had their
        turn. Again: those that are not planned yet.
        """
        if on_record is None:
            log.warning("recall.unknown")
        passing: list[NetclaimError] = []
        for ref in on_record or ():
            async with self._working_on(ref):
                booking = self._journal.bookings.get(ref.uid)
                if booking is None or not (booking.ready or booking.owed):
                    try:
                        await self._recall(ref)
                    except NetclaimError as error:
                        passing.append(error)
        if passing:
            raise passing[0]

    async def _recall(self, ref: ClaimRef) -> None:
        try:
            await self._prepare(ref, ending=False)
            log.info("recall.done")
        except LaterError as error:
            await self._owe(ref, error)
        except RequestError as error:
            self.report_failure(ref, str(error), error.device)
            log.warning("recall.failed", error=str(error))

    async def settle(self, ref: ClaimRef) -> None:
        """Plan a claim that is owed, or raise why it cannot be. Again: nothing."""
        async with self._working_on(ref):
            booking = self._journal.bookings.get(ref.uid)
            if booking is None or not booking.owed:
                return
            try:
                await self._prepare(ref, ending=booking.ending)
            except NetclaimError as error:
                self.report_failure(ref, str(error), error.device)
                raise

    async def unprepare(self, ref: ClaimRef, *, only: Booking | None = None) -> None:
        """Undo everything of the claim. Again, or for an unknown one: nothing.

        Kubelet asks for it once a pod has ended, also when the claim is another pod's by then: one
        that named the same claim and took the ended pod's place. That one keeps its interface.
        `only`: not if the claim was prepared anew since it was this.
        """
        async with self._working_on(ref):
            booking = self._journal.bookings.get(ref.uid)
            if booking is None or (only is not None and only != booking):
                return
            users = self._attachments.users(ref.uid)
            if users and booking.ending:
                return
            if users:
                names = [pod.name for pod in users]
                log.warning("unprepare.postponed", pods=names)
                await self._journal.put_booking(booking.put_off())
                return
            if booking.sole_pod_uid is None:
                self._released.note(ref.namespace, ref.uid)
            await self._release(booking)
            log.info("unprepare.done")

    async def release_ended(self, ref: ClaimRef) -> None:
        """Undo a claim whose release was put off, if that is still wanted. Again: nothing."""
        async with self._working_on(ref):
            booking = self._journal.bookings.get(ref.uid)
            if booking is not None and booking.ending and not self._attachments.users(ref.uid):
                await self._release(booking)
                log.info("unprepare.done")

    async def is_stale(self, ref: ClaimRef) -> bool:
        """Whether a claim is gone, replaced or without its devices, and kubelet forgot it."""
        claim = await self._claims.get(ref)
        if claim is None or claim.uid != ref.uid or not claim.allocated:
            return True
        booking = self._journal.bookings.get(ref.uid)
        return booking is not None and booking.devices != claim.of_driver(self._driver.name).devices

    async def release_if_stale(self, ref: ClaimRef) -> bool:
        """Undo a claim that kubelet forgot; whether it was. Again: nothing."""
        booking = self._journal.bookings.get(ref.uid)
        if not await self.is_stale(ref):
            return False
        log.warning("unprepare.stale", **claim_fields(ref))
        await self.unprepare(ref, only=booking)
        return True

    async def unless_booked(self, uid: str, work: Callable[[], Awaitable[object]]) -> bool:
        """Do something about a claim that is neither prepared nor being prepared; whether it is."""
        async with self._locks.hold(uid):
            if uid in self._journal.bookings:
                return False
            await work()
            return True

    def report_failure(self, ref: ClaimRef, message: str, device: DeviceKey | None) -> None:
        """Show on the claim why it is not prepared; one that was prepared before stays ready.

        `device` is the one that failed, if it was one: the others only wait for it.
        """
        booking = self._journal.bookings.get(ref.uid)
        if booking is None or booking.ready:
            return
        keys = [each.key for each in booking.devices]
        others = f"waiting for device {device[1]} of the same claim" if device in keys else message
        texts = {key: message if key == device else others for key in keys}
        self._reports.touch(ref.uid, texts)

    @asynccontextmanager
    async def _working_on(self, ref: ClaimRef) -> AsyncIterator[None]:
        """Be alone with a claim, which what is logged names."""
        with concerning(ref):
            async with self._locks.hold(ref.uid):
                yield

    async def _prepare(self, ref: ClaimRef, *, ending: bool) -> PrepareAnswer:
        claim = await self._read(ref)
        saved = self._journal.bookings.get(claim.uid)
        if saved is not None and saved.devices != claim.devices:
            await self._release(saved)  # deallocated and allocated anew without our being told
            saved = None
        booking = saved or await self._book(claim)
        prepared = booking.prepared if booking.ready else None
        if prepared is None:
            prepared = await self._driver.prepare(claim)
            _check_plans(claim, prepared)
        ids = await self._files.write(prepared, claim.pod_claim_name)
        done = booking.planned(claim, prepared, ending=ending)
        if done != booking:
            await self._journal.put_booking(done)
        self._marks.note_plans(self._journal)  # before kubelet hears of it
        self.count()
        self._reports.touch(claim.uid, {})
        pods = [f"{claim.namespace}/{pod.name}" for pod in claim.reserved_for if pod.is_pod]
        log.info("prepare.done", pods=pods, devices=len(prepared.plans))
        return _answer(prepared, ids)

    async def _owe(self, ref: ClaimRef, error: LaterError) -> PrepareAnswer:
        """Answer for a claim whose plans cannot be made yet: they are due before its sandbox."""
        booking = self._journal.bookings[ref.uid]
        bare = Prepared(booking.claim, tuple(Plan(booking.claim, d) for d in booking.devices))
        ids = await self._files.write(bare, booking.pod_claim_name)
        if booking.owing() != booking:
            await self._journal.put_booking(booking.owing())
        self._marks.note_plans(self._journal)
        self.report_failure(ref, str(error), error.device)
        log.warning("prepare.owed", error=str(error))
        return _answer(bare, ids)

    async def _read(self, ref: ClaimRef) -> Claim:
        claim = await self._claims.get(ref)
        if claim is None:
            raise RequestError(f"claim {ref.namespace}/{ref.name} no longer exists")
        if claim.uid != ref.uid:
            raise RequestError(
                f"claim {ref.namespace}/{ref.name} was replaced by another one of that name"
            )
        mine = claim.of_driver(self._driver.name)
        if not mine.devices:
            raise RequestError(
                f"claim {ref.namespace}/{ref.name} has no device of {self._driver.name}"
                if claim.allocated
                else f"claim {ref.namespace}/{ref.name} is no longer allocated"
            )
        if self._driver.reads_namespace:
            labels = await self._namespaces.labels(ref.namespace)
            mine = msgspec.structs.replace(mine, namespace_labels=labels)
        return mine

    async def _book(self, claim: Claim) -> Booking:
        """Write down that the claim takes its devices, unless another claim has one of them.

        One that lost its devices, and that kubelet has not released yet, is released for it.
        """
        booking = Booking(
            claim=claim.ref,
            devices=claim.devices,
            pods=claim.pod_uids,
            owner_pod_uid=claim.owner_pod_uid,
            pod_claim_name=claim.pod_claim_name,
        )
        other = await self._put_unless_held(claim, booking)
        if other is not None and await self.release_if_stale(other.claim):
            other = await self._put_unless_held(claim, booking)
        if other is not None:
            raise DeviceBusyError(
                f"a device is still held by claim {other.claim.namespace}/{other.claim.name}"
            )
        return booking

    async def _put_unless_held(self, claim: Claim, booking: Booking) -> Booking | None:
        """Put a claim's booking; or return that of another claim which has one of its devices."""
        try:
            async with self._booking:
                other = holder(claim, self._journal.bookings.values(), self._driver.excludes)
                if other is None:
                    self._limits.check_claim(claim, self._journal.bookings.values())
                    await self._journal.put_booking(booking)
                return other
        except NamespaceFullError:
            await self._release_some_stale(claim.namespace)
            raise

    async def _release_some_stale(self, namespace: str) -> None:
        """Look a few claims of a full namespace up, and at the next call the next ones."""
        refs = [b.claim for b in self._journal.bookings.values() if b.claim.namespace == namespace]
        first = self._looked_up % len(refs)
        self._looked_up += LOOKED_UP
        for ref in (refs[first:] + refs[:first])[:LOOKED_UP]:
            await self.release_if_stale(ref)

    async def _release(self, booking: Booking) -> None:
        uid = booking.claim.uid
        await self._attachments.release_claim(uid)
        if booking.ready:  # from here on the plans do not hold, even if the process dies
            await self._journal.put_booking(booking.lapsed())
        await self._driver.unprepare(booking.prepared or Prepared(claim=booking.claim))
        await self._files.remove(uid)
        await self._journal.drop_booking(uid)
        self._marks.note_plans(self._journal)
        self._reports.touch(uid, {})  # what was kept of it is not needed any more
        self.count()

    def count(self) -> None:
        """Bring the metrics in line with the journal."""
        bookings = self._journal.bookings.values()
        self._metrics.prepared_claims.set(sum(b.ready for b in bookings))


def _check_plans(claim: Claim, prepared: Prepared) -> None:
    planned = sorted(plan.device.key for plan in prepared.plans)
    if prepared.claim != claim.ref or planned != sorted(d.key for d in claim.devices):
        raise DriverError("the driver did not return one plan for each device of the claim")


def _answer(prepared: Prepared, ids: Mapping[DeviceKey, str]) -> PrepareAnswer:
    return PrepareAnswer(
        devices=tuple(_prepared(plan.device, ids.get(plan.device.key)) for plan in prepared.plans)
    )


def _prepared(device: AllocatedDevice, cdi_id: str | None = None) -> PreparedDevice:
    return PreparedDevice(
        request_names=(device.base_request,),
        pool_name=device.pool,
        device_name=device.device,
        cdi_device_ids=() if cdi_id is None else (cdi_id,),
        share_id=device.share_id,
    )
