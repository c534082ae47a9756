"""How a runtime admits a plugin: it registers, is configured, and learns what exists.

Promise: an admitted plugin knows every sandbox and container, and gets the events it asked for.
Limit: this keeps no state; the runtime makes sure that nothing happens during `synchronize`.
"""

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from netclaim.errors import RequestError
from netclaim.model.on_node.pod import PodSandbox
from netclaim.nri.errors import ProtocolError
from netclaim.nri.proto import api_pb2 as pb
from netclaim.nri.values import Container, container_to_proto, pod_to_proto
from netclaim.nri.wire.connection import Connection, Methods, unary

KNOWN_EVENTS = 0x3FFF  # the 14 events of NRI 0.12; a plugin that asks for others is refused
FIELD_BYTES = 8  # at most what protobuf puts before an entry: a tag and a length


class RuntimeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a runtime introduces itself and behaves; the defaults are those of containerd 2.3."""

    name: str = "netclaim"
    version: str = "0"
    nri_version: str = "0.12.0"
    registration_timeout_s: float = 5.0
    request_timeout_s: float = 2.0
    pod_calls: bool = True
    """If false, sandboxes are reported through StateChange, as before NRI 0.12 (containerd 2.0 to
    2.2)."""
    sync_bytes: int = 4_000_000
    """How many bytes go into one Synchronize; below 4 MiB is room for the request around it."""


@dataclass(frozen=True, eq=False, slots=True)
class RegisteredPlugin:
    """A plugin as the runtime sees it. `name` begins with its index: "10-netclaim"."""

    name: str
    events: int
    connection: Connection

    def wants(self, event: pb.Event) -> bool:
        return bool(self.events & 1 << (event - 1))


class Registration:
    """The call by which a plugin registers its name, and the name once it has."""

    def __init__(self) -> None:
        self.name: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def methods(self) -> Methods:
        """Return what a plugin can call."""
        return {"RegisterPlugin": unary(pb.RegisterPluginRequest, self._register)}

    async def _register(
        self, request: pb.RegisterPluginRequest, _deadline_s: float | None
    ) -> pb.Empty:
        name = f"{request.plugin_idx}-{request.plugin_name}"
        if self.name.done() or not re.fullmatch(r"[0-9]{2}-[A-Za-z0-9_.+-]+", name):
            raise RequestError(f"{name!r} cannot be registered")
        self.name.set_result(name)
        return pb.Empty()


async def admit(
    connection: Connection, registration: Registration, settings: RuntimeSettings
) -> RegisteredPlugin:
    """Wait for a plugin to register, and configure it."""
    name = await connection.expect(
        "RegisterPlugin", registration.name, timeout_s=settings.registration_timeout_s
    )
    request = pb.ConfigureRequest(
        runtime_name=settings.name,
        runtime_version=settings.version,
        registration_timeout=round(settings.registration_timeout_s * 1000),
        request_timeout=round(settings.request_timeout_s * 1000),
        NRI_version=settings.nri_version,
    )
    reply = await connection.call(
        "Configure", request, pb.ConfigureResponse, timeout_s=settings.request_timeout_s
    )
    if reply.events & ~KNOWN_EVENTS:
        raise ProtocolError(f"{name} asks for unknown events: {reply.events:#x}")
    return RegisteredPlugin(name, reply.events or KNOWN_EVENTS, connection)


async def synchronize(
    plugin: RegisteredPlugin,
    pods: Iterable[PodSandbox],
    containers: Iterable[Container],
    settings: RuntimeSettings,
) -> None:
    """Send a plugin everything that exists, in pieces if necessary.

    One request timeout covers all pieces.
    """
    loop = asyncio.get_running_loop()
    deadline_s = loop.time() + settings.request_timeout_s
    for request in split_sync(pods, containers, settings.sync_bytes):
        reply = await plugin.connection.call(
            "Synchronize", request, pb.SynchronizeResponse, timeout_s=deadline_s - loop.time()
        )
        if request.more and (reply.update or not reply.more):
            raise ProtocolError(f"{plugin.name} does not take a Synchronize in pieces")


def split_sync(
    pods: Iterable[PodSandbox], containers: Iterable[Container], limit: int
) -> list[pb.SynchronizeRequest]:
    """Make requests of at most `limit` bytes each, unless an entry is larger; at least one."""
    requests = [pb.SynchronizeRequest()]
    size = 0

    def make_room(entry: pb.PodSandbox | pb.Container) -> None:
        nonlocal size
        entry_size = entry.ByteSize() + FIELD_BYTES
        if size and size + entry_size > limit:
            requests[-1].more = True
            requests.append(pb.SynchronizeRequest())
            size = 0
        size += entry_size

    for pod in map(pod_to_proto, pods):
        make_room(pod)
        requests[-1].pods.append(pod)
    for container in map(container_to_proto, containers):
        make_room(container)
        requests[-1].containers.append(container)
    return requests
