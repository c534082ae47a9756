"""Report: write what became of a claim's devices into the claim's status.

Promise: no hook waits for it, and it is retried until it succeeds, also after a restart. All
devices of a claim are in one write; of what changes while a write is under way, the latest state is
written next. Nothing is written about a claim that is released, gone or replaced. Of a claim that
never held anything, it is only written that it was refused (`turned_away`). A failure also leaves
an event at the claim, once for each new message, and so does a device that loses its health or has
it back. Writes, events and memory are bounded, however often a claim fails and whatever the texts
are: whether a device is ready is written at once, another text for the same failure only now and
then, and of too many events some are dropped and counted.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import msgspec
import structlog

from netclaim.errors import HostError, NetclaimError
from netclaim.framework.journal.journal import Journal
from netclaim.framework.journal.records import DeviceReport, Report, pods_of
from netclaim.framework.report.claim_status import compose, device_statuses
from netclaim.framework.report.turned_away import TurnedAway
from netclaim.framework.telemetry.logs import brief, explain
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.telemetry.subject import claim_fields, concerning, doing
from netclaim.framework.tools.clock import Clock
from netclaim.framework.tools.locks import KeyedLock
from netclaim.framework.tools.rates import Buckets, Rate
from netclaim.framework.tools.supervise import TRANSIENT, Backoff, retry
from netclaim.model.claims.claim import Claim, DeviceKey, JsonObject
from netclaim.model.devices.device import Device, Taint
from netclaim.model.on_node.prepared import ClaimRef

log = structlog.get_logger()

WRITES_MAX: Final = 4  # at a time: a node that starts a hundred pods stays polite
RETRIES: Final = Backoff(max_s=10.0)  # somebody waits for the status when the API server is back
# Between writes that only change a failure's words. Kubelet tries a pod about every ten seconds,
# and an error may name the sandbox or how long it took; a reader of the claim looks less often.
WORDS_S: Final = 60.0
# Until a status that was refused even without its details is tried again: it is as a policy of the
# cluster's admin says, or netclaim's mistake, and neither is over in seconds.
REFUSED_S: Final = 300.0
# For one claim, what client-go allows a component for one object, and kubelet thus for a pod.
CLAIM_EVENTS: Final = Rate(burst=25, per_s=1 / 300)
# For a namespace, one each for the pods of a full node that fail together; then four a minute, so
# that of the events that the API server keeps (for an hour) this node made some 350 at most.
NAMESPACE_EVENTS: Final = Rate(burst=110, per_s=1 / 15)


class StatusRefusedError(NetclaimError):
    """What a status says is not acceptable to the API server, and would not be a moment later."""


class Statuses(Protocol):
    """The claims' status on the API server, and their events."""

    async def apply(self, claim: ClaimRef, devices: Sequence[JsonObject]) -> bool:
        """Replace the driver's entries in status.devices; returns False if the claim is gone.

        Without their details if those are not acceptable; StatusRefusedError if nothing is.
        """
        ...

    async def leave_event(
        self, claim: ClaimRef, reason: str, message: str, *, normal: bool
    ) -> None: ...


