"""Attach: a pod's planned devices into its sandbox, and back.

Promise: every attachment is in the journal before the driver is called for it; the driver's calls
for one pod never overlap; may be called twice. Decides nothing, prepare already did; but a claim
whose failures held up the node has to wait. Limit: knows no deadline; whoever calls cancels in
time, and what that leaves behind is undone by the next call for the sandbox or by `finish`. Nor
does it know whether a failure is rolled back; whoever does calls `tell_failure` afterwards.
"""

from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager

import structlog

from netclaim.framework.attempt import (
    AttachError,
    Attempt,
    Failure,
    NoNamespaceError,
    carry_out,
    failure_texts,
)
from netclaim.framework.contract import NetworkDriver, NotBegunError
from netclaim.framework.detach import Detacher, DetachError, Reports
from netclaim.framework.fairness import HookTime, NotYetError
from netclaim.framework.journal import Journal
from netclaim.framework.limits import Limits
from netclaim.framework.locks import KeyedLock
from netclaim.framework.logs import brief
from netclaim.framework.marks import ContainerFacts, SandboxMarks
from netclaim.framework.metrics import Metrics
from netclaim.framework.netns import HasNetns
from netclaim.framework.pod_plans import NotPreparedError, PodPlans
from netclaim.framework.presence import Presence
from netclaim.framework.records import Lease, pods_of
from netclaim.framework.subject import (
    claim_fields,
    claims_fields,
    concerning,
    pod_fields,
)
from netclaim.model.attachment import Attachment
from netclaim.model.plan import Plan
from netclaim.model.pod import PodSandbox
from netclaim.model.prepared import ClaimRef

__all__ = ["AttachError", "Attacher", "NoNamespaceError"]

log = structlog.get_logger()


