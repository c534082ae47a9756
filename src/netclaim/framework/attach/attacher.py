"""Attach: what a sandbox lacks of its pod's plans, by calls of the driver.

Promise: every attachment is in the journal before the driver is called for it; the driver's calls
for one pod never overlap, but those for its devices run side by side, and one that fails leaves the
others alone. Decides nothing, prepare already did; but a claim whose failures held up the node has
to wait. Limit: one try without a deadline. What a failure or its caller's cancelling leaves behind
is undone by the next call for the sandbox. What an interface of a running pod had is remembered by
this process alone, until the interface is made again.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec
import structlog

from netclaim.errors import NetclaimError, PeerError
from netclaim.framework.attach.detacher import Detacher
from netclaim.framework.attach.errors import AttachError, DetachError, NoNamespaceError
from netclaim.framework.attach.followers import Followers
from netclaim.framework.attach.hook_budget import HookTime
from netclaim.framework.attach.sandbox import HasNetns, Sandbox
from netclaim.framework.contract import NetworkDriver, NotBegunError
from netclaim.framework.journal.journal import Journal
from netclaim.framework.journal.pod_plans import NotPreparedError, PodPlans
from netclaim.framework.journal.records import Lease, pods_of
from netclaim.framework.telemetry.logs import brief, explain
from netclaim.framework.telemetry.subject import (
    claim_fields,
    claims_fields,
    concerning,
    doing,
    pod_fields,
)
from netclaim.framework.tools.locks import KeyedLock
from netclaim.model.on_node.attachment import Attachment, AttachmentKey, Interface
from netclaim.model.on_node.plan import Plan
from netclaim.model.on_node.pod import PodSandbox

log = structlog.get_logger()


@dataclass(slots=True)
class Attacher:
    """Puts devices into sandboxes, and has them taken out again."""

    driver: NetworkDriver
    journal: Journal
    plans: PodPlans
    detacher: Detacher
    followers: Followers
    hook_time: HookTime
    check_devices: Callable[[PodSandbox, int], None]  # raises if it is more than a pod may have
    has_netns: HasNetns
    # By pod: its sandboxes take each other's devices back, and would wait for each other.
    _locks: KeyedLock = field(default_factory=KeyedLock)

    @asynccontextmanager
    async def alone_with(self, pod: PodSandbox) -> AsyncIterator[None]:
        """Be the only one who calls the driver for a pod, which what is logged names."""
        with concerning(pod=pod):
            async with self._locks.hold(pod.uid):
                yield

    async def attach(self, sandbox: Sandbox, *, hooked: bool) -> None:
        """Attach whatever the sandbox has not got yet, alone with its pod.

        `hooked`: the runtime waits, so that a claim which failed at its cost lately is refused with
        NotYetError. Raises AttachError with the devices that succeeded still attached.
        """
        pod = sandbox.pod
        plans = self.plans.known(pod)
        for plan in sandbox.plans:  # a claim may have been released since they were looked up
            if plan.claim not in {each.claim for each in plans}:
                raise NotPreparedError(plan.claim)
        sandbox.missing = tuple(plan for plan in plans if not self._is_attached(plan, pod))
        claims = {plan.claim.uid: None for plan in sandbox.missing}
        if sandbox.missing:
            if hooked:
                self.hook_time.check_claims(pod, {uid: self._was_ready(uid) for uid in claims})
            sandbox.blamed = frozenset()
            self.check_devices(pod, len(plans))
            await self._attach_missing(sandbox)
            for claim_uid in claims:  # before there is a container that could read it
                self.followers.facts.refresh(claim_uid)
        if plans:
            self.followers.marks.note_complete(pod.id)
        self.hook_time.note_success((pod.uid, *claims))
        for claim_uid in claims:
            self.followers.reports.touch(claim_uid, {})

    def is_complete(self, pod: PodSandbox) -> bool:
        """Whether a sandbox has all that is planned for its pod, as far as the journal knows."""
        try:
            plans = self.plans.known(pod)
        except NotPreparedError:
            return False
        if not plans or self._half_done(pod.id):
            return False
        return all(self._is_attached(plan, pod) for plan in plans)

    def rewrite_marks(self) -> None:
        """Leave on the disk exactly what the journal knows of plans and sandboxes."""
        self.followers.marks.begin(self.journal, self.is_complete)

    def users(self, claim_uid: str) -> tuple[PodSandbox, ...]:
        """The sandboxes that have, or are getting, something of the claim, and have not ended."""
        leases = self.journal.leases_of_claim(claim_uid)
        return tuple(pod for pod in pods_of(leases) if self.has_netns(pod))

    async def release_claim(self, claim_uid: str) -> None:
        """Detach everything of a claim."""
        for pod in pods_of(self.journal.leases_of_claim(claim_uid)):
            async with self.alone_with(pod):
                here = self.journal.leases_of_sandbox(pod.id)
                mine = [le for le in here if le.attachment.plan.claim.uid == claim_uid]
                await self.detacher.undo(mine)

    async def release(self, pod: PodSandbox) -> None:
        """Detach everything of a sandbox that has ended, alone with its pod."""
        await self.detacher.undo(self.journal.leases_of_sandbox(pod.id))
        await self.journal.drop_lost(pod.id)

    async def finish(self, pod: PodSandbox) -> None:
        """Undo whatever was begun in a sandbox and is not done, alone with its pod."""
        leases = self._half_done(pod.id)
        here = (lease.attachment for lease in leases)
        had = {each.key: each.interface for each in here if each.interface is not None}
        if had and self.has_netns(pod):  # else nothing is made again in it
            await self.journal.put_lost(had)
        await self.detacher.undo(leases)

    async def give_up_lost(self, pod: PodSandbox) -> int:
        """Take note of interfaces that are no longer in the pod; returns how many there are.

        Those that are there are mended. The next attach of the sandbox, or `finish`, undoes what is
        left of the others.
        """
        async with self.alone_with(pod):
            done = [each for each in self.journal.leases_of_sandbox(pod.id) if each.done]
            lost = [each for each in done if not await self._is_there(each.attachment)]
            await self.journal.put_leases(lease.undone() for lease in lost)
            if lost:
                self.followers.marks.note_incomplete(pod.id)
        for each in (lease.attachment for lease in lost):
            device = each.plan.device
            fields = claim_fields(each.plan.claim) | pod_fields(pod)
            why = self.driver.why_lost(each)
            log.warning(
                "attach.lost", **fields, at=each.plan.where, **({"why": why} if why else {})
            )
            gone = f"cannot be used any more: {why}" if why else "is no longer in the pod"
            text = f"the interface on {device.device} {gone}"
            self.followers.reports.touch(each.plan.claim.uid, {device.key: text})
        return len(lost)

    async def check(self, pod: PodSandbox) -> None:
        """Raise AttachError if the pod lacks what it should have, or has it otherwise."""
        async with self.alone_with(pod):
            errors: dict[AttachmentKey, Exception] = {
                (plan.claim.uid, pod.id, plan.device.key): PeerError(
                    f"the pod lacks its interface on {plan.device.device}"
                )
                for plan in await self.plans.of(pod)
                if not self._is_attached(plan, pod)
            }
            for lease in self.journal.leases_of_sandbox(pod.id):
                if lease.done:
                    try:
                        await self.driver.check(lease.attachment)
                    except NetclaimError as error:
                        errors[lease.attachment.key] = error
        if errors:
            text = brief("; ".join(sorted({str(error) for error in errors.values()})))
            raise AttachError(errors, text)

    async def take_over(
        self, pod: PodSandbox, attachments: Iterable[Attachment], unreported: Iterable[Plan]
    ) -> None:
        """Know of attachments again that the pod still has.

        Of `unreported` plans the driver itself may know whether, and how, they were carried out.
        """
        async with self.alone_with(pod):
            asked = [await self.driver.recall(plan, pod) for plan in unreported]
            recalled = [each for each in asked if each is not None]
            # Of two that are the same, the driver's own counts.
            said = {each.key: each for each in (*attachments, *recalled)}
            unknown = [each for key, each in said.items() if key not in self.journal.leases]
            there = [each for each in unknown if await self._is_there(each)]
            await self.journal.put_leases(Lease.taken_over(each) for each in there)
            if there:
                self.followers.marks.note_begun(pod.id)
            for claim_uid in {each.plan.claim.uid for each in there}:
                self.followers.facts.refresh(claim_uid)
        for each in recalled:
            self.followers.reports.touch(each.plan.claim.uid, {})
        self.followers.count()

    async def _is_there(self, attachment: Attachment) -> bool:
        """Whether the pod has an interface; then what it may have lost of it is put right."""
        if not await self.driver.is_attached(attachment):
            return False
        await self.driver.mend(attachment)
        return True

    def _was_ready(self, claim_uid: str) -> bool:
        """Whether the last that was reported of all the claim's devices is success."""
        report = self.journal.reports.get(claim_uid)
        return report is not None and all(device.ready for device in report.devices)

    async def _attach_missing(self, sandbox: Sandbox) -> None:
        pod = sandbox.pod
        if pod.netns is None:
            raise NoNamespaceError
        await self._release_earlier(pod)
        await self.finish(pod)
        with self.followers.metrics.timed("attach"):
            await self._attach_all(sandbox)

    async def _release_earlier(self, pod: PodSandbox) -> None:
        """Take back what the pod's earlier sandboxes have: the runtime may not report their end.

        What is left of attaches that failed is no reason to refuse the next one.
        """
        of_pod = self.journal.leased.group("pod", pod.uid)
        earlier = [lease for lease in of_pod if lease.attachment.pod.id != pod.id]
        try:
            await self.detacher.undo(earlier)
        except DetachError as error:
            kept = [each for each in earlier if each.attachment.key in self.journal.leases]
            if any(each.attachment.interface for each in kept):
                raise
            log.warning("detach.postponed", error=str(error))

    async def _attach_all(self, sandbox: Sandbox) -> None:
        pod = sandbox.pod
        self.followers.marks.note_begun(pod.id)
        begun = [Lease.begun(Attachment(plan=plan, pod=pod)) for plan in sandbox.missing]
        try:
            await self.journal.put_leases(begun)
        except asyncio.CancelledError:  # it is written all the same, and the next one must see it
            await self.journal.settle()
            raise
        done, errors = await self._carry_out(sandbox, begun)
        await self.journal.put_leases(
            [lease.attached(done[key]) for lease in begun if (key := lease.attachment.key) in done],
            dropped=[
                lease.taken_back()
                for lease in begun
                if isinstance(errors.get(lease.attachment.key), NotBegunError)
            ],
        )
        self.followers.count()
        if errors:
            attempted = {lease.attachment.key: lease.attachment.plan.where for lease in begun}
            failed = [f"{at}: {errors[key]}" for key, at in attempted.items() if key in errors]
            text = brief("; ".join(failed))
            raise AttachError(errors, text) from ExceptionGroup(text, list(errors.values()))
        claims = {plan.claim.uid: plan.claim for plan in sandbox.missing}
        log.info("attach.done", **claims_fields(claims.values()), devices=len(done))

    async def _carry_out(
        self, sandbox: Sandbox, begun: Iterable[Lease]
    ) -> tuple[Mapping[AttachmentKey, Attachment], Mapping[AttachmentKey, Exception]]:
        """Call the driver for each attachment: those that it made, and what others failed of."""
        done: dict[AttachmentKey, Attachment] = {}
        errors: dict[AttachmentKey, Exception] = {}
        undone = {lease.attachment.key: lease.attachment for lease in begun}

        async def attach_one(begun: Attachment) -> None:
            plan, pod = begun.plan, begun.pod
            try:
                with doing("attach", plan.claim, pod):
                    had = self.journal.lost.get(begun.key)
                    attachment = await self._attach_one(plan, pod, had)
            except Exception as error:  # noqa: BLE001 (the driver's code; reported and undone)
                explain("attach.failed", error, **claim_fields(plan.claim), at=plan.where)
                errors[begun.key] = error
            else:
                # Plan and pod are ours: what is undone later is what was begun.
                done[begun.key] = msgspec.structs.replace(attachment, plan=plan, pod=pod)
                self._note_made_again(done[begun.key])
                del undone[begun.key]
                sandbox.blamed = frozenset(uid for uid, _, _ in undone)

        sandbox.blamed = frozenset(uid for uid, _, _ in undone)
        async with asyncio.TaskGroup() as group:
            for attachment in tuple(undone.values()):
                group.create_task(attach_one(attachment))
        return done, errors

    async def _attach_one(self, plan: Plan, pod: PodSandbox, had: Interface | None) -> Attachment:
        if had is None:
            return await self.driver.attach(plan, pod)
        return await self.driver.reattach(plan, pod, had)

    def _note_made_again(self, attachment: Attachment) -> None:
        """Leave an event if a running pod got back an interface that it had lost, or another."""
        had, now = self.journal.lost.get(attachment.key), attachment.interface
        if had is None or now is None:
            return
        plan, pod, same = attachment.plan, attachment.pod, now == had
        text = f"the interface {now.name} of pod {pod.name} was made again and has {_shown(now)}"
        if same:
            log.info("attach.restored", **claim_fields(plan.claim), at=plan.where)
            text += " as before"
        else:
            log.warning("attach.changed", **claim_fields(plan.claim), at=plan.where)
            text += f"; before it had {_shown(had)}"
        self.followers.reports.note_made_again(plan.claim, text, same=same)

    def _is_attached(self, plan: Plan, pod: PodSandbox) -> bool:
        lease = self.journal.leases.get((plan.claim.uid, pod.id, plan.device.key))
        return lease is not None and lease.done

    def _half_done(self, sandbox_id: str) -> list[Lease]:
        """Alone with the pod nobody is at work on these: they are leftovers."""
        here = self.journal.leases_of_sandbox(sandbox_id)
        return [lease for lease in here if not lease.done]


def _shown(interface: Interface) -> str:
    return ", ".join(filter(None, (*interface.ips, interface.hardware_address))) or "no address"
