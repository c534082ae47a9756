"""Attach: a pod's planned devices into its sandbox, and back.

Promise: every attachment is in the journal before the driver is called for it and until the driver
has undone it; the driver's calls for one sandbox never overlap; may be called twice. Decides
nothing, prepare already did; but a claim whose failures held up the node has to wait. Limit: knows
no deadline; whoever calls cancels in time, and what that leaves behind is undone by the next call
for the sandbox or by `finish`. Nor does it know whether a failure is rolled back; whoever does
calls `tell_failure` afterwards.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import msgspec
import structlog

from netclaim.errors import PeerError, RequestError
from netclaim.framework.contract import NetworkDriver, NotBegunError
from netclaim.framework.fairness import HookTime, NotYetError
from netclaim.framework.faults import brief, explain
from netclaim.framework.journal import Journal
from netclaim.framework.limits import Limits
from netclaim.framework.locks import KeyedLock
from netclaim.framework.metrics import Metrics
from netclaim.framework.pod_plans import PodPlans
from netclaim.framework.records import Lease
from netclaim.model.attachment import Attachment, AttachmentKey
from netclaim.model.claim import DeviceKey
from netclaim.model.plan import Plan
from netclaim.model.pod import PodSandbox

__all__ = ["AttachError", "Attacher", "DetachError", "HostNetworkError", "Reports"]

log = structlog.get_logger()


class Reports(Protocol):
    """Where to say that something about a claim's devices changed."""

    def touch(self, claim_uid: str, failures: Mapping[DeviceKey, str]) -> None:
        """The claim's attachments are now as the journal has them, and these devices failed."""
        ...

    def look_again(self, claim_uid: str) -> None:
        """The claim's attachments are now as the journal has them; failures are as before."""
        ...


class AttachError(PeerError):
    """Devices of a pod could not be attached; each one's own error is in `errors`."""

    def __init__(self, errors: Mapping[AttachmentKey, Exception], text: str) -> None:
        super().__init__(text)
        self.errors = errors


class HostNetworkError(RequestError):
    """A pod on the node's own network has claims on interfaces."""

    def __init__(self) -> None:
        super().__init__(
            "the pod is on the node's own network and cannot have interfaces of its own: "
            "take away hostNetwork or the claim"
        )


class DetachError(PeerError):
    """Attachments could not be undone; they are kept, to be undone later."""


@dataclass(slots=True)
class _Attempt:
    """An attach of what a sandbox has not got yet, and how far it got."""

    missing: list[Plan]
    begun: bool = False  # whether the driver was called
    done: list[Attachment] = field(default_factory=list)
    errors: dict[AttachmentKey, Exception] = field(default_factory=dict)

    def claims(self) -> frozenset[str]:
        """The claims of what was missing."""
        return frozenset(plan.claim.uid for plan in self.missing)

    def blamed(self) -> frozenset[str]:
        """The claims whose own devices failed or were cut off."""
        if not self.begun:
            return frozenset()
        done = {(each.plan.claim.uid, each.plan.device.key) for each in self.done}
        wanted = {(plan.claim.uid, plan.device.key) for plan in self.missing}
        return frozenset(claim_uid for claim_uid, _ in wanted - done)


@dataclass(frozen=True, slots=True)
class _Failure:
    """What the claims are to say of a failed attach, and the claims to blame; None: not tried."""

    texts: Mapping[str, Mapping[DeviceKey, str]]  # by claim
    blamed: frozenset[str] | None