class Attacher:
    """Puts devices into sandboxes and takes them out again."""

    def __init__(
        self,
        driver: NetworkDriver,
        journal: Journal,
        plans: PodPlans,
        detacher: Detacher,
        *,
        reports: Reports,
        marks: SandboxMarks,
        facts: ContainerFacts,
        metrics: Metrics,
        hook_time: HookTime,
        limits: Limits,
        has_netns: HasNetns,
    ) -> None:
        self._driver = driver
        self._journal = journal
        self._plans = plans
        self._detacher = detacher
        self._reports = reports
        self._marks = marks
        self._facts = facts
        self._metrics = metrics
        self._hook_time = hook_time
        self._limits = limits
        self._has_netns = has_netns
        self._presence = Presence(driver, journal)
        # By pod: its sandboxes take each other's devices back, and would wait for each other.
        self._locks = KeyedLock()
        self._failures: dict[str, Failure] = {}  # by sandbox, until they are told

    async def attach(self, pod: PodSandbox, *, hooked: bool = False) -> None:
        """Attach whatever the pod has not got yet. Again: returns at once.

        `hooked`: the runtime waits, so that a claim which failed at its cost lately is refused with
        NotYetError. Raises AttachError with the devices that succeeded still attached;
        `release_sandbox` rolls them back, and `tell_failure` shows the reason on the claims.
        """
        async with self._at(pod):
            plans = await self._plans.of(pod)
            attempt = Attempt([plan for plan in plans if not self._is_attached(plan, pod)])
            if attempt.missing:
                if hooked:
                    self._check_time(attempt, pod)
                try:
                    self._limits.check_pod(pod, len(plans))
                    await self._attach_missing(attempt, pod)
                except BaseException as error:
                    texts = failure_texts(attempt.missing, pod, error)
                    self._failures[pod.id] = Failure(texts, attempt.blamed())
                    raise
            if plans:
                self._marks.note_complete(pod.id)
            self._hook_time.note_success((pod.uid, *attempt.claims()))
            for claim_uid in attempt.claims():
                self._reports.touch(claim_uid, {})

    async def lacks(self, pod: PodSandbox) -> bool:
        """Whether there is anything to attach, or to note as complete, for a pod."""
        return bool(await self._plans.of(pod))

    def tell_failure(self, sandbox_id: str) -> frozenset[str] | None:
        """Have the claims say why the last attach of a sandbox failed. Again: nothing.

        The claims whose own devices failed; None if nothing was tried.
        """
        failure = self._failures.pop(sandbox_id, None)
        if failure is None:
            return None
        for claim_uid, by_device in failure.texts.items():
            self._reports.touch(claim_uid, by_device)
        return failure.blamed

    def is_complete(self, pod: PodSandbox) -> bool:
        """Whether a sandbox has all that is planned for its pod, as far as the journal knows."""
        try:
            plans = self._plans.known(pod)
        except NotPreparedError:
            return False
        if not plans or self._unfinished(pod.id):
            return False
        return all(self._is_attached(plan, pod) for plan in plans)

    def sandbox(self, sandbox_id: str) -> PodSandbox | None:
        """A sandbox in which something was begun."""
        return next(iter(pods_of(self._journal.leases_of_sandbox(sandbox_id))), None)

    async def release_sandbox(self, pod: PodSandbox) -> None:
        """Detach everything of a sandbox. Again, or for an unknown one: nothing."""
        async with self._at(pod):
            await self._detacher.undo(self._journal.leases_of_sandbox(pod.id))

    async def release_claim(self, claim_uid: str) -> None:
        """Detach everything of a claim. Again, or for an unknown one: nothing."""
        for pod in pods_of(self._journal.leases_of_claim(claim_uid)):
            async with self._at(pod):
                here = self._journal.leases_of_sandbox(pod.id)
                mine = [le for le in here if le.attachment.plan.claim.uid == claim_uid]
                await self._detacher.undo(mine)

    def users(self, claim_uid: str) -> tuple[PodSandbox, ...]:
        """The sandboxes that have, or are getting, something of the claim, and have not ended."""
        leases = self._journal.leases_of_claim(claim_uid)
        return tuple(pod for pod in pods_of(leases) if self._has_netns(pod))

    def holders(self, *, beyond: Collection[str]) -> tuple[PodSandbox, ...]:
        """The sandboxes that have a device which is not among these."""
        held = (lease for lease in self._journal.leases.values() if lease.done)
        return pods_of(le for le in held if le.attachment.plan.device.device not in beyond)

    async def give_up_lost(self, pod: PodSandbox) -> bool:
        """Take note of interfaces that are no longer in the pod; whether there are any.

        The next attach of the sandbox, or `finish`, undoes what is left of them.
        """
        async with self._at(pod):
            lost = await self._presence.lost(pod)
            await self._journal.put_leases(Lease(each, "detaching") for each in lost)
            if lost:
                self._marks.note_incomplete(pod.id)
        for each in lost:
            device = each.plan.device
            fields = claim_fields(each.plan.claim) | pod_fields(pod)
            log.warning("attach.lost", **fields, at=each.plan.where)
            text = f"the interface on {device.device} is no longer in the pod"
            self._reports.touch(each.plan.claim.uid, {device.key: text})
        return bool(lost)

    async def check(self, pod: PodSandbox) -> None:
        """Raise AttachError if the pod lacks what it should have, or has it otherwise.

        Again: looks again.
        """
        async with self._at(pod):
            missing = [p for p in await self._plans.of(pod) if not self._is_attached(p, pod)]
            errors = await self._presence.faults(pod, missing)
        if errors:
            text = brief("; ".join(sorted({str(error) for error in errors.values()})))
            raise AttachError(errors, text)

    async def take_over(
        self, pod: PodSandbox, attachments: Iterable[Attachment], unreported: Iterable[Plan]
    ) -> None:
        """Know of attachments again that the pod still has. Again: nothing.

        Of `unreported` plans the driver itself may know whether, and how, they were carried out.
        """
        async with self._at(pod):
            recalled = await self._presence.recalled(pod, unreported)
            there = await self._presence.unknown([*attachments, *recalled])
            await self._journal.put_leases(Lease(attachment, "attached") for attachment in there)
            if there:
                self._marks.note_begun(pod.id)
            for claim_uid in {attachment.plan.claim.uid for attachment in there}:
                self._facts.refresh(claim_uid)
        for attachment in recalled:
            self._reports.touch(attachment.plan.claim.uid, {})
        self.count()

    def unfinished(self) -> tuple[PodSandbox, ...]:
        """The sandboxes in which something was begun and is not done or undone."""
        return pods_of(lease for lease in self._journal.leases.values() if not lease.done)

    async def finish(self, pod: PodSandbox) -> None:
        """Undo whatever was begun in a sandbox and not finished. Again: nothing.

        Raises DetachError if something is left. What is under way is waited for first.
        """
        async with self._at(pod):
            await self._detacher.undo(self._unfinished(pod.id))

    def count(self) -> None:
        """Bring the metrics in line with the journal."""
        self._detacher.count()

    def claims_of(self, pod: PodSandbox) -> tuple[ClaimRef, ...]:
        """The claims that are known to be a pod's, for messages."""
        bookings = self._journal.bookings.values()
        return tuple(booking.claim for booking in bookings if pod.uid in booking.pods)

    @asynccontextmanager
    async def _at(self, pod: PodSandbox) -> AsyncIterator[None]:
        """Be alone with a pod, which what is logged names."""
        with concerning(pod=pod):
            async with self._locks.hold(pod.uid):
                yield

    def _check_time(self, attempt: Attempt, pod: PodSandbox) -> None:
        """Refuse claims that have to wait; those that say nothing about it yet are to say so."""
        try:
            self._hook_time.check_claims(
                pod, {uid: self._is_ready(uid) for uid in attempt.claims()}
            )
        except NotYetError as error:
            silent = [p for p in attempt.missing if p.claim.uid not in self._journal.reports]
            self._failures[pod.id] = Failure(failure_texts(silent, pod, error), blamed=None)
            raise

    def _is_ready(self, claim_uid: str) -> bool:
        """Whether the last that was reported of all the claim's devices is success."""
        report = self._journal.reports.get(claim_uid)
        return report is not None and all(device.ready for device in report.devices)

    async def _attach_missing(self, attempt: Attempt, pod: PodSandbox) -> None:
        if pod.netns is None:
            raise NoNamespaceError
        await self._release_earlier(pod)
        await self._detacher.undo(self._unfinished(pod.id))
        with self._metrics.timed("attach"):
            await self._attach_all(attempt, pod)
        for claim_uid in attempt.claims():  # before there is a container that could read it
            self._facts.refresh(claim_uid)

    async def _release_earlier(self, pod: PodSandbox) -> None:
        """Take back what the pod's earlier sandboxes have: the runtime may not tell of their end.

        What is left of attaches that failed is no reason to refuse the next one.
        """
        of_pod = [le for le in self._journal.leases.values() if le.attachment.pod.uid == pod.uid]
        earlier = [lease for lease in of_pod if lease.attachment.pod.id != pod.id]
        try:
            await self._detacher.undo(earlier)
        except DetachError as error:
            if any(le.attachment.interface and self._is_known(le) for le in earlier):
                raise
            log.warning("detach.postponed", error=str(error))

    async def _attach_all(self, attempt: Attempt, pod: PodSandbox) -> None:
        self._marks.note_begun(pod.id)
        begun = [Attachment(plan=plan, pod=pod) for plan in attempt.missing]
        await self._journal.put_leases(Lease(attachment, "attaching") for attachment in begun)
        attempt.begun = True
        await carry_out(self._driver, begun, attempt)
        done, errors = attempt.done, attempt.errors
        await self._journal.put_leases(
            (Lease(attachment, "attached") for attachment in done),
            dropped=(key for key, error in errors.items() if isinstance(error, NotBegunError)),
        )
        self.count()
        if errors:
            failed = [(a.plan, errors[a.key]) for a in begun if a.key in errors]
            text = brief("; ".join(f"{plan.where}: {error}" for plan, error in failed))
            raise AttachError(errors, text) from ExceptionGroup(text, list(errors.values()))
        claims = {each.plan.claim.uid: each.plan.claim for each in done}
        log.info("attach.done", **claims_fields(claims.values()), devices=len(done))

    def _is_known(self, lease: Lease) -> bool:
        return lease.attachment.key in self._journal.leases

    def _is_attached(self, plan: Plan, pod: PodSandbox) -> bool:
        lease = self._journal.leases.get((plan.claim.uid, pod.id, plan.device.key))
        return lease is not None and lease.done

    def _unfinished(self, sandbox_id: str) -> list[Lease]:
        """Under the pod's lock nobody is at work on these: they are leftovers."""
        here = self._journal.leases_of_sandbox(sandbox_id)
        return [lease for lease in here if not lease.done]
