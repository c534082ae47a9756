"""Attaches that go on when whoever asked for them cannot wait any longer.

A runtime waits two seconds for a hook, and every other pod of the node waits with it; a plugin that
asks a DHCP server takes longer. So an attach is a task of its own: a hook waits for it as long as
it may, and then the pod's containers are held until it is done.

Promise: one attempt for a sandbox at a time, and so many of a namespace; it ends within a limit;
one that fails is taken back if whoever began it said so, accounted for, and shown on its claims.
Ending the sandbox cancels it.
Limit: an attempt dies with the driver; what it left is undone, or completed, after the next start.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

import structlog

from netclaim.errors import PeerError, Reason
from netclaim.framework.adopt import Adopter
from netclaim.framework.attach import Attacher
from netclaim.framework.clock import Clock
from netclaim.framework.fairness import HookTime, NotYetError
from netclaim.framework.places import Places
from netclaim.framework.repair import Repairer
from netclaim.framework.subject import concerning
from netclaim.model.pod import PodSandbox
from netclaim.nri.tasks import TaskScope

__all__ = ["AttachTimeoutError", "Attaching", "Attempt"]

log = structlog.get_logger()

ROLLBACK_S: Final = 10.0  # a detach takes milliseconds; what does not fit goes on in the background
# Attempts at a time, in all and of one namespace, so that one whose attaches are slow or fail for
# ever holds up itself. An attach takes milliseconds: eight get through a full node in a second.
PLACES: Final = 32
NAMESPACE_PLACES: Final = 8
CUT_OFF: Final = "interrupted before it finished"


class AttachTimeoutError(PeerError):
    """A pod's devices were not attached in time; kubelet tries again."""

    why: Reason = "timeout"


@dataclass(slots=True, eq=False)
class Attempt:
    """One attach of a sandbox, from its beginning to its end."""

    pod: PodSandbox
    held_s: float = 0.0  # how long hooks have waited for it, but for the one that waits now
    waited_since_s: float | None = None  # the one that waits now
    failure: Exception | None = None  # known before it is taken back
    known: asyncio.Event = field(default_factory=asyncio.Event)  # whether it succeeded
    over: asyncio.Event = field(default_factory=asyncio.Event)  # also taken back, if it failed
    task: asyncio.Task[None] | None = None