class Reporter:
    """Keeps the claims' statuses in line with the journal, for as long as it runs."""

    def __init__(
        self,
        journal: Journal,
        statuses: Statuses,
        clock: Clock,
        metrics: Metrics,
        *,
        subject: Literal["NetworkInterface", "Device"],
    ) -> None:
        self._journal = journal
        self._statuses = statuses
        self._subject = subject
        self._clock = clock
        self._metrics = metrics
        self._failures: dict[str, Mapping[DeviceKey, str]] = {}  # of claims that hold devices
        self._refused: set[str] = set()  # of those, the ones that failed by what they say
        self._written_s: dict[str, float] = {}  # of claims that hold devices
        self._tainted: Mapping[str, tuple[Taint, ...]] | None = None  # by device; not known yet
        self._postponed: set[str] = set()
        self._claim_events = Buckets(CLAIM_EVENTS, clock)
        self._namespace_events = Buckets(NAMESPACE_EVENTS, clock)
        self._dirty: set[str] = set()
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._events: asyncio.Queue[_Event] = asyncio.Queue()
        self._locks = KeyedLock()
        self._writes = asyncio.Semaphore(WRITES_MAX)
        self._turned_away = TurnedAway(
            journal.bookings,
            statuses.apply,
            self._leave_event,
            clock,
            metrics,
            subject=subject,
        )

    def touch(
        self, claim_uid: str, failures: Mapping[DeviceKey, str], *, refused: bool = False
    ) -> None:
        """The journal has changed for a claim, and these of its devices failed.

        `refused`: because of what the claim says.
        """
        self._refused.discard(claim_uid)
        self._turned_away.forget(claim_uid)
        if failures and claim_uid in self._journal.bookings:
            self._failures[claim_uid] = {key: brief(text) for key, text in failures.items()}
            if refused:
                self._refused.add(claim_uid)
        else:
            self._failures.pop(claim_uid, None)
        self.look_again(claim_uid)

    def look_again(self, claim_uid: str) -> None:
        """The journal has changed for a claim; its failures are as before."""
        if claim_uid not in self._dirty:
            self._dirty.add(claim_uid)
            self._queue.put_nowait(claim_uid)
            self._metrics.pending_reports.set(len(self._dirty))

    def turn_away(self, claim: Claim, text: str) -> None:
        """A claim that holds nothing here was refused because of what it asks for."""
        self._turned_away.note(claim, text)

    def note_taints(self, devices: Iterable[Device]) -> None:
        """Learn all devices as they are published, and report changed taints on their claims."""
        before = self._tainted or {}
        now = {
            device.name: taints
            for device in devices
            if (taints := tuple(taint for taint in device.taints if taint.effect != "None"))
        }
        self._tainted = now
        changed = {name for name in now.keys() | before.keys() if now.get(name) != before.get(name)}
        for claim_uid, booking in self._journal.bookings.items():
            if any(device.device in changed for device in booking.devices):
                self.look_again(claim_uid)

    def give_up(self, claim: ClaimRef, text: str) -> None:
        """Leave an event: something of the claim was not undone and never will be."""
        self._events.put_nowait(_Event(claim, f"{self._subject}NotReleased", brief(text)))

    def note_made_again(self, claim: ClaimRef, text: str, *, same: bool) -> None:
        """Leave an event: a running pod got back what it had lost of the claim, or something else.

        Which of the two, `same` says.
        """
        reason = f"{self._subject}{'Restored' if same else 'Changed'}"
        self._events.put_nowait(_Event(claim, reason, brief(text), normal=same))

    def refuse(self, claim: ClaimRef, text: str) -> None:
        """Leave an event: the claim cannot be served on this node, and its pod goes elsewhere."""
        self._events.put_nowait(_Event(claim, f"{self._subject}NotReady", brief(text)))

    async def run(self) -> None:
        """Write what has to be written until cancelled.

        Each call begins with all claims, for what a restart or a failure left.
        """
        self._postponed.clear()
        for claim_uid in self._journal.bookings:
            self.look_again(claim_uid)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._leave_events())
            group.create_task(self._turned_away.run())
            while True:
                group.create_task(self._deliver(await self._queue.get()))

    async def _leave_events(self) -> None:
        """Leave the events about claims that may be gone."""
        while True:
            event = await self._events.get()
            await self._leave_event(event.claim, event.reason, event.text, normal=event.normal)

    async def _deliver(self, claim_uid: str) -> None:
        async with self._locks.hold(claim_uid):
            self._dirty.discard(claim_uid)  # from here on a change is another delivery
            booking = self._journal.bookings.get(claim_uid)
            with concerning(booking.claim if booking else None):
                wait_s = await self._write_until_done(claim_uid)
            self._metrics.pending_reports.set(len(self._dirty))
        if wait_s and claim_uid not in self._postponed:
            self._postponed.add(claim_uid)
            await self._clock.sleep(wait_s)
            self._postponed.discard(claim_uid)
            self.look_again(claim_uid)

    async def _write_until_done(self, claim_uid: str) -> float:
        """Write the claim's status; returns in how many seconds to come back. Raises nothing."""
        try:
            return await retry(
                "report",
                lambda: self._attempt(claim_uid),
                backoff=RETRIES,
                clock=self._clock,
                metrics=self._metrics,
                retried=(*TRANSIENT, HostError),
            )
        except StatusRefusedError as error:
            explain("report.failed", error, claim_uid=claim_uid)
            return REFUSED_S
        except Exception as error:  # noqa: BLE001 (the driver's data, say; the others go on)
            explain("report.failed", error, claim_uid=claim_uid)
            return 0.0

    async def _attempt(self, claim_uid: str) -> float:
        """Write the claim's status as it should be; returns in how many seconds to come back."""
        booking = self._journal.bookings.get(claim_uid)
        if booking is None:
            self._failures.pop(claim_uid, None)
            self._refused.discard(claim_uid)
            self._written_s.pop(claim_uid, None)
            return 0.0
        previous = self._journal.reports.get(claim_uid)
        report = compose(
            booking,
            self._journal.leases_of_claim(claim_uid),
            self._failures.get(claim_uid, {}),
            previous,
            self._clock.now(),
            tainted=self._tainted,
            refused=claim_uid in self._refused,
        )
        written = msgspec.structs.replace(report, written=True)
        if not report.devices or previous == written:
            return 0.0
        if previous is not None and previous.written and _only_words(previous, report):
            since_s = self._clock.monotonic() - self._written_s.get(claim_uid, float("-inf"))
            if since_s < WORDS_S:
                return WORDS_S - since_s
        if previous != report:  # keeps its transition times if we are killed
            await self._journal.put_report(report)
        async with self._writes:
            with self._metrics.timed("report"), doing("report", booking.claim):
                if not await self._statuses.apply(
                    booking.claim, device_statuses(report, self._subject)
                ):
                    log.info("report.gone")
                    return 0.0
        self._written_s[claim_uid] = self._clock.monotonic()
        self._journal.carry_report(written)
        pods = pods_of(self._journal.leases_of_claim(claim_uid))
        log.info(
            "report.done",
            pods=[f"{pod.namespace}/{pod.name}" for pod in pods],
            ready=all(device.ready for device in report.devices),
        )
        await self._warn(booking.claim, report, previous)
        return 0.0

    async def _warn(self, claim: ClaimRef, report: Report, previous: Report | None) -> None:
        """Leave an event for each new failure, and when a device's health has changed.

        One that cannot be left is not worth a retry.
        """
        reported = {d.message for d in previous.devices if not d.ready} if previous else set()
        for message in sorted({d.message for d in report.devices if not d.ready} - reported):
            await self._leave_event(claim, f"{self._subject}NotReady", message)
        known = {each.device.key: each.health for each in previous.devices} if previous else {}
        for each in report.devices:
            before, now = known.get(each.device.key), each.health
            was_healthy = before is None or before.healthy
            if now is not None and now.healthy != was_healthy:
                word = "Healthy" if now.healthy else "Unhealthy"
                text = f"{each.device.pool}/{each.device.device}: {now.message}"
                reason = f"{self._subject}{word}"
                await self._leave_event(claim, reason, text, normal=now.healthy)

    async def _leave_event(
        self, claim: ClaimRef, reason: str, message: str, *, normal: bool = False
    ) -> None:
        if not self._may_warn(claim):
            self._metrics.dropped_events.inc()
            return
        try:
            await self._statuses.leave_event(claim, reason, message, normal=normal)
        except NetclaimError as error:
            log.warning("report.event_failed", **claim_fields(claim), error=str(error))

    def _may_warn(self, claim: ClaimRef) -> bool:
        """Count one more event, unless the claim or its namespace has had too many."""
        claims, namespaces = self._claim_events, self._namespace_events
        if claims.level(claim.uid) < 1 or namespaces.level(claim.namespace) < 1:
            return False
        claims.take(claim.uid)
        namespaces.take(claim.namespace)
        return True


@dataclass(frozen=True, slots=True)
class _Event:
    """About a claim that may be gone by the time that it is left."""

    claim: ClaimRef
    reason: str
    text: str
    normal: bool = False


def _only_words(previous: Report, report: Report) -> bool:
    """Whether the reports differ only in the messages of devices that are not ready."""
    return _without_words(previous) == _without_words(report)


def _without_words(report: Report) -> list[DeviceReport]:
    return [
        device if device.ready else msgspec.structs.replace(device, message="")
        for device in report.devices
    ]