class Attacher:
    """Puts devices into sandboxes and takes them out again."""

    def __init__(
        self,
        driver: NetworkDriver,
        journal: Journal,
        plans: PodPlans,
        *,
        reports: Reports,
        metrics: Metrics,
        hook_time: HookTime,
        limits: Limits,
        netns_exists: Callable[[str], bool],
    ) -> None:
        self._driver = driver
        self._journal = journal
        self._plans = plans
        self._reports = reports
        self._metrics = metrics
        self._hook_time = hook_time
        self._limits = limits
        self._netns_exists = netns_exists
        self._locks = KeyedLock()
        self._failures: dict[str, _Failure] = {}  # by sandbox, until they are told

    async def attach(self, pod: PodSandbox, *, hooked: bool = False) -> None:
        """Attach whatever the pod has not got yet. Again: returns at once.

        `hooked`: the runtime waits, so that a claim which failed at its cost lately is refused with
        NotYetError. Raises AttachError with the devices that succeeded still attached;
        `release_sandbox` rolls them back, and `tell_failure` shows the reason on the claims.
        """
        async with self._locks.hold(pod.id):
            plans = await self._plans.of(pod)
            attempt = _Attempt([plan for plan in plans if not self._is_attached(plan, pod)])
            if attempt.missing:
                if hooked:
                    self._check_time(attempt, pod)
                try:
                    self._limits.check_pod(pod, len(plans))
                    await self._attach_missing(attempt, pod)
                except BaseException as error:
                    texts = _texts(attempt.missing, pod, error)
                    self._failures[pod.id] = _Failure(texts, attempt.blamed())
                    raise
            self._hook_time.note_success((pod.uid, *attempt.claims()))
            for claim_uid in attempt.claims():
                self._reports.touch(claim_uid, {})

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

    async def release_sandbox(self, sandbox_id: str) -> None:
        """Detach everything of a sandbox. Again, or for an unknown one: nothing."""
        async with self._locks.hold(sandbox_id):
            await self._undo(self._journal.leases_of_sandbox(sandbox_id))

    async def release_claim(self, claim_uid: str) -> None:
        """Detach everything of a claim. Again, or for an unknown one: nothing."""
        for sandbox_id in _sandboxes(self._journal.leases_of_claim(claim_uid)):
            async with self._locks.hold(sandbox_id):
                here = self._journal.leases_of_sandbox(sandbox_id)
                await self._undo(le for le in here if le.attachment.plan.claim.uid == claim_uid)

    def users(self, claim_uid: str) -> tuple[PodSandbox, ...]:
        """The sandboxes that have, or are getting, something of the claim, and have not ended."""
        leases = self._journal.leases_of_claim(claim_uid)
        pods = {lease.attachment.pod.id: lease.attachment.pod for lease in leases}
        return tuple(pod for pod in pods.values() if self._has_netns(pod))

    def holders(self, *, beyond: Collection[str]) -> tuple[PodSandbox, ...]:
        """The sandboxes that have a device which is not among these."""
        held = (lease.attachment for lease in self._journal.leases.values() if _is_done(lease))
        pods = {each.pod.id: each.pod for each in held if each.plan.device.device not in beyond}
        return tuple(pods.values())

    async def give_up_lost(self, sandbox_id: str) -> bool:
        """Take note of interfaces that are no longer in the pod; whether there are any.

        The next attach of the sandbox, or `finish`, undoes what is left of them.
        """
        async with self._locks.hold(sandbox_id):
            lost = [
                lease.attachment
                for lease in self._journal.leases_of_sandbox(sandbox_id)
                if _is_done(lease) and not await self._driver.is_attached(lease.attachment)
            ]
            await self._journal.put_leases(Lease(each, "detaching") for each in lost)
        for each in lost:
            device = each.plan.device
            log.warning("attach.lost", pod=each.pod.name, at=_where(each.plan))
            text = f"the interface on {device.device} is no longer in the pod"
            self._reports.touch(each.plan.claim.uid, {device.key: text})
        return bool(lost)

    async def take_over(self, pod: PodSandbox, attachments: Iterable[Attachment]) -> None:
        """Know of attachments again that the pod still has. Again: nothing."""
        async with self._locks.hold(pod.id):
            unknown = [a for a in attachments if a.key not in self._journal.leases]
            there = [a for a in unknown if await self._driver.is_attached(a)]
            await self._journal.put_leases(Lease(attachment, "attached") for attachment in there)
        self.count()

    def unfinished(self) -> tuple[PodSandbox, ...]:
        """The sandboxes in which something was begun and is not done or undone."""
        leases = [lease for lease in self._journal.leases.values() if not _is_done(lease)]
        return tuple({le.attachment.pod.id: le.attachment.pod for le in leases}.values())

    async def finish(self, sandbox_id: str) -> None:
        """Undo whatever was begun in a sandbox and not finished. Again: nothing.

        Raises DetachError if something is left. What is under way is waited for first.
        """
        async with self._locks.hold(sandbox_id):
            await self._undo(self._unfinished(sandbox_id))

    def _check_time(self, attempt: _Attempt, pod: PodSandbox) -> None:
        """Refuse claims that have to wait; those that say nothing about it yet are to say so."""
        try:
            self._hook_time.check_claims(
                pod, {uid: self._is_ready(uid) for uid in attempt.claims()}
            )
        except NotYetError as error:
            silent = [p for p in attempt.missing if p.claim.uid not in self._journal.reports]
            self._failures[pod.id] = _Failure(_texts(silent, pod, error), blamed=None)
            raise

    def _is_ready(self, claim_uid: str) -> bool:
        """Whether the last that was reported of all the claim's devices is success."""
        report = self._journal.reports.get(claim_uid)
        return report is not None and all(device.ready for device in report.devices)

    async def _attach_missing(self, attempt: _Attempt, pod: PodSandbox) -> None:
        if pod.netns is None:
            raise HostNetworkError
        for sandbox_id in self._earlier_sandboxes(pod):
            await self.release_sandbox(sandbox_id)
        await self._undo(self._unfinished(pod.id))
        with self._metrics.timed("attach"):
            await self._attach_all(attempt, pod)

    async def _attach_all(self, attempt: _Attempt, pod: PodSandbox) -> None:
        begun = [Attachment(plan=plan, pod=pod) for plan in attempt.missing]
        await self._journal.put_leases(Lease(attachment, "attaching") for attachment in begun)
        attempt.begun = True
        done, errors = attempt.done, attempt.errors
        async with asyncio.TaskGroup() as group:
            for attachment in begun:
                group.create_task(self._attach_one(attachment, done, errors))
        await self._journal.put_leases(
            (Lease(attachment, "attached") for attachment in done),
            dropped=(key for key, error in errors.items() if isinstance(error, NotBegunError)),
        )
        self.count()
        if errors:
            failed = [(a.plan, errors[a.key]) for a in begun if a.key in errors]
            text = brief("; ".join(f"{_where(plan)}: {error}" for plan, error in failed))
            raise AttachError(errors, text) from ExceptionGroup(text, list(errors.values()))
        log.info("attach.done", pod=pod.name, namespace=pod.namespace, devices=len(done))

    async def _attach_one(
        self,
        begun: Attachment,
        done: list[Attachment],
        errors: dict[AttachmentKey, Exception],
    ) -> None:
        plan, pod = begun.plan, begun.pod
        try:
            attachment = await self._driver.attach(plan, pod)
        except Exception as error:  # noqa: BLE001 (the driver's code; told and undone)
            explain("attach.failed", error, pod=pod.name, at=_where(plan))
            errors[begun.key] = error
        else:
            # Plan and pod are ours: what is undone later is what was begun.
            done.append(msgspec.structs.replace(attachment, plan=plan, pod=pod))

    async def _undo(self, leases: Iterable[Lease]) -> None:
        """Detach, all at a time; those that fail stay in the journal as `detaching`."""
        todo = [Lease(self._as_it_is(lease.attachment), "detaching") for lease in leases]
        if not todo:
            return
        await self._journal.put_leases(todo)
        errors: list[Exception] = []
        async with asyncio.TaskGroup() as group:
            for lease in todo:
                group.create_task(self._detach_one(lease.attachment, errors))
        self.count()
        for claim_uid in {lease.attachment.plan.claim.uid for lease in todo}:
            if any(le.state == "attached" for le in self._journal.leases_of_claim(claim_uid)):
                self._reports.look_again(claim_uid)  # other pods still use the claim
        if errors:
            text = brief("; ".join(map(str, errors)))
            raise DetachError(text) from ExceptionGroup(text, errors)

    async def _detach_one(self, attachment: Attachment, errors: list[Exception]) -> None:
        at = {"pod": attachment.pod.name, "at": _where(attachment.plan)}
        try:
            with self._metrics.timed("detach"):
                await self._driver.detach(attachment)
            await self._journal.drop_lease(attachment.key)
        except Exception as error:  # noqa: BLE001 (the driver's code; told and tried again)
            explain("detach.failed", error, **at)
            errors.append(error)
        else:
            log.info("detach.done", **at)

    def _as_it_is(self, attachment: Attachment) -> Attachment:
        """The attachment with no namespace if that has gone since."""
        if self._has_netns(attachment.pod):
            return attachment
        pod = msgspec.structs.replace(attachment.pod, netns=None)
        return msgspec.structs.replace(attachment, pod=pod)

    def _has_netns(self, pod: PodSandbox) -> bool:
        return pod.netns is not None and self._netns_exists(pod.netns)

    def _is_attached(self, plan: Plan, pod: PodSandbox) -> bool:
        lease = self._journal.leases.get((plan.claim.uid, pod.id, plan.device.key))
        return lease is not None and lease.state == "attached"

    def _unfinished(self, sandbox_id: str) -> list[Lease]:
        """Under the sandbox's lock nobody is at work on these: they are leftovers."""
        here = self._journal.leases_of_sandbox(sandbox_id)
        return [lease for lease in here if lease.state != "attached"]

    def _earlier_sandboxes(self, pod: PodSandbox) -> list[str]:
        """A pod has one sandbox at a time: the runtime may not have told us of the others' end."""
        of_pod = [le for le in self._journal.leases.values() if le.attachment.pod.uid == pod.uid]
        return [sandbox_id for sandbox_id in _sandboxes(of_pod) if sandbox_id != pod.id]

    def count(self) -> None:
        """Bring the metrics in line with the journal."""
        states = [lease.state for lease in self._journal.leases.values()]
        self._metrics.attachments.set(states.count("attached"))
        self._metrics.pending_detaches.set(states.count("detaching"))


def _texts(
    plans: Iterable[Plan], pod: PodSandbox, error: BaseException
) -> Mapping[str, Mapping[DeviceKey, str]]:
    """Why each device is not there, by claim: its own error, or that it shares another's."""
    own = error.errors if isinstance(error, AttachError) else {}
    shared = str(error) or "cut off before the runtime's deadline"
    if own:
        shared = f"rolled back: {shared}"
    failures: defaultdict[str, dict[DeviceKey, str]] = defaultdict(dict)
    for plan in plans:
        key = (plan.claim.uid, pod.id, plan.device.key)
        failures[plan.claim.uid][plan.device.key] = brief(str(own.get(key, shared)))
    return failures


def _is_done(lease: Lease) -> bool:
    return lease.state == "attached"


def _sandboxes(leases: Iterable[Lease]) -> list[str]:
    return list(dict.fromkeys(lease.attachment.pod.id for lease in leases))


def _where(plan: Plan) -> str:
    return f"claim {plan.claim.namespace}/{plan.claim.name}, request {plan.device.request}"
