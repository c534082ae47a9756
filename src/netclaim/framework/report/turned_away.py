"""Report claims that are refused before they hold anything on the node.

Such a claim has no row in the journal: it is refused because its pod or its namespace has as much
as it may have, and rows are what there is too much of. But it keeps its devices like any other, so
its status says that it is refused, by which a controller takes them back.

Promise: the status says so within seconds, and once for each reason. Namespaces take turns, and
what is remembered is limited for each and for all. Limit: nothing is tried for ever or after a
restart. Kubelet asks for the claim again in a minute or two, and that begins anew.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

import msgspec
import structlog

from netclaim.errors import HostError
from netclaim.framework.journal.records import Booking, Report
from netclaim.framework.report.claim_status import compose, device_statuses
from netclaim.framework.telemetry.logs import explain
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.telemetry.subject import concerning, doing
from netclaim.framework.tools.clock import Clock
from netclaim.framework.tools.fair_slots import Places
from netclaim.framework.tools.supervise import TRANSIENT
from netclaim.model.claims.claim import Claim, JsonObject
from netclaim.model.on_node.prepared import ClaimRef

log = structlog.get_logger()

# Between attempts of one write; kubelet is back before a minute or two have passed.
DELAYS_S: Final = (1.0, 4.0, 15.0)
WRITES_MAX: Final = 2  # at a time, beside those for claims that have something
KEPT: Final = 1024  # refusals that are due or written, several for each pod of a full node
NAMESPACE_KEPT: Final = 128  # of one namespace, so that no other one is left without


class TurnedAway:
    """What the statuses of such claims say, or will say in a moment."""

    def __init__(
        self,
        bookings: Mapping[str, Booking],
        apply: Callable[[ClaimRef, Sequence[JsonObject]], Awaitable[bool]],
        leave_event: Callable[[ClaimRef, str, str], Awaitable[None]],
        clock: Clock,
        metrics: Metrics,
        *,
        subject: str,
    ) -> None:
        self._bookings = bookings
        self._apply = apply
        self._leave_event = leave_event
        self._clock = clock
        self._metrics = metrics
        self._subject = subject
        self._refused: dict[str, Report] = {}  # by UID, the oldest first
        self._due: asyncio.Queue[Report] = asyncio.Queue()
        self._places = Places(total=WRITES_MAX, each=1)

    def note(self, claim: Claim, text: str) -> None:
        """Have a claim's status say why it was refused; nothing happens if it says so already."""
        before = self._refused.get(claim.uid)
        failures = dict.fromkeys((device.key for device in claim.devices), text)
        now = self._clock.now()
        report = compose(Booking.of(claim), (), failures, before, now, refused=True)
        if before is not None and before.devices == report.devices:
            return
        if before is None and not self._has_room(claim.namespace):
            return  # the API server is away, or slow: there is room when kubelet asks again
        self._refused[claim.uid] = report
        self._due.put_nowait(report)

    def forget(self, claim_uid: str) -> None:
        """Forget a claim that has its devices now; the journal knows what is to be reported."""
        self._refused.pop(claim_uid, None)

    async def run(self) -> None:
        """Write until cancelled. Each call begins with what an earlier one left."""
        self._due = asyncio.Queue()
        for report in self._refused.values():
            if not report.written:
                self._due.put_nowait(report)
        async with asyncio.TaskGroup() as group:
            while True:
                group.create_task(self._deliver(await self._due.get()))

    def _has_room(self, namespace: str) -> bool:
        """Whether there is room for one more, once the oldest that is written was forgotten."""
        ours = [uid for uid, each in self._refused.items() if each.claim.namespace == namespace]
        for uids, limit in ((ours, NAMESPACE_KEPT), (self._refused, KEPT)):
            if len(uids) >= limit:
                oldest = next((uid for uid in uids if self._refused[uid].written), None)
                if oldest is None:
                    return False
                del self._refused[oldest]
        return True

    async def _deliver(self, report: Report) -> None:
        """Write a report, if need be again and again. Raises nothing."""
        delays_s = iter(DELAYS_S)
        with concerning(report.claim):
            while True:
                try:
                    async with self._places.hold(report.claim.namespace):
                        await self._write(report)
                        return
                except Exception as error:  # noqa: BLE001 (the next refusal tries again)
                    delay_s = next(delays_s, None)
                    if delay_s is None or not isinstance(error, (*TRANSIENT, HostError)):
                        self._give_up(report, error)
                        return
                self._metrics.note_retry("report")
                await self._clock.sleep(delay_s)

    async def _write(self, report: Report) -> None:
        claim = report.claim
        if self._refused.get(claim.uid) != report or claim.uid in self._bookings:
            return  # there is another reason by now, or none
        with self._metrics.timed("report"), doing("report", claim):
            there = await self._apply(claim, device_statuses(report, self._subject))
        if not there:
            log.info("report.gone")
            self.forget(claim.uid)
            return
        if self._refused.get(claim.uid) == report:
            self._refused[claim.uid] = msgspec.structs.replace(report, written=True)
        log.info("report.done", pods=[], ready=False)
        await self._leave_event(claim, f"{self._subject}NotReady", report.devices[0].message)

    def _give_up(self, report: Report, error: Exception) -> None:
        """Leave it until kubelet asks again, which is then news."""
        explain("report.failed", error, claim_uid=report.claim.uid)
        if self._refused.get(report.claim.uid) == report:
            del self._refused[report.claim.uid]
