"""The plugin's side of one connection: the runtime's calls, turned into calls of our handlers.

Promise: the runtime gets an answer before its deadline, even if it is an error (see `hooks`).
Runtimes before NRI 0.12 report sandboxes through StateChange; a handler cannot see the difference.
Limit: of the ways to adjust a container, only hooks are used. One object serves one connection.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

import structlog

from netclaim.model.on_node.pod import PodSandbox
from netclaim.nri.deadlines import HookRunner
from netclaim.nri.proto import api_pb2 as pb
from netclaim.nri.values import (
    Container,
    ContainerHook,
    RuntimeInfo,
    container_from_proto,
    hooked,
    pod_from_proto,
    runtime_from_proto,
)
from netclaim.nri.wire.connection import Methods, unary

# Run, Stop, RemovePodSandbox and CreateContainer, the lowest bits. A runtime refuses a plugin that
# asks for an event it does not know, and the events from 12 on are not known to all of them.
EVENTS = 0xF

log = structlog.get_logger()


class Handlers(Protocol):
    """What the plugin's owner does at each hook.

    An error is the hook's answer, and its message reaches the user: in `run_pod_sandbox` and
    `create_container` it fails the pod, in the others the runtime logs it. `deadline_s` is on the
    event loop's clock (`asyncio.timeout_at`); past it the handler is cancelled and the hook is
    answered with an error. A handler is also cancelled when the connection is lost.

    Calls overlap, even with the rest of a cancelled one, and come again after a reconnect: a
    sandbox may be in `synchronize` and then be stopped, or be stopped twice, or never.
    """

    async def configure(self, runtime: RuntimeInfo) -> None:
        """Learn of a runtime that admitted the plugin; the first call on each connection."""

    async def synchronize(
        self, pods: Sequence[PodSandbox], containers: Sequence[Container], *, deadline_s: float
    ) -> None:
        """Learn of all sandboxes, also stopped ones.

        The whole node waits for the answer, so note them, answer, and act later.
        """

    async def run_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        """Act on a sandbox that has its namespace and primary network, but no containers yet."""

    async def stop_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        """Act on a sandbox that is stopping; its namespace still exists."""

    async def remove_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        """Act on a sandbox that is gone, together with its namespace."""

    async def create_container(
        self, pod: PodSandbox, container: Container, *, deadline_s: float
    ) -> ContainerHook | None:
        """Act on a container that is about to be made in the sandbox; an error prevents it.

        A hook that is returned runs before the container starts, without holding up other pods.
        """


class PodHook(Protocol):
    """A handler of a sandbox event, as `Handlers` describes them."""

    async def __call__(self, pod: PodSandbox, *, deadline_s: float) -> None: ...


class PluginService:
    """Answers one runtime. `synchronized` is called when a Synchronize has succeeded."""

    def __init__(
        self, handlers: Handlers, hooks: HookRunner, synchronized: Callable[[RuntimeInfo], None]
    ) -> None:
        self._handlers = handlers
        self._hooks = hooks
        self._synchronized = synchronized
        self._runtime = RuntimeInfo(name="", version="")  # until it configures us
        self._pods: list[PodSandbox] = []
        self._containers: list[Container] = []
        self._pod_hooks: Mapping[int, tuple[str, PodHook]] = {
            pb.RUN_POD_SANDBOX: ("RunPodSandbox", handlers.run_pod_sandbox),
            pb.STOP_POD_SANDBOX: ("StopPodSandbox", handlers.stop_pod_sandbox),
            pb.REMOVE_POD_SANDBOX: ("RemovePodSandbox", handlers.remove_pod_sandbox),
        }

    def methods(self) -> Methods:
        """Return what the runtime can call."""
        pod_methods = {
            name: unary(pb.PodSandboxRequest, partial(self._pod_event, name, hook))
            for name, hook in self._pod_hooks.values()
        }
        return pod_methods | {
            "Configure": unary(pb.ConfigureRequest, self._configure),
            "Synchronize": unary(pb.SynchronizeRequest, self._synchronize),
            "CreateContainer": unary(pb.CreateContainerRequest, self._create_container),
            "StateChange": unary(pb.StateChangeEvent, self._state_change),
            "Shutdown": unary(pb.Empty, self._shutdown),
        }

    async def _configure(
        self, request: pb.ConfigureRequest, deadline_s: float | None
    ) -> pb.ConfigureResponse:
        self._runtime = runtime_from_proto(request)
        await self._in_time(
            "Configure", deadline_s, lambda _by_s: self._handlers.configure(self._runtime)
        )
        return pb.ConfigureResponse(events=EVENTS)

    async def _synchronize(
        self, request: pb.SynchronizeRequest, deadline_s: float | None
    ) -> pb.SynchronizeResponse:
        """Collect the pieces; pass them on with the last one."""
        self._pods += map(pod_from_proto, request.pods)
        self._containers += map(container_from_proto, request.containers)
        if request.more:
            return pb.SynchronizeResponse(more=True)
        pods, self._pods = tuple(self._pods), []
        containers, self._containers = tuple(self._containers), []
        await self._in_time(
            "Synchronize",
            deadline_s,
            lambda by_s: self._handlers.synchronize(pods, containers, deadline_s=by_s),
        )
        self._synchronized(self._runtime)
        return pb.SynchronizeResponse()

    async def _create_container(
        self, request: pb.CreateContainerRequest, deadline_s: float | None
    ) -> pb.CreateContainerResponse:
        pod, container = pod_from_proto(request.pod), container_from_proto(request.container)
        answer = pb.CreateContainerResponse()

        async def create(by_s: float) -> None:
            hook = await self._handlers.create_container(pod, container, deadline_s=by_s)
            answer.CopyFrom(hooked(hook))

        await self._in_time("CreateContainer", deadline_s, create)
        return answer

    async def _state_change(self, event: pb.StateChangeEvent, deadline_s: float | None) -> pb.Empty:
        """Handle an older runtime's event; events that we did not ask for are ignored."""
        if event.event not in self._pod_hooks:
            return pb.Empty()
        name, hook = self._pod_hooks[event.event]
        return await self._pod_event(name, hook, pb.PodSandboxRequest(pod=event.pod), deadline_s)

    async def _pod_event(
        self, name: str, hook: PodHook, request: pb.PodSandboxRequest, deadline_s: float | None
    ) -> pb.Empty:
        pod = pod_from_proto(request.pod)
        await self._in_time(name, deadline_s, lambda by_s: hook(pod, deadline_s=by_s))
        return pb.Empty()

    async def _shutdown(self, _request: pb.Empty, _deadline_s: float | None) -> pb.Empty:
        log.info("nri.runtime_shutdown", runtime=self._runtime.name)
        return pb.Empty()

    async def _in_time(
        self, name: str, deadline_s: float | None, hook: Callable[[float], Awaitable[None]]
    ) -> None:
        """Run a hook within the request's deadline, or within the timeout of Configure."""
        now_s = asyncio.get_running_loop().time()
        budget_s = self._runtime.request_timeout_s if deadline_s is None else deadline_s - now_s
        await self._hooks.run(name, budget_s, hook)
