"""Prepare: a claim into plans, and its release.

Promise: the plan is in the journal before kubelet hears of success. A second call returns the saved
plan and disturbs nothing. The status of a claim that cannot have its devices (`booker`) says so. A
claim that may be planned later is answered as prepared, and owed: it is planned before its pod gets
a sandbox. Releasing a claim detaches it first, works without the claim object, and succeeds for a
claim that was never prepared; while a pod still runs with the claim, it is put off until the pod
has ended. Limit: one attempt for each call; `kubelet_calls` retries.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol

import msgspec
import structlog

from netclaim.errors import NetclaimError, RequestError
from netclaim.framework.contract import Driver, LaterError, NetworkDriver
from netclaim.framework.journal.journal import Journal
from netclaim.framework.journal.pod_plans import ReleasedLately
from netclaim.framework.journal.records import PLANNED, Booking
from netclaim.framework.prepare.booker import Booker
from netclaim.framework.prepare.claim_source import ClaimSource
from netclaim.framework.prepare.holders import Holders
from netclaim.framework.prepare.limits import Limits
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.telemetry.subject import claim_fields, concerning
from netclaim.framework.tools.fair_slots import Places
from netclaim.framework.tools.locks import KeyedLock
from netclaim.model.claims.claim import AllocatedDevice, Claim, DeviceKey
from netclaim.model.on_node.plan import Plan, Prepared
from netclaim.model.on_node.pod import PodSandbox
from netclaim.model.on_node.prepared import ClaimRef, PrepareAnswer, PreparedDevice

log = structlog.get_logger()

# Claims that the driver plans at a time, in all and of one namespace. It works with a processor, on
# what tenants wrote; the attaches of others have their turn in between.
PLANNED_AT_A_TIME: Final = 8
OF_A_NAMESPACE: Final = 2


class Attachments(Protocol):
    """What is attached on behalf of claims: the running sandboxes, and how they are released."""

    def users(self, claim_uid: str) -> Sequence[PodSandbox]: ...
    async def release_claim(self, claim_uid: str) -> None: ...


class Reports(Protocol):
    """What claims say: they are as the journal has them now, and these devices failed.

    `refused`: because of what the claim says. `turn_away` is about a claim that was refused before
    it got into the journal.
    """

    def touch(
        self, claim_uid: str, failures: Mapping[DeviceKey, str], *, refused: bool = False
    ) -> None: ...
    def turn_away(self, claim: Claim, text: str) -> None: ...


class PlanMarks(Protocol):
    """What is on the disk of pods with plans, for when the driver is away."""

    def note_plans(self, journal: Journal) -> None: ...


class ContainerFiles(Protocol):
    """How containers get a plan's edits: by ids that they are written under.

    `pod_claim_name` is the claim's name in the pod that it was made for, if it was.
    """

    async def write(self, prepared: Prepared, pod_claim_name: str) -> Mapping[DeviceKey, str]: ...
    async def remove(self, claim_uid: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Admission:
    """When claims may be prepared."""

    hooked: Callable[[], Awaitable[None]]  # waits until a pod that starts would not go unnoticed
    refusal: Callable[[], str]  # why no new claim is prepared; nothing if one is

    async def wait(self, *, new: bool) -> None:
        if new and (why := self.refusal()):
            raise RequestError(why)
        await self.hooked()


class DriverError(NetclaimError):
    """The driver broke its contract; its author acts."""


@dataclass(slots=True)
class Preparer:
    """Turns claims into plans and releases them."""

    driver: Driver
    journal: Journal
    source: ClaimSource
    admission: Admission
    attachments: Attachments
    files: ContainerFiles
    reports: Reports
    marks: PlanMarks
    released: ReleasedLately
    limits: Limits
    metrics: Metrics
    _locks: KeyedLock = field(default_factory=KeyedLock)
    _planning: Places = field(
        default_factory=lambda: Places(total=PLANNED_AT_A_TIME, each=OF_A_NAMESPACE)
    )
    _booker: Booker = field(init=False)

    def __post_init__(self) -> None:
        holders = Holders(self.driver.holds)
        self._booker = Booker(self.journal, holders, self.limits, self.release_if_stale)
        self.journal.booked.follow(holders.note)

    async def prepare(self, ref: ClaimRef) -> PrepareAnswer:
        """Plan the claim, write the plan down, answer; a second call gets the saved plan."""
        await self.admission.wait(new=ref.uid not in self.journal.bookings)
        async with self._working_on(ref):
            claim = await self.source.read(ref)
            try:
                return await self._prepare(claim, released=False)
            except LaterError as error:
                if not isinstance(self.driver, NetworkDriver):
                    raise
                return await self._owe(ref, error)
            except RequestError as error:
                if ref.uid not in self.journal.bookings and not _is_ready(claim):
                    self.reports.turn_away(claim, str(error))
                raise

    async def adopt(self, ref: ClaimRef, *, released: bool, new_pod: str = "") -> None:
        """Plan a claim that was prepared before, as far as one knows; or leave no trace of it.

        `released`: unless it is known, kubelet has released it already, and will not again. What is
        planned for `new_pod`, by UID, stays as it is; a release that is under way comes first.
        """
        async with self._working_on(ref):
            known = self.journal.bookings.get(ref.uid)
            if known is not None and known.is_planned and new_pod in known.pods:
                return
            try:
                claim = await self.source.read(ref)
                await self._prepare(claim, released=known.is_released if known else released)
            except NetclaimError:
                booking = self.journal.bookings.get(ref.uid)
                if booking is not None and known is None:
                    await self._release(booking)
                raise

    async def recall(self, on_record: Collection[ClaimRef] | None) -> None:
        """Plan what kubelet has on record, and the journal lost; None: that cannot be known.

        Kubelet does not ask for these claims again. One that cannot be planned stays booked if it
        is there, so that its pods are refused. Raises what may pass, after all others had their
        turn. A second call plans those that are not planned yet.
        """
        if on_record is None:
            log.warning("recall.unknown")
        passing: list[NetclaimError] = []
        for ref in on_record or ():
            async with self._working_on(ref):
                booking = self.journal.bookings.get(ref.uid)
                if booking is None or not (booking.is_planned or booking.state == "owed"):
                    try:
                        await self._recall(ref)
                    except NetclaimError as error:
                        passing.append(error)
        if passing:
            raise passing[0]

    async def _recall(self, ref: ClaimRef) -> None:
        try:
            await self._prepare(await self.source.read(ref), released=False)
            log.info("recall.done")
        except LaterError as error:
            await self._owe(ref, error)
        except RequestError as error:
            self.report_failure(ref, str(error), error.device, refused=True)
            log.warning("recall.failed", error=str(error))

    async def settle(self, ref: ClaimRef) -> None:
        """Plan a claim that is owed, or raise why it cannot be."""
        async with self._working_on(ref):
            booking = self.journal.bookings.get(ref.uid)
            if booking is None or booking.state != "owed":
                return
            try:
                await self._prepare(await self.source.read(ref), released=False)
            except NetclaimError as error:
                refused = isinstance(error, RequestError)
                self.report_failure(ref, str(error), error.device, refused=refused)
                raise

    async def unprepare(self, ref: ClaimRef, *, only: Booking | None = None) -> None:
        """Undo everything of the claim; of an unknown one there is nothing to undo.

        Kubelet asks for it once a pod has ended, also when the claim is another pod's by then: one
        that named the same claim and took the ended pod's place. That one keeps its interface.
        `only`: not if the claim was prepared anew since it was this.
        """
        async with self._working_on(ref):
            booking = self.journal.bookings.get(ref.uid)
            if booking is None or (only is not None and only != booking):
                return
            users = self.attachments.users(ref.uid)
            if users and booking.is_released:
                return
            if users:
                names = [pod.name for pod in users]
                log.warning("unprepare.postponed", pods=names)
                await self.journal.put_booking(booking.put_off())
                return
            if booking.sole_pod_uid is None:
                self.released.note(ref.namespace, ref.uid)
            await self._release(booking)
            log.info("unprepare.done")

    async def release_ended(self, ref: ClaimRef) -> None:
        """Undo a claim whose release was put off, if that is still wanted."""
        async with self._working_on(ref):
            booking = self.journal.bookings.get(ref.uid)
            if booking and booking.is_released and not self.attachments.users(ref.uid):
                await self._release(booking)
                log.info("unprepare.done")

    async def is_stale(self, ref: ClaimRef) -> bool:
        """Whether a claim is gone, replaced or without its devices, and kubelet forgot it."""
        return await self.source.is_stale(ref, self.journal.bookings.get(ref.uid))

    async def release_if_stale(self, ref: ClaimRef) -> bool:
        """Undo a claim that kubelet forgot; whether it was."""
        booking = self.journal.bookings.get(ref.uid)
        if not await self.is_stale(ref):
            return False
        log.warning("unprepare.stale", **claim_fields(ref))
        await self.unprepare(ref, only=booking)
        return True

    async def unless_booked(self, uid: str, work: Callable[[], Awaitable[object]]) -> bool:
        """Do something about a claim that is neither prepared nor being prepared; whether it is."""
        async with self._locks.hold(uid):
            if uid in self.journal.bookings:
                return False
            await work()
            return True

    def report_failure(
        self, ref: ClaimRef, message: str, device: DeviceKey | None, *, refused: bool = False
    ) -> None:
        """Show on the claim why it is not prepared; one that was prepared before stays ready.

        If it was one device that failed, it is `device`, and the others only wait for it.
        `refused`: because of what the claim says.
        """
        booking = self.journal.bookings.get(ref.uid)
        if booking is None or booking.is_planned:
            return
        keys = [each.key for each in booking.devices]
        others = f"waiting for device {device[1]} of the same claim" if device in keys else message
        texts = {key: message if key == device else others for key in keys}
        self.reports.touch(ref.uid, texts, refused=refused)

    @asynccontextmanager
    async def _working_on(self, ref: ClaimRef) -> AsyncIterator[None]:
        """Be alone with a claim, which what is logged names."""
        with concerning(ref):
            async with self._locks.hold(ref.uid):
                yield

    async def _prepare(self, claim: Claim, *, released: bool) -> PrepareAnswer:
        saved = self.journal.bookings.get(claim.uid)
        if saved is not None and saved.devices != claim.devices:
            await self._release(saved)  # deallocated and allocated anew, which nobody said
            saved = None
        booking = saved or await self._booker.book(claim)
        prepared = booking.prepared if booking.is_planned else None
        if prepared is None:
            claim.check_readable()
            claim = msgspec.structs.replace(claim, begun=saved is not None)
            async with self._planning.hold(claim.namespace):
                prepared = await self._planned(claim)
            _check_plans(claim, prepared)
        ids = await self.files.write(prepared, claim.pod_claim_name)
        done = booking.planned(claim, prepared, released=released)
        if done != booking:
            await self.journal.put_booking(done)
        self.marks.note_plans(self.journal)  # before kubelet hears of it
        self.count()
        self.reports.touch(claim.uid, {})
        pods = [f"{claim.namespace}/{pod.name}" for pod in claim.reserved_for if pod.is_pod]
        log.info("prepare.done", pods=pods, devices=len(prepared.plans))
        return _answer(prepared, ids)

    async def _planned(self, claim: Claim) -> Prepared:
        """Have the driver plan. What it refuses is not refused for labels of a moment ago."""
        try:
            return await self.driver.prepare(claim)
        except RequestError:
            now = await self.source.with_labels_of_now(claim)
            if now.namespace_labels == claim.namespace_labels:
                raise
            return await self.driver.prepare(now)

    async def _owe(self, ref: ClaimRef, error: LaterError) -> PrepareAnswer:
        """Answer for a claim whose plans cannot be made yet: they are due before its sandbox."""
        booking = self.journal.bookings[ref.uid]
        bare = Prepared(booking.claim, tuple(Plan(booking.claim, d) for d in booking.devices))
        ids = await self.files.write(bare, booking.pod_claim_name)
        if booking.owing() != booking:
            await self.journal.put_booking(booking.owing())
        self.marks.note_plans(self.journal)
        self.report_failure(ref, str(error), error.device)
        log.warning("prepare.owed", error=str(error))
        return _answer(bare, ids)

    async def _release(self, booking: Booking) -> None:
        uid = booking.claim.uid
        await self.attachments.release_claim(uid)
        lapsed = booking.lapsed()
        if lapsed != booking:  # from here on the plans are not valid, even if the process dies
            await self.journal.put_booking(lapsed)
        await self.driver.unprepare(booking.prepared or Prepared(claim=booking.claim))
        await self.files.remove(uid)
        await self.journal.drop_booking(lapsed.dropped())
        self.marks.note_plans(self.journal)
        self.reports.touch(uid, {})  # what was kept of it is not needed any more
        self.count()

    def count(self) -> None:
        """Bring the metrics in line with the journal."""
        planned = sum(self.journal.booked.size("state", each) for each in PLANNED)
        self.metrics.prepared_claims.set(planned)


def _is_ready(claim: Claim) -> bool:
    """Whether a pod has something of a claim, as far as the claim's status says."""
    ours = {(device.driver, device.key) for device in claim.devices}
    return any((each.driver, each.key) in ours for each in claim.reported)


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