class Attaching:
    """The attempts that are under way; use it as `async with`. Leaving the block cancels them."""

    def __init__(
        self,
        attacher: Attacher,
        adopter: Adopter,
        repairer: Repairer,
        *,
        hook_time: HookTime,
        clock: Clock,
        limit_s: float,
    ) -> None:
        self._attacher = attacher
        self._adopter = adopter
        self._repairer = repairer
        self._hook_time = hook_time
        self._clock = clock
        self._limit_s = limit_s
        self._attempts: dict[str, Attempt] = {}  # by sandbox
        self._places = Places(total=PLACES, each=NAMESPACE_PLACES)
        self._tasks = TaskScope()

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

    def under_way(self, sandbox_id: str) -> Attempt | None:
        """The attempt for a sandbox that is not over yet."""
        return self._attempts.get(sandbox_id)

    def busy(self) -> frozenset[str]:
        """The sandboxes with an attempt that is not over yet."""
        return frozenset(self._attempts)

    def begin(
        self,
        pod: PodSandbox,
        adopt: Callable[[PodSandbox], Awaitable[object]],
        *,
        roll_back: bool,
        hooked: bool,
    ) -> Attempt:
        """Begin to attach, unless that is under way.

        `adopt` makes the pod's plans known. `hooked`: every pod of the node waits, so that a claim
        which failed at their cost lately is refused with NotYetError.
        """
        attempt = self._attempts.get(pod.id)
        if attempt is None:
            attempt = Attempt(pod)
            self._attempts[pod.id] = attempt
            self._repairer.note_made(pod.id)
            work = self._work(attempt, adopt, roll_back=roll_back, hooked=hooked)
            attempt.task = self._tasks.start(work)
            attempt.task.add_done_callback(lambda _: self._end(attempt))
        return attempt

    async def wait(self, attempt: Attempt) -> None:
        """Wait for an attempt to be over, where nobody else waits. Raises what made it fail."""
        await attempt.over.wait()
        if attempt.failure is not None:
            raise attempt.failure

    async def hold(self, attempt: Attempt, until_s: float) -> bool:
        """Wait for an attempt while all pods of the node do; whether it succeeded by that time.

        Raises what made it fail: once it is taken back, or at that time if that is not done yet.
        """
        if attempt.waited_since_s is None:
            attempt.waited_since_s = self._clock.monotonic()
        try:
            async with asyncio.timeout_at(until_s):
                await attempt.over.wait()
        except TimeoutError:
            if not attempt.known.is_set():
                return False
        finally:
            attempt.held_s, attempt.waited_since_s = self._held_s(attempt), None
        if attempt.failure is not None:
            raise attempt.failure
        return True

    async def cancel(self, sandbox_id: str) -> None:
        """End the attempt for a sandbox, if there is one. Again: nothing."""
        attempt = self._attempts.get(sandbox_id)
        if attempt is not None and attempt.task is not None:
            attempt.failure = attempt.failure or AttachTimeoutError(CUT_OFF)
            attempt.task.cancel()
            await attempt.over.wait()

    async def _work(
        self,
        attempt: Attempt,
        adopt: Callable[[PodSandbox], Awaitable[object]],
        *,
        roll_back: bool,
        hooked: bool,
    ) -> None:
        with concerning(pod=attempt.pod):
            await self._work_named(attempt, adopt, roll_back=roll_back, hooked=hooked)

    async def _work_named(
        self,
        attempt: Attempt,
        adopt: Callable[[PodSandbox], Awaitable[object]],
        *,
        roll_back: bool,
        hooked: bool,
    ) -> None:
        pod = attempt.pod
        try:
            if hooked:
                self._hook_time.check_pod(pod)
            async with asyncio.timeout(self._limit_s):
                await self._cancel_earlier(pod)
                await adopt(pod)
                lacks = await self._attacher.lacks(pod)
            if lacks:  # others pass, however many attaches of their namespace are slow
                async with self._places.hold(pod.namespace), asyncio.timeout(self._limit_s):
                    await self._attacher.attach(pod, hooked=hooked)
            attempt.known.set()
            self._hook_time.note_slow(pod, self._held_s(attempt))
        except BaseException as error:
            attempt.failure = attempt.failure or self._explained(error)
            attempt.known.set()
            self._repairer.wake()
            try:
                if roll_back and isinstance(error, Exception):
                    await self._take_back(pod)
            finally:
                self._account(attempt, error)
            if not isinstance(error, Exception):
                raise  # cancelled: the sandbox ends, or the driver does

    def _end(self, attempt: Attempt) -> None:
        """Note that an attempt is over; also one that was cancelled before it began."""
        if not attempt.known.is_set():
            attempt.failure = attempt.failure or AttachTimeoutError(CUT_OFF)
            attempt.known.set()
        self._attempts.pop(attempt.pod.id, None)
        attempt.over.set()

    async def _cancel_earlier(self, pod: PodSandbox) -> None:
        """A pod has one sandbox at a time: nobody waits for the others any more."""
        others = [each.pod for each in self._attempts.values() if each.pod.uid == pod.uid]
        for other in others:
            if other.id != pod.id:
                await self.cancel(other.id)

    def _held_s(self, attempt: Attempt) -> float:
        since_s = attempt.waited_since_s
        return attempt.held_s + (self._clock.monotonic() - since_s if since_s is not None else 0.0)

    def _explained(self, error: BaseException) -> Exception:
        if isinstance(error, TimeoutError):
            return AttachTimeoutError(
                f"the interfaces were not attached within {self._limit_s:g} s"
            )
        if isinstance(error, Exception):
            return error
        return AttachTimeoutError(CUT_OFF)

    def _account(self, attempt: Attempt, error: BaseException) -> None:
        """Have the claims say why it failed, and account for the time that hooks waited."""
        pod = attempt.pod
        unplanned = self._adopter.pop_failed(pod.id)
        unattached = self._attacher.tell_failure(pod.id)
        blamed = unplanned if unattached is None else unattached
        if not isinstance(error, NotYetError):
            self._hook_time.note_failure(pod, blamed, self._held_s(attempt), str(attempt.failure))

    async def _take_back(self, pod: PodSandbox) -> None:
        """Undo as much as time allows; the rest goes on in the background."""
        try:
            async with asyncio.timeout(ROLLBACK_S):
                await self._attacher.release_sandbox(pod)
        except Exception as error:  # noqa: BLE001 (also a group of them; it is tried again)
            log.warning("detach.postponed", error=str(error))
            self._repairer.wake()
