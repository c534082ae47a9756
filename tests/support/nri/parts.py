"""What the NRI tests share.

A loop whose clock only moves while nothing happens, handlers that write down what they are told,
and both ends of a connection.
"""

import asyncio
import functools
import itertools
import selectors
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ParamSpec

from hypothesis import strategies as st

from netclaim.model.on_node.pod import PodSandbox
from netclaim.nri import Container, ContainerState, Plugin, Runtime, RuntimeInfo, listening
from netclaim.nri.wire.connection import Connection, Methods
from netclaim.nri.wire.endpoint import PLUGIN_SIDE, RUNTIME_SIDE, Side

P = ParamSpec("P")


class _IdleSelector(selectors.DefaultSelector):
    """Instead of waiting for time to pass, lets it have passed."""

    now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            return super().select(None)
        self.now_s += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop on whose clock a timeout passes as soon as nothing else is left to do.

    Only what happens in this process counts: a peer in another one would always be too late.
    """

    def __init__(self) -> None:
        self._idle = _IdleSelector()
        super().__init__(self._idle)

    def time(self) -> float:
        """The clock, in seconds since the loop was made."""
        return self._idle.now_s


def virtual_time(test: Callable[P, Coroutine[None, None, None]]) -> Callable[P, None]:
    """Run an async test on a VirtualLoop."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(test(*args, **kwargs))

    return run


class Recorder:
    """Handlers that write down their calls, and do in each what `reactions` says."""

    def __init__(self, **reactions: Callable[[], Awaitable[None]]) -> None:
        self.runtime: RuntimeInfo | None = None
        self.pods: tuple[PodSandbox, ...] = ()
        self.containers: tuple[Container, ...] = ()
        self.events: list[tuple[str, PodSandbox]] = []
        self.created: list[Container] = []
        self.deadlines_s: list[float] = []
        self._reactions = reactions

    def names(self) -> list[str]:
        """The sandbox events so far."""
        return [name for name, _ in self.events]

    async def configure(self, runtime: RuntimeInfo) -> None:
        """See Handlers."""
        self.runtime = runtime
        await self._react("configure")

    async def synchronize(
        self, pods: Sequence[PodSandbox], containers: Sequence[Container], *, deadline_s: float
    ) -> None:
        """See Handlers."""
        self.pods, self.containers = tuple(pods), tuple(containers)
        self.deadlines_s.append(deadline_s)
        await self._react("synchronize")

    async def run_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        """See Handlers."""
        await self._pod_event("run", pod, deadline_s)

    async def stop_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        """See Handlers."""
        await self._pod_event("stop", pod, deadline_s)

    async def remove_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        """See Handlers."""
        await self._pod_event("remove", pod, deadline_s)

    async def create_container(
        self, pod: PodSandbox, container: Container, *, deadline_s: float
    ) -> None:
        """See Handlers."""
        self.created.append(container)
        await self._pod_event("create", pod, deadline_s)

    async def _pod_event(self, name: str, pod: PodSandbox, deadline_s: float) -> None:
        self.events.append((name, pod))
        self.deadlines_s.append(deadline_s)
        await self._react(name)

    async def _react(self, name: str) -> None:
        if name in self._reactions:
            await self._reactions[name]()


def raising(error: Exception) -> Callable[[], Awaitable[None]]:
    """A reaction that fails."""

    async def react() -> None:
        raise error

    return react


def taking(seconds: float) -> Callable[[], Awaitable[None]]:
    """A reaction that takes a while on the virtual clock, and no time on the real one."""

    async def react() -> None:
        await asyncio.sleep(seconds)

    return react


async def never() -> None:
    """A reaction that does not come to an end by itself."""
    await asyncio.Event().wait()


@asynccontextmanager
async def background(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run something that has no end beside the block."""
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(work)
        try:
            yield
        finally:
            task.cancel()


@asynccontextmanager
async def serving(runtime: Runtime, path: Path) -> AsyncIterator[None]:
    """A runtime that takes plugins on at `path`."""
    with listening(path) as listener:
        async with background(runtime.serve(listener)):
            yield


@asynccontextmanager
async def connected(plugin: Plugin) -> AsyncIterator[None]:
    """A plugin that runs, and has been synchronized."""
    async with background(plugin.run()):
        await plugin.wait_connected()
        yield


@asynccontextmanager
async def connection_on(
    sock: socket.socket, side: Side, methods: Methods
) -> AsyncIterator[Connection]:
    """One end of a connection."""
    reader, writer = await asyncio.open_unix_connection(sock=sock)
    async with Connection(reader, writer, side=side, methods=methods) as connection:
        yield connection


@asynccontextmanager
async def pair(
    *, plugin: Methods | None = None, runtime: Methods | None = None
) -> AsyncIterator[tuple[Connection, Connection]]:
    """Both ends of one connection: the plugin's and the runtime's."""
    left, right = socket.socketpair(socket.AF_UNIX)
    async with (
        connection_on(left, PLUGIN_SIDE, plugin or {}) as plugin_end,
        connection_on(right, RUNTIME_SIDE, runtime or {}) as runtime_end,
    ):
        yield plugin_end, runtime_end


@asynccontextmanager
async def dial(path: Path, methods: Methods | None = None) -> AsyncIterator[Connection]:
    """A plugin's end of a connection, without a plugin behind it."""
    sock = socket.socket(socket.AF_UNIX)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, str(path))
    async with connection_on(sock, PLUGIN_SIDE, methods or {}) as connection:
        yield connection


def a_pod(number: int = 1, *, netns: str | None = "/run/netns/a", size: int = 0) -> PodSandbox:
    """A sandbox; `size` bytes of annotation make it a large one."""
    return PodSandbox(
        id=f"sandbox-{number}",
        uid=f"uid-{number}",
        namespace="default",
        name=f"pod-{number}",
        netns=netns,
        labels={"app": "web"},
        annotations={"note": "x" * size},
        ips=("10.0.0.7", "fd00::7"),
        pid=4242,
        runtime_handler="runc",
    )


def a_container(number: int = 1, *, pod: PodSandbox | None = None, size: int = 0) -> Container:
    """A container of `pod`, or of the first sandbox."""
    return Container(
        id=f"container-{number}",
        pod_sandbox_id=(pod or a_pod()).id,
        name=f"c{number}",
        state=ContainerState.RUNNING,
        labels={"io.kubernetes.container.name": f"c{number}"},
        annotations={"note": "x" * size},
    )


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    """The data in pieces, cut at these places; pieces may be empty."""
    ends = [0, *sorted(min(place, len(data)) for place in places), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(ends)]


places = st.lists(st.integers(min_value=0, max_value=2000), max_size=20)
