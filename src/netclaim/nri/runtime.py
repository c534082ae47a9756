"""The runtime's side of NRI, for the embedded cluster and for tests.

It treats plugins as containerd does, including what hurts: one event at a time on the whole node;
an error status fails the sandbox or container; a plugin that is late, gone or breaks the protocol
is closed, and everything goes on as if it had agreed.

Limit: it makes no sandbox or container and only reports them; of a container's adjustments it
supports only hooks, and leaves running them to its caller; it starts no plugins.
"""

import asyncio
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, TypeVar

import msgspec
import structlog
from google.protobuf.message import Message as Proto

from netclaim.errors import PeerError
from netclaim.model.on_node.pod import PodSandbox
from netclaim.nri.admission import (
    RegisteredPlugin,
    Registration,
    RuntimeSettings,
    admit,
    synchronize,
)
from netclaim.nri.errors import MessageTooBigError, StatusError
from netclaim.nri.proto import api_pb2 as pb
from netclaim.nri.values import (
    Container,
    ContainerHook,
    container_hooks,
    container_to_proto,
    pod_to_proto,
)
from netclaim.nri.wire.connection import Connection
from netclaim.nri.wire.endpoint import RUNTIME_SIDE

_POD_CALLS = {
    pb.RUN_POD_SANDBOX: "RunPodSandbox",
    pb.STOP_POD_SANDBOX: "StopPodSandbox",
    pb.REMOVE_POD_SANDBOX: "RemovePodSandbox",
}

AnswerT = TypeVar("AnswerT", bound=Proto)

log = structlog.get_logger()


@contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """Listen on the socket that plugins dial, replacing one that an earlier runtime left."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.setblocking(False)
        listener.bind(str(path))
        try:
            listener.listen()
            yield listener
        finally:
            path.unlink(missing_ok=True)


class Runtime:
    """Sandboxes, containers, and the plugins that are notified of them.

    `pods` and `containers` are those that exist from the start, as after a runtime's restart.
    """

    def __init__(
        self,
        settings: RuntimeSettings,
        *,
        pods: Iterable[PodSandbox] = (),
        containers: Iterable[Container] = (),
    ) -> None:
        self._settings = settings
        self._pods = {pod.id: pod for pod in pods}
        self._containers = {container.id: container for container in containers}
        self._plugins: list[RegisteredPlugin] = []
        self._turn = asyncio.Condition()  # held for one event, or one plugin's Synchronize

    @property
    def plugins(self) -> tuple[str, ...]:
        """The plugins that are notified of events, in the order in which that happens."""
        return tuple(plugin.name for plugin in self._plugins)

    async def wait_plugins(self, *names: str) -> None:
        """Wait until the plugins are exactly these, as "10-name", in order."""
        async with self._turn:
            await self._turn.wait_for(lambda: self.plugins == names)

    async def serve(self, listener: socket.socket) -> NoReturn:
        """Admit plugins until cancelled, one after the other, and serve them side by side."""
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as tasks:
            while True:
                client, _ = await loop.sock_accept(listener)
                settled = asyncio.Event()
                tasks.create_task(self._attend(client, settled))
                await settled.wait()

    async def run_pod_sandbox(self, pod: PodSandbox) -> None:
        """Report a new sandbox. StatusError: a plugin refused it, and it was taken back."""
        async with self._turn:
            try:
                await self._relay_pod(pb.RUN_POD_SANDBOX, pod)
            except StatusError:
                await self._tell_pod(pb.STOP_POD_SANDBOX, pod)
                await self._tell_pod(pb.REMOVE_POD_SANDBOX, pod)
                raise
            self._pods[pod.id] = pod

    async def stop_pod_sandbox(self, pod: PodSandbox) -> None:
        """Report that a sandbox is stopping; a plugin's error is logged and ends the round."""
        async with self._turn:
            await self._tell_pod(pb.STOP_POD_SANDBOX, pod)
            self._pods[pod.id] = msgspec.structs.replace(pod, netns=None)

    async def remove_pod_sandbox(self, pod: PodSandbox) -> None:
        """Report that a sandbox is gone; a plugin's error is logged and ends the round."""
        async with self._turn:
            await self._tell_pod(pb.REMOVE_POD_SANDBOX, pod)
            self._pods.pop(pod.id, None)
            for container in tuple(self._containers.values()):
                if container.pod_sandbox_id == pod.id:
                    del self._containers[container.id]

    async def create_container(
        self, pod: PodSandbox, container: Container
    ) -> tuple[ContainerHook, ...]:
        """Report a container that is about to be made. StatusError: a plugin refused it.

        Returns the hooks that plugins ask for, in their order; all must succeed before it starts.
        """
        request = pb.CreateContainerRequest(
            pod=pod_to_proto(pod), container=container_to_proto(container)
        )
        async with self._turn:
            answers = await self._relay(
                pb.CREATE_CONTAINER, "CreateContainer", request, pb.CreateContainerResponse
            )
            self._containers[container.id] = container
            return tuple(hook for answer in answers for hook in container_hooks(answer))

    async def _tell_pod(self, event: pb.Event, pod: PodSandbox) -> None:
        try:
            await self._relay_pod(event, pod)
        except StatusError as error:
            log.warning("nri.event_failed", call=_POD_CALLS[event], pod=pod.id, reason=str(error))

    async def _relay_pod(self, event: pb.Event, pod: PodSandbox) -> None:
        message = pod_to_proto(pod)
        if self._settings.pod_calls:
            request = pb.PodSandboxRequest(pod=message)
            await self._relay(event, _POD_CALLS[event], request, pb.Empty)
        else:
            change = pb.StateChangeEvent(event=event, pod=message)
            await self._relay(event, "StateChange", change, pb.Empty)

    async def _relay(
        self, event: pb.Event, method: str, request: Proto, answer_type: type[AnswerT]
    ) -> list[AnswerT]:
        """Call the plugins in turn. An error status ends it; a plugin that fails is closed."""
        answers = []
        for plugin in tuple(self._plugins):
            if not plugin.wants(event):
                continue
            try:
                answers.append(
                    await plugin.connection.call(
                        method, request, answer_type, timeout_s=self._settings.request_timeout_s
                    )
                )
            except (StatusError, MessageTooBigError):
                raise
            except PeerError as error:
                log.warning("nri.plugin_closed", plugin=plugin.name, reason=str(error))
                plugin.connection.close()
        self._forget_closed()
        return answers

    async def _attend(self, client: socket.socket, settled: asyncio.Event) -> None:
        """Serve one plugin from its connection to its end; `settled` lets the next be accepted."""
        registration = Registration()
        try:
            reader, writer = await asyncio.open_unix_connection(sock=client)
            async with Connection(
                reader, writer, side=RUNTIME_SIDE, methods=registration.methods()
            ) as connection:
                await self._take_on(connection, registration)
                settled.set()
                await connection.wait_closed()
        except PeerError as error:
            log.warning("nri.plugin_failed", reason=str(error))
        finally:
            settled.set()
            async with self._turn:
                self._forget_closed()

    async def _take_on(self, connection: Connection, registration: Registration) -> None:
        """Admit a plugin; nothing happens between its Synchronize and its first event."""
        plugin = await admit(connection, registration, self._settings)
        async with self._turn:
            await synchronize(
                plugin, self._pods.values(), self._containers.values(), self._settings
            )
            self._plugins.append(plugin)
            self._plugins.sort(key=lambda plugin: plugin.name[:2])  # the index; it is two digits
            self._turn.notify_all()

    def _forget_closed(self) -> None:
        self._plugins = [plugin for plugin in self._plugins if not plugin.connection.closed]
        self._turn.notify_all()
