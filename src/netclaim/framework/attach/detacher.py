"""Detach: undo attachments, from what the journal knows of them.

Promise: an attachment is in the journal as `detaching` before the driver is called, and until the
driver has undone it. What can never be undone is given up some day, with an event at its claim:
sooner if it never was in the pod. Limit: the caller is alone with the pod, and tries again what
failed.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import msgspec
import structlog

from netclaim.framework.attach.errors import DetachError
from netclaim.framework.attach.followers import Followers
from netclaim.framework.attach.sandbox import HasNetns
from netclaim.framework.contract import NetworkDriver, NotBegunError
from netclaim.framework.journal.journal import Journal
from netclaim.framework.journal.records import Lease, pods_of
from netclaim.framework.journal.store import JournalError
from netclaim.framework.telemetry.logs import brief, explain
from netclaim.framework.telemetry.subject import concerning, doing
from netclaim.framework.tools.clock import Clock
from netclaim.model.on_node.attachment import Attachment, AttachmentKey

log = structlog.get_logger()


# A detach that was cut off after so long hangs; a hook cuts one off after a second or two.
HUNG_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class _Patience:
    """When a detach that keeps failing is given up."""

    tries: int
    for_s: float


# Of what never was in the pod only an address may be left. Kubelet keeps a deleted pod until its
# claims are released, and its user waits: long enough for a plugin's daemon to restart.
NEVER_ATTACHED: Final = _Patience(tries=3, for_s=20.0)
# Of what was, a link may be left behind: long enough for somebody to read the log.
ATTACHED: Final = _Patience(tries=10, for_s=600.0)


@dataclass(slots=True)
class Detacher:
    """Has the driver undo attachments."""

    driver: NetworkDriver
    journal: Journal
    followers: Followers
    clock: Clock
    has_netns: HasNetns
    _failing: dict[AttachmentKey, tuple[int, float]] = field(default_factory=dict)  # often, since

    async def undo(self, leases: Iterable[Lease]) -> None:
        """Detach, all at a time; those that fail stay in the journal as `detaching`."""
        todo = [lease.undone(self._as_it_is(lease.attachment)) for lease in leases]
        if not todo:
            return
        await self.journal.put_leases(todo)
        for pod in pods_of(todo):
            self.followers.marks.note_incomplete(pod.id)
        errors: list[Exception] = []
        async with asyncio.TaskGroup() as group:
            for lease in todo:
                group.create_task(self._detach(lease, errors))
        self.followers.count()
        for pod in pods_of(todo):
            if not self.journal.leases_of_sandbox(pod.id):
                self.followers.marks.note_ended(pod.id)
        for claim_uid in {lease.attachment.plan.claim.uid for lease in todo}:
            self.followers.note_undone(claim_uid)
        if errors:
            text = brief("; ".join(map(str, errors)))
            raise DetachError(text) from ExceptionGroup(text, errors)

    async def _detach(self, lease: Lease, errors: list[Exception]) -> None:
        with concerning(lease.attachment.plan.claim, lease.attachment.pod):
            await self._detach_named(lease, errors)

    async def _detach_named(self, lease: Lease, errors: list[Exception]) -> None:
        attachment = lease.attachment
        at = {"at": attachment.plan.where}
        started_s = self.clock.monotonic()
        try:
            with self.followers.metrics.timed("detach"), doing("detach", attachment.plan.claim):
                await self.driver.detach(attachment)
            await self.journal.drop_lease(lease.dropped())
        except Exception as error:  # noqa: BLE001 (the driver's code; logged and tried again)
            text = explain("detach.failed", error, **at)
            try:
                given_up = await self._given_up(lease, error, text)
            except JournalError as fault:
                explain("detach.failed", fault, **at)
                given_up = False
            if not given_up:
                errors.append(error)
                self.followers.metrics.note_retry("detach")
        except asyncio.CancelledError:
            if self.clock.monotonic() - started_s >= HUNG_S:
                self._count_failure(attachment.key)
            raise
        else:
            self._failing.pop(attachment.key, None)
            log.info("detach.done", **at)

    async def _given_up(self, lease: Lease, error: Exception, text: str) -> bool:
        """Whether this was the last attempt; then the attachment is forgotten, with an event."""
        attachment = lease.attachment
        if isinstance(error, NotBegunError):
            return False
        tries, since_s = self._count_failure(attachment.key)
        patience = ATTACHED if attachment.interface is not None else NEVER_ATTACHED
        took_s = self.clock.monotonic() - since_s
        if tries < patience.tries or took_s < patience.for_s:
            return False
        await self.journal.drop_lease(lease.dropped())
        del self._failing[attachment.key]
        self.followers.metrics.given_up_detaches.inc()
        pod, device = attachment.pod, attachment.plan.device.device
        message = f"gave up releasing {device} of pod {pod.name} after {tries} attempts: {text}"
        log.error("detach.given_up", at=attachment.plan.where, error=text)
        self.followers.reports.give_up(attachment.plan.claim, message)
        return True

    def _count_failure(self, key: AttachmentKey) -> tuple[int, float]:
        if len(self._failing) > 2 * len(self.journal.leases):
            self._failing = {k: v for k, v in self._failing.items() if k in self.journal.leases}
        tries, since_s = self._failing.get(key, (0, self.clock.monotonic()))
        self._failing[key] = (tries + 1, since_s)
        return self._failing[key]

    def _as_it_is(self, attachment: Attachment) -> Attachment:
        """The attachment with no namespace if that has gone since."""
        if self.has_netns(attachment.pod):
            return attachment
        pod = msgspec.structs.replace(attachment.pod, netns=None)
        return msgspec.structs.replace(attachment, pod=pod)
