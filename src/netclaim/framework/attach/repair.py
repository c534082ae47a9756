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
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol

import structlog

from netclaim.cri import CriClient, NoRuntimeError, SandboxStatus
from netclaim.errors import PeerError
from netclaim.framework.attach.adopt import Adopter
from netclaim.framework.attach.attacher import Attacher
from netclaim.framework.attach.reconcile import Reconciler
from netclaim.framework.attach.sandbox import Sandbox, Sandboxes
from netclaim.framework.journal.journal import Journal
from netclaim.framework.telemetry.logs import explain
from netclaim.framework.telemetry.subject import pod_fields
from netclaim.framework.tools.clock import Clock
from netclaim.framework.tools.fair_slots import Places
from netclaim.framework.tools.supervise import Backoff
from netclaim.model.on_node.pod import PodSandbox
from netclaim.model.on_node.prepared import ClaimRef

log = structlog.get_logger()

STEP_S: Final = 30.0  # for one sandbox. Nobody waits for it, but its namespace's next one does
# At a time, if no more namespaces have work: the hooks of pods that start need the processors, too.
STEPS_MAX: Final = 8
RETRIES: Final = Backoff(max_s=10.0)  # a pod is without its interface meanwhile
WHOLE_NODE: Final = ""  # in place of a namespace; none has this name


class SandboxRuntime(Protocol):
    """The container runtime, asked rather than listened to; a sandbox that is gone is None."""

    async def status(self, sandbox_id: str) -> SandboxStatus | None: ...
    async def stop(self, sandbox_id: str) -> None: ...


class LateReleases(Protocol):
    """What releases claims whose release was put off."""

    async def release_ended(self, ref: ClaimRef) -> None: ...


@dataclass(slots=True)
class Repairer:
    """The work that no hook waits for."""

    sandboxes: Sandboxes
    reconciler: Reconciler
    attacher: Attacher
    adopter: Adopter
    journal: Journal
    releases: LateReleases
    runtime: SandboxRuntime
    clock: Clock
    _tended: dict[str, asyncio.Event] = field(default_factory=dict)  # namespaces, and their news
    # One at a time for a namespace, and no less.
    _places: Places = field(default_factory=lambda: Places(total=STEPS_MAX, each=1))

    async def is_on_host(self, pod: PodSandbox) -> bool:
        """Whether a sandbox without a namespace is on the host's network, if that can be known."""
        try:
            status = await self.runtime.status(pod.id)
        except PeerError as error:
            log.warning("repair.runtime_unreachable", error=str(error))
            return False
        return status is not None and status.on_host_network

    async def wait_idle(self) -> None:
        """Return once nothing is left to repair."""
        await self.sandboxes.idle.wait()

    async def run(self) -> None:
        """Repair whenever there is something to repair, until cancelled.

        Called again after it failed, it begins with what was left.
        """
        self._tended.clear()
        self.sandboxes.wake()
        async with asyncio.TaskGroup() as group:
            while True:
                await self.sandboxes.work.wait()
                self.sandboxes.work.clear()
                has_news, self.sandboxes.news = self.sandboxes.news, False
                for namespace in self._with_work():
                    if namespace in self._tended:
                        if has_news:
                            self._tended[namespace].set()
                    else:
                        self._tended[namespace] = asyncio.Event()
                        group.create_task(self._tend(namespace))
                if not self._tended and not self.sandboxes.busy():
                    self.sandboxes.idle.set()

    async def _tend(self, namespace: str) -> None:
        """Repair a namespace until nothing of what was known of it is left."""
        news = self._tended[namespace]
        for delay_s in RETRIES.delays(self.clock):
            news.clear()
            if await self._repair(namespace):
                break
            await self._pause(delay_s, news)
        del self._tended[namespace]
        self.sandboxes.work.set()  # for what was noted at the last moment, and for being idle

    async def _pause(self, delay_s: float, news: asyncio.Event) -> None:
        """Wait before the next attempt, or until there may be something new to do."""
        waiting = {
            asyncio.ensure_future(self.clock.sleep(delay_s)),
            asyncio.ensure_future(news.wait()),
        }
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()

    def _with_work(self) -> set[str]:
        """The namespaces with something to do; once there are none, what concerns them all."""
        namespaces = {pod.namespace for pod in self.sandboxes.unsettled()}
        namespaces |= {claim.namespace for claim in self._ended_claims()}
        if namespaces or self._tended or not self.sandboxes.listed or self.adopter.blind:
            return namespaces
        if self.sandboxes.has_postponed():  # one that runs may not be known yet
            return set()
        return set() if self.journal.complete else {WHOLE_NODE}

    async def _repair(self, namespace: str) -> bool:
        """Try everything of a namespace once. Whether all succeeded."""
        if namespace == WHOLE_NODE:
            return await self._step(namespace, self.adopter.complete_journal)
        steps: list[bool] = []
        for pod in [each for each in self.sandboxes.unsettled() if each.namespace == namespace]:
            sandbox = self.sandboxes.get(pod)
            if sandbox.to_be_replaced:
                steps.append(await self._step(namespace, partial(self._replace, sandbox), pod))
            if sandbox.in_doubt:
                look = partial(self.reconciler.look, sandbox)
                steps.append(await self._step(namespace, look, pod))
            if sandbox.request is None:
                step = partial(self.reconciler.step, sandbox)
                steps.append(await self._step(namespace, step, pod))
            self.sandboxes.forget_settled(sandbox)
        for claim in [each for each in self._ended_claims() if each.namespace == namespace]:
            release = partial(self.releases.release_ended, claim)
            steps.append(await self._step(namespace, release))
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

    def _ended_claims(self) -> list[ClaimRef]:
        """The claims that were released under a sandbox which is gone by now."""
        released = [booking.claim for booking in self.journal.released]
        return [claim for claim in released if not self.attacher.users(claim.uid)]

    async def _replace(self, sandbox: Sandbox) -> None:
        """Have a sandbox stopped that runs without its namespace; kubelet makes another."""
        pod = sandbox.pod
        try:
            status = await self.runtime.status(pod.id)
        except NoRuntimeError as error:
            log.warning("repair.not_replaced", **pod_fields(pod), error=str(error))
            status = None
        if status is not None and status.ready and not status.on_host_network:
            log.warning("repair.replaced", **pod_fields(pod))
            await self.runtime.stop(pod.id)
        sandbox.to_be_replaced = False


async def list_once(runtime: CriClient, sandboxes: Sandboxes) -> None:
    """Note the sandboxes that run, asked through CRI, and never return. Raises RuntimeCallError.

    NRI lists all sandboxes whenever the driver connects; a driver that is called by the runtime's
    CNI chain alone asks once in each turn at the work. CRI lists a sandbox when it is made, and so
    not one whose network is being attached.
    """
    try:
        sandboxes.note_running(await _running(runtime))
    except NoRuntimeError as error:
        log.warning("repair.not_listed", error=str(error))
    await asyncio.Event().wait()


async def _running(runtime: CriClient) -> list[PodSandbox]:
    pods = []
    for each in await runtime.list():
        status = await runtime.status(each.id) if each.ready else None
        if status is not None and status.ready and status.netns:
            pod = PodSandbox(each.id, each.uid, each.namespace, each.name, netns=status.netns)
            pods.append(pod)
    return pods
