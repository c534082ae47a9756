"""Detach: undo attachments, from what the journal knows of them.

Promise: an attachment is in the journal as `detaching` before the driver is called, and until the
driver has undone it. What can never be undone is given up some day, with an event at its claim:
sooner if it never was in the pod. May be called twice. Limit: whoever calls sees to it that calls
for one pod do not overlap, and tries again what failed.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import msgspec
import structlog

from netclaim.errors import HostError, PeerError
from netclaim.framework.clock import Clock
from netclaim.framework.contract import NetworkDriver, NotBegunError
from netclaim.framework.journal import Journal
from netclaim.framework.logs import brief, explain
from netclaim.framework.marks import ContainerFacts, SandboxMarks
from netclaim.framework.metrics import Metrics
from netclaim.framework.netns import HasNetns
from netclaim.framework.records import Lease, pods_of
from netclaim.framework.store import JournalError
from netclaim.framework.subject import concerning, doing
from netclaim.model.attachment import Attachment, AttachmentKey
from netclaim.model.claim import DeviceKey
from netclaim.model.prepared import ClaimRef

__all__ = ["DetachError", "Detacher", "Reports"]

log = structlog.get_logger()


class Reports(Protocol):
    """Where to say that something about a claim's devices changed."""

    def touch(self, claim_uid: str, failures: Mapping[DeviceKey, str]) -> None:
        """The claim's attachments are now as the journal has them, and these devices failed."""
        ...

    def look_again(self, claim_uid: str) -> None:
        """The claim's attachments are now as the journal has them; failures are as before."""
        ...

    def give_up(self, claim: ClaimRef, text: str) -> None:
        """Something of the claim could not be undone and is not tried again: leave an event."""
        ...


class DetachError(PeerError):
    """Attachments could not be undone; they are kept, to be undone later."""


# A detach that was cut off after so long hangs; a hook cuts one off after a second or two.
HUNG_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class _Patience:
    """When a detach that keeps failing is given up."""

    tries: int
    for_s: float


# Of what never was in the pod only an address may be left. Kubelet keeps a deleted pod until its
# claims are released, and whoever deleted it waits: long enough for a plugin's daemon to restart.
NEVER_ATTACHED: Final = _Patience(tries=3, for_s=20.0)
# Of what was, a link may be left behind: long enough for somebody to read the log.
ATTACHED: Final = _Patience(tries=10, for_s=600.0)


class Detacher:
    """Has the driver undo attachments."""

    def __init__(
        self,
        driver: NetworkDriver,
        journal: Journal,
        *,
        reports: Reports,
        marks: SandboxMarks,
        facts: ContainerFacts,
        metrics: Metrics,
        clock: Clock,
        has_netns: HasNetns,
    ) -> None:
        self._driver = driver
        self._journal = journal
        self._reports = reports
        self._marks = marks
        self._facts = facts
        self._metrics = metrics
        self._clock = clock
        self._has_netns = has_netns
        self._failing: dict[AttachmentKey, tuple[int, float]] = {}  # how often, and since when

    async def undo(self, leases: Iterable[Lease]) -> None:
        """Detach, all at a time; those that fail stay in the journal as `detaching`."""
        todo = [Lease(self._as_it_is(lease.attachment), "detaching") for lease in leases]
        if not todo:
            return
        await self._journal.put_leases(todo)
        for pod in pods_of(todo):
            self._marks.note_incomplete(pod.id)
        errors: list[Exception] = []
        async with asyncio.TaskGroup() as group:
            for lease in todo:
                group.create_task(self._detach(lease.attachment, errors))
        self.count()
        for pod in pods_of(todo):
            if not self._journal.leases_of_sandbox(pod.id):
                self._marks.note_ended(pod.id)
        for claim_uid in {lease.attachment.plan.claim.uid for lease in todo}:
            if any(lease.done for lease in self._journal.leases_of_claim(claim_uid)):
                self._reports.look_again(claim_uid)  # other pods still use the claim
            self._tell_containers(claim_uid)
        if errors:
            text = brief("; ".join(map(str, errors)))
            raise DetachError(text) from ExceptionGroup(text, errors)

    def _tell_containers(self, claim_uid: str) -> None:
        try:
            self._facts.refresh(claim_uid)
        except HostError as error:  # what is said of the others was true, and is put right some day
            log.warning("metadata.failed", error=str(error))

    def count(self) -> None:
        """Bring the metrics in line with the journal."""
        states = [lease.state for lease in self._journal.leases.values()]
        self._metrics.attachments.set(states.count("attached"))
        self._metrics.pending_detaches.set(states.count("detaching"))

    async def _detach(self, attachment: Attachment, errors: list[Exception]) -> None:
        with concerning(attachment.plan.claim, attachment.pod):
            await self._detach_named(attachment, errors)

    async def _detach_named(self, attachment: Attachment, errors: list[Exception]) -> None:
        at = {"at": attachment.plan.where}
        started_s = self._clock.monotonic()
        try:
            with self._metrics.timed("detach"), doing("detach", attachment.plan.claim):
                await self._driver.detach(attachment)
            await self._journal.drop_lease(attachment.key)
        except Exception as error:  # noqa: BLE001 (the driver's code; told and tried again)
            text = explain("detach.failed", error, **at)
            try:
                given_up = await self._given_up(attachment, error, text)
            except JournalError as fault:
                explain("detach.failed", fault, **at)
                given_up = False
            if not given_up:
                errors.append(error)
                self._metrics.note_retry("detach")
        except asyncio.CancelledError:
            if self._clock.monotonic() - started_s >= HUNG_S:
                self._count_failure(attachment.key)
            raise
        else:
            self._failing.pop(attachment.key, None)
            log.info("detach.done", **at)

    async def _given_up(self, attachment: Attachment, error: Exception, text: str) -> bool:
        """Whether this was the last attempt; then the attachment is forgotten, with an event."""
        if isinstance(error, NotBegunError):
            return False
        tries, since_s = self._count_failure(attachment.key)
        patience = ATTACHED if attachment.interface is not None else NEVER_ATTACHED
        took_s = self._clock.monotonic() - since_s
        if tries < patience.tries or took_s < patience.for_s:
            return False
        await self._journal.drop_lease(attachment.key)
        del self._failing[attachment.key]
        self._metrics.given_up_detaches.inc()
        pod, device = attachment.pod, attachment.plan.device.device
        message = f"gave up releasing {device} of pod {pod.name} after {tries} attempts: {text}"
        log.error("detach.given_up", at=attachment.plan.where, error=text)
        self._reports.give_up(attachment.plan.claim, message)
        return True

    def _count_failure(self, key: AttachmentKey) -> tuple[int, float]:
        self._failing = {k: v for k, v in self._failing.items() if k in self._journal.leases}
        tries, since_s = self._failing.get(key, (0, self._clock.monotonic()))
        self._failing[key] = (tries + 1, since_s)
        return self._failing[key]

    def _as_it_is(self, attachment: Attachment) -> Attachment:
        """The attachment with no namespace if that has gone since."""
        if self._has_netns(attachment.pod):
            return attachment
        pod = msgspec.structs.replace(attachment.pod, netns=None)
        return msgspec.structs.replace(attachment, pod=pod)
