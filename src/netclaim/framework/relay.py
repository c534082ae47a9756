"""What kubelet and the runtime call, whichever instance of the driver does the work.

Two instances of a driver run for a moment while it is updated, and both are called: kubelet asks
one of them, the runtime tells both. One of them holds the seat (see `seat`) and works.

Promise: a call that comes while the seat changes hands is answered by who has it next: a hook waits
for it, a claim is passed on. What the runtime said before this instance had the seat is not lost.
Limit: an instance that neither works nor is about to lets the runtime's pods pass.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol, TypeVar

import structlog

from netclaim.chained import AGAIN, Answer, Request
from netclaim.chained.server import Handler
from netclaim.errors import PeerError
from netclaim.kubelet import ClaimService, DraClient
from netclaim.kubelet.client import RegisteredDriver
from netclaim.kubelet.dra_api import DRA_APIS
from netclaim.model.pod import PodSandbox
from netclaim.model.prepared import ClaimRef, PrepareAnswer
from netclaim.nri import Container, ContainerHook, Handlers, RuntimeInfo

__all__ = ["RelayedCalls", "RelayedClaims", "RelayedHooks"]

log = structlog.get_logger()

T = TypeVar("T")
U = TypeVar("U")


class Worker(Handlers, Protocol):
    """Who does what the hooks ask for."""

    def note_running(self, pods: Sequence[PodSandbox]) -> None:
        """These sandboxes exist; one that is being made just now may be missing."""
        ...


class RelayedHooks:
    """The runtime's hooks: to whoever works in this process, as soon as somebody does."""

    def __init__(self, concerns: Callable[[PodSandbox], bool]) -> None:
        """`concerns` says whether a pod may have a plan, as far as is on the disk."""
        self._concerns = concerns
        self._worker: Worker | None = None
        self._changed = asyncio.Event()
        self._passing = False
        self._under_way = 0
        self._ended = asyncio.Event()
        self._pods: dict[str, PodSandbox] = {}  # as the runtime last said

    def engage(self, worker: Worker) -> None:
        """From now on this one works; it hears what there is."""
        self._worker, self._passing = worker, False
        self._wake()
        if self._pods:
            worker.note_running(tuple(self._pods.values()))

    def dismiss(self, *, passing: bool) -> None:
        """Nobody works here any more; `passing`: another process does."""
        self._worker, self._passing = None, passing
        self._wake()

    def await_engagement(self) -> None:
        """The seat is about to be ours: hooks wait for that from now on."""
        self._passing = False
        self._wake()

    async def configure(self, runtime: RuntimeInfo) -> None:
        """Passed on if somebody works; it only looks at how long the runtime waits."""
        if self._worker is not None:
            await self._worker.configure(runtime)

    async def synchronize(
        self, pods: Sequence[PodSandbox], containers: Sequence[Container], *, deadline_s: float
    ) -> None:
        """Noted, and passed on if somebody works."""
        self._pods = {pod.id: pod for pod in pods}
        if self._worker is not None:
            await self._worker.synchronize(pods, containers, deadline_s=deadline_s)

    async def run_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        """Noted and passed on."""
        self._pods[pod.id] = pod
        async with self._calling(pod, deadline_s) as worker:
            if worker is not None:
                await worker.run_pod_sandbox(pod, deadline_s=deadline_s)

    async def stop_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        """Noted and passed on."""
        self._pods.pop(pod.id, None)
        async with self._calling(pod, deadline_s) as worker:
            if worker is not None:
                await worker.stop_pod_sandbox(pod, deadline_s=deadline_s)

    async def remove_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        """Noted and passed on."""
        self._pods.pop(pod.id, None)
        async with self._calling(pod, deadline_s) as worker:
            if worker is not None:
                await worker.remove_pod_sandbox(pod, deadline_s=deadline_s)

    async def create_container(
        self, pod: PodSandbox, container: Container, *, deadline_s: float
    ) -> ContainerHook | None:
        """Passed on."""
        async with self._calling(pod, deadline_s) as worker:
            if worker is None:
                return None
            return await worker.create_container(pod, container, deadline_s=deadline_s)

    async def wait_idle(self) -> None:
        """Wait until no hook is under way."""
        while self._under_way:
            await self._ended.wait()

    @asynccontextmanager
    async def _calling(self, pod: PodSandbox, deadline_s: float) -> AsyncIterator[Worker | None]:
        worker = await self._get(pod, deadline_s)
        self._under_way += 1
        try:
            yield worker
        finally:
            self._under_way -= 1
            self._ended.set()
            self._ended = asyncio.Event()

    async def _get(self, pod: PodSandbox, deadline_s: float) -> Worker | None:
        """Who works here; None if the work is done elsewhere. Waits while neither is known."""
        if self._worker is None and not self._concerns(pod):
            return None
        try:
            async with asyncio.timeout_at(deadline_s):
                while self._worker is None and not self._passing:
                    await self._changed.wait()
        except TimeoutError as error:
            raise PeerError("no instance of the driver is active; try again") from error
        return self._worker

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class RelayedCalls:
    """The chained plugin's calls: to whoever works in this process, as soon as somebody does."""

    def __init__(self) -> None:
        self._worker: Handler | None = None
        self._changed = asyncio.Event()

    def engage(self, worker: Handler | None) -> None:
        """From now on this one works; or nobody, until there is another."""
        self._worker = worker
        self._changed.set()
        self._changed = asyncio.Event()

    async def __call__(self, request: Request) -> Answer:
        """Passed on. The plugin has the time to wait, and gives up by itself.

        A call that is under way when its worker is dismissed has to be made again.
        """
        while self._worker is None:
            await self._changed.wait()
        return await unless(self._changed, self._worker(request), AGAIN)


