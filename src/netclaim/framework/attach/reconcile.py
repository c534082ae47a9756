"""Reconcile: make a sandbox what is wanted of it. Everything that happens to it comes through here.

A runtime waits two seconds for a hook, and every other pod of the node waits with it; a plugin that
asks a DHCP server takes longer. So a request to complete a sandbox is a task of its own: a hook
waits for it as long as it may, and then the pod's containers are held until it is done.

Promise: one request for a sandbox at a time, and so many of a namespace; it ends within a limit. A
request that fails is taken back if the sandbox was new, shown on its claims, and accounted for if
hooks waited. Ending the sandbox cancels it. Limit: a request dies with the driver; what it left is
undone, or completed, after the next start.
"""

import asyncio
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

import structlog

from netclaim.errors import NetclaimError
from netclaim.framework.attach.adopt import Adopter
from netclaim.framework.attach.attacher import Attacher
from netclaim.framework.attach.errors import AttachTimeoutError, failure_texts, refused_claims
from netclaim.framework.attach.followers import Followers
from netclaim.framework.attach.hook_budget import HookTime, NotYetError
from netclaim.framework.attach.sandbox import CUT_OFF, Asker, Request, Sandbox, Sandboxes
from netclaim.framework.journal.pod_plans import PodGoneError, PodPlans
from netclaim.framework.telemetry.subject import claims_fields, concerning, pod_fields
from netclaim.framework.tools.clock import Clock
from netclaim.framework.tools.fair_slots import Places
from netclaim.model.on_node.pod import PodSandbox
from netclaim.tasks import TaskScope

log = structlog.get_logger()

ROLLBACK_S: Final = 10.0  # a detach takes milliseconds; what does not fit goes on in the background
# Requests at a time, in all and of one namespace, so that one whose attaches are slow or fail for
# ever holds up itself. An attach takes milliseconds: eight get through a full node in a second.
PLACES: Final = 32
OF_A_NAMESPACE: Final = 8
# For the end of a sandbox that is being released already, or whose namespace used up its share of
# the hooks: the rest goes on in the background. A link that was moved into the pod is lost with the
# pod's namespace, so it is tried all the same.
SHORT_S: Final = 0.25


