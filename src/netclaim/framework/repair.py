"""Bring journal and runtime into line: after a restart of either, and after anything cut short.

Promise: a running sandbox that lacks an interface gets it, also one that lost it with its device;
one that lost its namespace is stopped, and kubelet makes a new one; one that a lost journal knew is
known again; an attachment whose sandbox is gone is undone, and then a claim that was released too
early; all are tried until they succeed. Each namespace's work goes on by itself: one whose devices
hang or fail for ever holds up nobody else's. Limit: knows only what the runtime lists when the
plugin connects and what the hooks pass on. A sandbox that ends unseen is cleaned up by unprepare,
or if that was put off, when the next one ends; `collect` finds it within ten minutes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Final, Protocol

import structlog

from netclaim.cri import NoRuntimeError
from netclaim.errors import PeerError
from netclaim.framework.adopt import Adopter
from netclaim.framework.attach import Attacher
from netclaim.framework.clock import Clock
from netclaim.framework.journal import Journal
from netclaim.framework.logs import explain
from netclaim.framework.netns import HasNetns
from netclaim.framework.places import Places
from netclaim.framework.pod_plans import PodGoneError
from netclaim.framework.records import pods_of
from netclaim.framework.subject import pod_fields
from netclaim.framework.supervise import Backoff
from netclaim.model.pod import PodSandbox
from netclaim.model.prepared import ClaimRef

__all__ = ["NodeClaims", "NodeMarks", "Repairer", "SandboxState", "Sandboxes"]

log = structlog.get_logger()

STEP_S: Final = 30.0  # for one sandbox. Nobody waits for it, but its namespace's next one does
# At a time, if no more namespaces have work: the hooks of pods that start need the processors, too.
STEPS_MAX: Final = 8
RETRIES: Final = Backoff(max_s=10.0)  # a pod is without its interface meanwhile
WHOLE_NODE: Final = ""  # in place of a namespace; none has this name


class SandboxState(Protocol):
    """What a runtime says of a sandbox."""

    @property
    def ready(self) -> bool:
        """Whether it runs."""
        ...

    @property
    def on_host_network(self) -> bool:
        """Whether it has no network of its own, as its pod wants it."""
        ...


class Sandboxes(Protocol):
    """The container runtime, asked rather than listened to."""

    async def status(self, sandbox_id: str) -> SandboxState | None:
        """A sandbox as it is now; None if it is gone."""
        ...

    async def stop(self, sandbox_id: str) -> None:
        """End a sandbox; kubelet makes a new one. Again: nothing."""
        ...


class NodeClaims(Protocol):
    """Claims that are not where kubelet and the journal agree."""

    async def recall(self, on_record: Collection[ClaimRef] | None) -> None:
        """Plan what kubelet has on record, and the journal lost. Again: nothing."""
        ...

    async def release_ended(self, ref: ClaimRef) -> None:
        """Undo a claim whose release was put off, if it still is. Again: nothing."""
        ...


class NodeMarks(Protocol):
    """What is on the disk for when the driver is away."""

    def begin(self, journal: Journal, is_complete: Callable[[PodSandbox], bool]) -> None:
        """Leave exactly what the journal knows. Again: the same."""
        ...


class Repairer:
    """The work that no hook waits for."""

    def __init__(
        self,
        attacher: Attacher,
        adopter: Adopter,
        journal: Journal,
        clock: Clock,
        *,
        has_netns: HasNetns,
        sandboxes: Sandboxes,
        claims: NodeClaims,
        marks: NodeMarks,
        on_record: Callable[[], Collection[ClaimRef] | None],
    ) -> None:
        """`on_record` says which claims kubelet has prepared; None if that cannot be known."""
        self._attacher = attacher
        self._adopter = adopter
        self._journal = journal
        self._clock = clock
        self._has_netns = has_netns
        self._sandboxes = sandboxes
        self._claims = claims
        self._marks = marks
        self._on_record = on_record
        self._running: dict[str, PodSandbox] = {}  # to be completed
        self._gone: dict[str, PodSandbox] = {}  # to be released
        self._lost: dict[str, PodSandbox] = {}  # to be replaced, if they run
        self._listed = False  # whether the runtime has said what runs
        self._to_check: dict[str, PodSandbox] = {}  # whether they still have what they had
        self._tended: dict[str, asyncio.Event] = {}  # namespaces at work, and news for them
        self._places = Places(total=STEPS_MAX, each=1)  # one at a time for a namespace, and no less
        self._work = asyncio.Event()
        self._idle = asyncio.Event()
        self.wake()  # a restart may have left something in the journal

    def wake(self) -> None:
        """Something was cut short: sweep. Again: the same."""
        self._idle.clear()
        self._work.set()

    def note_running(self, pods: Sequence[PodSandbox]) -> None:
        """These sandboxes exist, and perhaps one that is being made. Again: the same.

        The runtime lists a sandbox once it is made. One that is not listed, or listed without its
        namespace, is gone if the namespace that we know of it is.
        """
        held = {pod.id: pod for pod in pods_of(self._journal.leases.values())}
        alive = {each: pod for each, pod in held.items() if self._has_netns(pod)}
        listed = [alive.get(pod.id, pod) if pod.netns is None else pod for pod in pods]
        self._running = {pod.id: pod for pod in listed if pod.netns is not None}
        kept = self._running.keys() | alive.keys()
        self._gone = {each: pod for each, pod in held.items() if each not in kept}
        without = (pod for pod in listed if pod.netns is None)
        self._lost = {pod.id: pod for pod in without if self._is_planned(pod)}
        self._listed = True
        self._to_check = {pod.id: pod for pod in self._attacher.holders(beyond=())}
        self.wake()

    def note_gone(self, pod: PodSandbox) -> None:
        """This sandbox is to be released. Again: the same."""
        self._gone[pod.id] = pod
        self.wake()

    def note_made(self, sandbox_id: str) -> None:
        """The runtime is making this sandbox, or a container in it. Again: nothing."""
        self._gone.pop(sandbox_id, None)

    def note_lost(self, pod: PodSandbox) -> None:
        """This sandbox has no namespace: if it runs, it is to be replaced. Again: the same."""
        self._lost[pod.id] = pod
        self.wake()

    async def is_on_host(self, pod: PodSandbox) -> bool:
        """Whether a sandbox without a namespace is on the host's network, if that can be known."""
        try:
            status = await self._sandboxes.status(pod.id)
        except PeerError as error:
            log.warning("repair.runtime_unreachable", error=str(error))
            return False
        return status is not None and status.on_host_network

    def note_offered(self, devices: Iterable[str]) -> None:
        """The node has these devices, and no others. Again: the same."""
        offered = frozenset(devices)
        self._to_check |= {pod.id: pod for pod in self._attacher.holders(beyond=offered)}
        self.wake()

    def is_at(self, sandbox_id: str) -> bool:
        """Whether this sandbox is to be released already, and nobody needs to wait for it."""
        return sandbox_id in self._gone

    def forget(self, sandbox_id: str) -> None:
        """This sandbox is ending: do not complete it any more. Again: nothing."""
        self._running.pop(sandbox_id, None)
        self._lost.pop(sandbox_id, None)

    def note_ended(self) -> None:
        """A sandbox has ended. Again: the same."""
        if self._ended_claims():
            self.wake()

    async def wait_idle(self) -> None:
        """Return once nothing is left to repair."""
        await self._idle.wait()

    async def run(self) -> None:
        """Repair whenever there is something to repair, until cancelled.

        Again, after it failed: begins with what was left.
        """
        self._tended.clear()
        self.wake()
        async with asyncio.TaskGroup() as group:
            while True:
                await self._work.wait()
                self._work.clear()
                for namespace in self._with_work():
                    if namespace in self._tended:
                        self._tended[namespace].set()
                    else:
                        self._tended[namespace] = asyncio.Event()
                        group.create_task(self._tend(namespace))
                if not self._tended:
                    self._idle.set()

    async def _tend(self, namespace: str) -> None:
        """Repair a namespace until nothing of what was known of it is left."""
        news = self._tended[namespace]
        for delay_s in RETRIES.delays(self._clock):
            news.clear()
            if await self._repair(namespace):
                break
            await self._pause(delay_s, news)
        del self._tended[namespace]
        self._work.set()  # for what was noted at the last moment, and for being idle

    async def _pause(self, delay_s: float, news: asyncio.Event) -> None:
        """Wait before the next attempt, or until there may be something new to do."""
        waiting = {
            asyncio.ensure_future(self._clock.sleep(delay_s)),
            asyncio.ensure_future(news.wait()),
        }
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()

    def _with_work(self) -> set[str]:
        """The namespaces with something to do; once there are none, what concerns them all."""
        noted = (self._to_check, self._running, self._gone, self._lost)
        pods = [pod for each in noted for pod in each.values()]
        namespaces = {pod.namespace for pod in (*pods, *self._attacher.unfinished())}
        namespaces |= {claim.namespace for claim in self._ended_claims()}
        if namespaces or self._tended or not self._listed or self._adopter.blind:
            return namespaces
        return set() if self._journal.complete else {WHOLE_NODE}

    async def _repair(self, namespace: str) -> bool:
        """Try everything of a namespace once. Whether all succeeded."""
        if namespace == WHOLE_NODE:
            return await self._step(namespace, self._note_complete)
        steps: list[bool] = []
        for noted, work in (
            (self._lost, self._replace),
            (self._gone, self._release),
            (self._to_check, self._check),
            (self._running, self._complete),
        ):
            pods = [pod for pod in noted.values() if pod.namespace == namespace]
            steps += [await self._step(namespace, partial(work, pod), pod) for pod in pods]
        unfinished = [each for each in self._attacher.unfinished() if each.namespace == namespace]
        finish = self._attacher.finish
        steps += [await self._step(namespace, partial(finish, each), each) for each in unfinished]
        ended = [claim for claim in self._ended_claims() if claim.namespace == namespace]
        release = self._claims.release_ended
        steps += [await self._step(namespace, partial(release, each)) for each in ended]
        return all(steps)

    async def _step(
        self, namespace: str, work: Callable[[], Awaitable[None]], pod: PodSandbox | None = None
    ) -> bool:
        at = {"namespace": namespace}
        if pod is not None:
            at |= pod_fields(pod)
        try:
            async with self._places.hold(namespace), asyncio.timeout(STEP_S):
                await work()
        except TimeoutError:
            log.warning("repair.failed", error=f"not finished within {STEP_S:g} s", **at)
            return False
        except Exception as error:  # noqa: BLE001 (the driver's code, too; tried again)
            explain("repair.failed", error, **at)
            return False
        return True

    def _is_planned(self, pod: PodSandbox) -> bool:
        return any(pod.uid in booking.pods for booking in self._journal.bookings.values())

    def _ended_claims(self) -> list[ClaimRef]:
        """The claims that were released under a sandbox which is gone by now."""
        ending = (b.claim for b in self._journal.bookings.values() if b.ending)
        return [claim for claim in ending if not self._attacher.users(claim.uid)]

    async def _note_complete(self) -> None:
        """Note that everything that runs on the node, or is about to, is in the journal.

        Claims of pods that have no sandbox yet, or not any more, are not found by what runs.
        """
        await self._claims.recall(self._on_record())
        await self._journal.mark_complete()
        self._marks.begin(self._journal, self._attacher.is_complete)

    async def _replace(self, pod: PodSandbox) -> None:
        """Have a sandbox stopped that runs without its namespace; kubelet makes another."""
        try:
            status = await self._sandboxes.status(pod.id)
        except NoRuntimeError as error:
            log.warning("repair.not_replaced", **pod_fields(pod), error=str(error))
            status = None
        if status is not None and status.ready and not status.on_host_network:
            log.warning("repair.replaced", **pod_fields(pod))
            await self._sandboxes.stop(pod.id)
        self._lost.pop(pod.id, None)

    async def _release(self, pod: PodSandbox) -> None:
        if pod.id not in self._gone:  # told of again since it was noted
            return
        await self._attacher.release_sandbox(pod)
        self._gone.pop(pod.id, None)

    async def _check(self, pod: PodSandbox) -> None:
        """See whether a sandbox still has what it had; what went is attached again."""
        if pod.id not in self._to_check:  # noted anew since
            return
        if await self._attacher.give_up_lost(pod):
            self._running[pod.id] = pod
        self._to_check.pop(pod.id, None)

    async def _complete(self, pod: PodSandbox) -> None:
        if pod.id not in self._running:  # stopped since it was noted
            return
        if self._has_netns(pod):
            # A Stop from here on waits for the pod's lock behind us, and undoes it all.
            try:
                await self._adopter.take_over(pod)
                if pod.id in self._running:
                    await self._attacher.attach(pod)
            except PodGoneError as error:
                # It is about to stop.
                log.info("repair.pod_gone", **pod_fields(pod), error=str(error))
            finally:
                self._adopter.pop_failed(pod.id)
                self._attacher.tell_failure(pod.id)
        else:
            self.note_gone(pod)  # ended without our being told, or its namespace was taken away
            if self._is_planned(pod):
                self.note_lost(pod)
        self._running.pop(pod.id, None)