class RelayedClaims:
    """Kubelet's calls: to whoever works in this process, or to the process that took over."""

    def __init__(self, driver: str) -> None:
        self._driver = driver
        self._worker: ClaimService | None = None
        self._successor: Path | None = None  # where the other process serves kubelet
        self._changed = asyncio.Event()

    def engage(self, worker: ClaimService) -> None:
        """From now on this one works."""
        self._worker, self._successor = worker, None
        self._wake()

    def dismiss(self, successor: Path | None) -> None:
        """Nobody works here any more; calls under way, too, go on where `successor` serves."""
        self._worker, self._successor = None, successor
        self._wake()

    async def prepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """Passed on. Again: the same answers."""
        return await self._relay(
            lambda worker: worker.prepare(refs), lambda other: other.prepare(refs)
        )

    async def unprepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, str | None]:
        """Passed on. Again: success."""
        return await self._relay(
            lambda worker: worker.unprepare(refs), lambda other: other.unprepare(refs)
        )

    async def _relay(
        self,
        here: Callable[[ClaimService], Awaitable[T]],
        there: Callable[[DraClient], Awaitable[T]],
    ) -> T:
        while True:
            changed, nothing = self._changed, _Nothing()
            if self._worker is not None:
                answer = await unless(changed, here(self._worker), nothing)
            elif self._successor is not None:
                log.info("relay.passed_on", socket=str(self._successor))
                answer = await unless(changed, self._ask(self._successor, there), nothing)
            else:
                await changed.wait()
                continue
            if not isinstance(answer, _Nothing):
                return answer
            # What was begun here is begun again there: every call may be repeated.

    async def _ask(self, socket: Path, call: Callable[[DraClient], Awaitable[T]]) -> T:
        api = DRA_APIS[0]
        registered = RegisteredDriver(self._driver, socket, api, (api.version,))
        async with DraClient(registered) as other:
            return await call(other)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class _Nothing:
    """No answer."""


async def unless(event: asyncio.Event, work: Awaitable[T], otherwise: U) -> T | U:
    """The outcome of the work; if the event comes first, the work is cancelled."""
    doing, waiting = asyncio.ensure_future(work), asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({doing, waiting}, return_when=asyncio.FIRST_COMPLETED)
        return doing.result() if doing.done() else otherwise
    finally:
        for each in (doing, waiting):
            each.cancel()
        await asyncio.wait({doing, waiting})