@dataclass(slots=True)
class Reconciler:
    """Works on sandboxes; use it as `async with`. Leaving the block cancels the requests."""

    sandboxes: Sandboxes
    attacher: Attacher
    adopter: Adopter
    plans: PodPlans
    followers: Followers
    hook_time: HookTime
    clock: Clock
    limit_s: float
    _places: Places = field(default_factory=lambda: Places(total=PLACES, each=OF_A_NAMESPACE))
    _tasks: TaskScope = field(default_factory=TaskScope)

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._tasks.__aexit__(kind, error, trace)

    def request(self, pod: PodSandbox, by: Asker, *, new: bool = False) -> Request:
        """Have a sandbox completed; joins the request that is under way, if there is one."""
        sandbox = self.sandboxes.of(pod)
        if sandbox.request is None:
            request = Request(self.clock, by, new=new)
            request.task = self._tasks.start(self._fulfil(sandbox, request))
            request.task.add_done_callback(lambda _: self._end(sandbox, request))
            sandbox.begin(request)
            return request
        return sandbox.request

    async def end(self, pod: PodSandbox, deadline_s: float) -> None:
        """Undo as much of a sandbox as time allows; the rest goes on in the background."""
        sandbox = self.sandboxes.of(pod)
        if sandbox.wanted == "gone" or not self.hook_time.may_wait(pod.namespace):
            deadline_s = min(deadline_s, asyncio.get_running_loop().time() + SHORT_S)
        sandbox.want_gone()
        started_s = self.clock.monotonic()
        try:
            async with asyncio.timeout_at(deadline_s):
                if sandbox.request is not None:
                    await sandbox.request.cancel()
                async with self.attacher.alone_with(pod):
                    await self.attacher.release(pod)
                    sandbox.note_done("gone")
        except (NetclaimError, TimeoutError) as error:
            names = {**pod_fields(pod), **claims_fields(self.sandboxes.claims_of(pod))}
            log.warning("detach.postponed", **names, error=str(error))
            self.hook_time.draw(pod.namespace, self.clock.monotonic() - started_s)
            self.sandboxes.note_gone(pod)
        except BaseException:  # the runtime hung up
            self.sandboxes.note_gone(pod)
            raise
        self.sandboxes.forget_settled(sandbox)
        released = self.followers.journal.released
        if any(booking.claim.namespace == pod.namespace for booking in released):
            self.sandboxes.wake()  # a claim may have waited for this end

    async def step(self, sandbox: Sandbox) -> None:
        """Do what is wanted of a sandbox, once; raise why it could not be done."""
        pod = sandbox.pod
        if sandbox.wanted == "complete" and not self.sandboxes.has_netns(pod):
            # It ended without our hearing of it, or its namespace was taken away.
            sandbox.wanted = "gone"
            sandbox.to_be_replaced |= bool(self.sandboxes.claims_of(pod))
        if sandbox.wanted == "complete":
            request = self.request(pod, "repair")
            request.attended = True
            try:
                await request.wait()
            except PodGoneError as error:  # it is about to stop
                log.info("repair.pod_gone", **pod_fields(pod), error=str(error))
                sandbox.note_done("complete")
            except asyncio.CancelledError:  # it goes on without us
                request.attended = False
                raise
            return
        async with self.attacher.alone_with(pod):
            if sandbox.wanted == "gone":
                await self.attacher.release(pod)
                sandbox.note_done("gone")
            else:
                await self.attacher.finish(pod)

    async def look(self, sandbox: Sandbox) -> None:
        """See whether a sandbox still has what it had; what went is to be attached again."""
        pod = sandbox.pod
        sandbox.in_doubt = False
        try:
            lost = await self.attacher.give_up_lost(pod)
        except BaseException:
            self.sandboxes.get(pod).in_doubt = True
            raise
        now = self.sandboxes.get(pod)  # another object if the runtime has listed what runs since
        now.lacks = max(now.lacks, lost)
        if lost and now.wanted == "settled":
            now.want_complete()

    async def _fulfil(self, sandbox: Sandbox, request: Request) -> None:
        """Complete a sandbox; when this ends, the request is over."""
        pod = sandbox.pod
        with concerning(pod=pod):
            try:
                await self._complete(sandbox, request)
                request.known.set()
                sandbox.lacks = 0
                if not request.is_late:
                    sandbox.note_done("complete")
                self.hook_time.note_slow(pod, request.held_s)
            except BaseException as error:
                request.fail(self._explained(error))
                sandbox.lacks = len(sandbox.missing) or sandbox.lacks  # perhaps it got not so far
                if not request.attended:
                    self.sandboxes.wake()  # for what else is to be undone then
                try:
                    if request.new and isinstance(error, Exception):
                        await self._take_back(sandbox)
                finally:
                    self._report(sandbox, error)
                    self._account(sandbox, request, error)
                if not isinstance(error, Exception):
                    raise  # cancelled: the sandbox ends, or the driver does

    async def _complete(self, sandbox: Sandbox, request: Request) -> None:
        pod, hooked = sandbox.pod, request.by == "hook"
        if hooked:
            self.hook_time.check_pod(pod)
        async with asyncio.timeout(self.limit_s):
            if request.by != "repair":
                await self._cancel_earlier(pod)
            await self.adopter.make_known(sandbox, new=request.new, hooked=hooked)
            sandbox.plans = await self.plans.of(pod)
        if not sandbox.plans:  # passes, however many attaches of its namespace are slow
            self.hook_time.note_success((pod.uid,))
            return
        async with (
            self._places.hold(pod.namespace),
            asyncio.timeout(self.limit_s),
            self.attacher.alone_with(pod),
        ):
            await self.attacher.attach(sandbox, hooked=hooked)

    async def _cancel_earlier(self, pod: PodSandbox) -> None:
        """A pod has one sandbox at a time: nobody waits for the others any more."""
        for other in self.sandboxes.requested():
            if other.pod.uid == pod.uid and other.pod.id != pod.id and other.request is not None:
                await other.request.cancel()

    async def _take_back(self, sandbox: Sandbox) -> None:
        """Undo as much as time allows; the rest goes on in the background."""
        try:
            async with asyncio.timeout(ROLLBACK_S), self.attacher.alone_with(sandbox.pod):
                await self.attacher.release(sandbox.pod)
        except Exception as error:  # noqa: BLE001 (also a group of them; it is tried again)
            log.warning("detach.postponed", error=str(error))
            if sandbox.wanted == "settled":
                sandbox.wanted = "gone"

    def _explained(self, error: BaseException) -> Exception:
        if isinstance(error, TimeoutError):
            return AttachTimeoutError(f"the interfaces were not attached within {self.limit_s:g} s")
        return error if isinstance(error, Exception) else AttachTimeoutError(CUT_OFF)

    def _account(self, sandbox: Sandbox, request: Request, error: BaseException) -> None:
        """Account for the time that hooks waited; a repair that none waited for costs nothing."""
        is_free = request.by == "repair" and not request.held_s
        if not isinstance(error, NotYetError) and not is_free:
            text = str(request.failure)
            self.hook_time.note_failure(sandbox.pod, sandbox.blamed, request.held_s, text)

    def _report(self, sandbox: Sandbox, error: BaseException) -> None:
        """Have the claims say why; one that only has to wait says so if it says nothing yet."""
        missing = sandbox.missing
        if isinstance(error, NotYetError):
            missing = tuple(p for p in missing if p.claim.uid not in self.followers.journal.reports)
        refused = refused_claims(missing, sandbox.pod, error)
        for claim_uid, by_device in failure_texts(missing, sandbox.pod, error).items():
            self.followers.reports.touch(claim_uid, by_device, refused=claim_uid in refused)

    def _end(self, sandbox: Sandbox, request: Request) -> None:
        request.end()
        sandbox.request = None
        self.sandboxes.forget_settled(sandbox)
        if request.attended:
            return  # the background tries again in its own time
        if request.failure or not sandbox.is_settled:
            self.sandboxes.wake()
        elif not self.sandboxes.idle.is_set():
            self.sandboxes.work.set()  # for what waited for this, which is no news to others
