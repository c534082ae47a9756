"""Take the calls of kubelet and the runtime, and pass them on to the process that does the work.

Two processes of a driver run for a moment while it is updated, and both are called: kubelet asks
one of them, the runtime calls both. The one that holds the seat (see `handover`) does the work.

Promise: a call that comes while the seat changes hands is answered by the next holder: a hook waits
for it, a claim is passed on. What the runtime listed before this process had the seat is not lost.
Limit: a process that neither works nor is about to lets the runtime's pods start.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import structlog

from netclaim.chained import AGAIN, Answer, Request
from netclaim.chained.server import Handler
from netclaim.errors import PeerError
from netclaim.kubelet import ClaimService, DraClient
from netclaim.kubelet.client import RegisteredDriver
from netclaim.kubelet.dra_api import DRA_APIS
from netclaim.model.on_node.pod import PodSandbox
from netclaim.model.on_node.prepared import ClaimRef, PrepareAnswer
from netclaim.nri import Container, ContainerHook, Handlers, RuntimeInfo
from netclaim.tasks import race

log = structlog.get_logger()

T = TypeVar("T")

HOOKS_S: Final = 2.5  # the runtime waits two seconds for a hook, as it ships


class _News:
    """Wakes everybody who waits, each time that something is new."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def wait(self) -> Coroutine[Any, Any, object]:
        return self._event.wait()

    def wake(self) -> None:
        self._event.set()
        self._event = asyncio.Event()


class Worker(Handlers, Protocol):
    def note_running(self, pods: Sequence[PodSandbox]) -> None:
        """Learn which sandboxes exist; one that is just being made may be missing."""
        ...


class RelayedHooks:
    """Passes the runtime's hooks on to this process's worker, as soon as there is one."""

    def __init__(self, concerns: Callable[[PodSandbox], bool]) -> None:
        """`concerns` says whether a pod may have a plan, by what is on the disk."""
        self._concerns = concerns
        self._worker: Worker | None = None
        self._changed = _News()
        self._passing = False
        self._under_way = 0
        self._ended = _News()
        self._pods: dict[str, PodSandbox] = {}  # as the runtime last said

    def engage(self, worker: Worker) -> None:
        """Pass hooks on to this worker from now on, and list the known sandboxes to it."""
        self._worker, self._passing = worker, False
        self._changed.wake()
        if self._pods:
            worker.note_running(tuple(self._pods.values()))

    def dismiss(self, *, passing: bool) -> None:
        """Have no worker any more. If `passing`, another process does the work."""
        self._worker, self._passing = None, passing
        self._changed.wake()

    def await_engagement(self) -> None:
        """Let hooks wait from now on: the seat is about to be ours."""
        self._passing = False
        self._changed.wake()

    async def configure(self, runtime: RuntimeInfo) -> None:
        if self._worker is not None:
            await self._worker.configure(runtime)

    async def synchronize(
        self, pods: Sequence[PodSandbox], containers: Sequence[Container], *, deadline_s: float
    ) -> None:
        self._pods = {pod.id: pod for pod in pods}
        if self._worker is not None:
            await self._worker.synchronize(pods, containers, deadline_s=deadline_s)

    async def run_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        self._pods[pod.id] = pod
        await self._pass_on(
            pod, deadline_s, lambda worker: worker.run_pod_sandbox(pod, deadline_s=deadline_s)
        )

    async def stop_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        self._pods.pop(pod.id, None)
        await self._pass_on(
            pod, deadline_s, lambda worker: worker.stop_pod_sandbox(pod, deadline_s=deadline_s)
        )

    async def remove_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        self._pods.pop(pod.id, None)
        await self._pass_on(
            pod, deadline_s, lambda worker: worker.remove_pod_sandbox(pod, deadline_s=deadline_s)
        )

    async def create_container(
        self, pod: PodSandbox, container: Container, *, deadline_s: float
    ) -> ContainerHook | None:
        return await self._pass_on(
            pod,
            deadline_s,
            lambda worker: worker.create_container(pod, container, deadline_s=deadline_s),
        )

    async def wait_idle(self) -> None:
        while self._under_way:
            await self._ended.wait()

    async def _pass_on(
        self, pod: PodSandbox, deadline_s: float, call: Callable[[Worker], Awaitable[T]]
    ) -> T | None:
        """Have the worker make the call; None if another process does the work."""
        worker = await self._get(pod, deadline_s)
        if worker is None:
            return None
        self._under_way += 1
        try:
            return await call(worker)
        finally:
            self._under_way -= 1
            self._ended.wake()

    async def _get(self, pod: PodSandbox, deadline_s: float) -> Worker | None:
        """The worker; None if another process does the work. Waits while neither is known."""
        if self._worker is None and not self._concerns(pod):
            return None
        try:
            async with asyncio.timeout_at(deadline_s):
                while self._worker is None and not self._passing:
                    await self._changed.wait()
        except TimeoutError as error:
            raise PeerError("no instance of the driver is active; try again") from error
        return self._worker


class RelayedCalls:
    """Passes the chained plugin's calls on to this process's worker, as soon as there is one."""

    def __init__(self) -> None:
        self._worker: Handler | None = None
        self._changed = _News()

    def engage(self, worker: Handler | None) -> None:
        """Pass calls on to this worker from now on; None lets them wait for another."""
        self._worker = worker
        self._changed.wake()

    async def __call__(self, request: Request) -> Answer:
        """Pass a call on. The plugin has the time to wait, and gives up by itself.

        A call that is under way when its worker is dismissed has to be made again.
        """
        while self._worker is None:
            await self._changed.wait()
        return await race(self._worker(request), self._changed.wait()) or AGAIN


class RelayedClaims:
    """Passes kubelet's calls on to this process's worker, or to the process that took over."""

    def __init__(self, driver: str) -> None:
        self._driver = driver
        self._worker: ClaimService | None = None
        self._successor: Path | None = None  # where the other process serves kubelet
        self._changed = _News()

    def engage(self, worker: ClaimService) -> None:
        self._worker, self._successor = worker, None
        self._changed.wake()

    def dismiss(self, successor: Path | None) -> None:
        """Have no worker any more. Calls, also those under way, go on where `successor` serves."""
        self._worker, self._successor = None, successor
        self._changed.wake()

    async def prepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        return await self._relay(lambda claims: claims.prepare(refs))

    async def unprepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, str | None]:
        return await self._relay(lambda claims: claims.unprepare(refs))

    async def _relay(self, call: Callable[[ClaimService], Awaitable[T]]) -> T:
        while True:
            if self._worker is not None:
                answer = await race(call(self._worker), self._changed.wait())
            elif self._successor is not None:
                log.info("relay.passed_on", socket=str(self._successor))
                asking = self._ask(self._successor, call)
                answer = await race(asking, self._changed.wait())
            else:
                await self._changed.wait()
                continue
            if answer is not None:
                return answer
            # What was begun here is begun again there: every call may be repeated.

    async def _ask(self, socket: Path, call: Callable[[ClaimService], Awaitable[T]]) -> T:
        api = DRA_APIS[0]
        registered = RegisteredDriver(self._driver, socket, api, (api.version,))
        async with DraClient(registered) as other:
            return await call(other)


async def let_end(hooks: Awaitable[None]) -> None:
    """Wait for the runtime's hooks that are under way, as long as the runtime itself does."""
    try:
        async with asyncio.timeout(HOOKS_S):
            await hooks
    except TimeoutError:
        log.warning("serve.hooks_cut")
