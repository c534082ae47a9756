"""A client of the container runtime: its version and status, its sandboxes, and stopping one.

Promise: a call returns within its deadline; whatever goes wrong is a RuntimeCallError; a sandbox
that is gone is no error. Each call opens a connection of its own: calls are rare, and the runtime's
socket comes and goes with it.
Limit: this asks for nothing that kubelet does not ask for as well, and creates nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from grpclib.client import Channel, UnaryUnaryMethod
from grpclib.const import Status
from grpclib.exceptions import GRPCError, StreamTerminatedError

from netclaim.cri import runtime_pb2 as pb
from netclaim.errors import PeerError
from netclaim.json_text import UNREADABLE

Request = TypeVar("Request")
Answer = TypeVar("Answer")

SERVICE: Final = f"/{pb.DESCRIPTOR.services_by_name['RuntimeService'].full_name}"
LOOK_S: Final = 10.0  # the runtime answers from its memory
# Stopping ends the pod's containers and its network, by programs; kubelet gives it four minutes.
STOP_S: Final = 60.0


class RuntimeCallError(PeerError):
    """A call to the container runtime brought no answer."""


class NoRuntimeError(RuntimeCallError):
    """No container runtime can be asked on this node, because there is no socket."""


class _NotFoundError(RuntimeCallError):
    """The runtime does not have the object that a call names."""


class Sandbox(msgspec.Struct, frozen=True):
    """A sandbox in the runtime's list. One that is not `ready` has ended, or is about to."""

    id: str
    uid: str
    namespace: str
    name: str
    ready: bool


class SandboxStatus(msgspec.Struct, frozen=True):
    """The state of one sandbox; `netns` is its network namespace, if the runtime reports it."""

    ready: bool
    on_host_network: bool
    netns: str | None = None


class Version(msgspec.Struct, frozen=True):
    """The runtime's name and version, for example `containerd` and `v2.3.4`."""

    name: str
    version: str


class Condition(msgspec.Struct, frozen=True):
    """A condition that the runtime reports of itself, for example `NetworkReady`."""

    type: str
    holds: bool
    reason: str
    message: str


class RuntimeStatus(msgspec.Struct, frozen=True):
    """The runtime's conditions, and its description of its configuration, in its own form."""

    conditions: tuple[Condition, ...]
    info: Mapping[str, str]


class CriClient:
    """The runtime behind the first of `sockets` that exists."""

    def __init__(self, sockets: Sequence[Path]) -> None:
        self._sockets = tuple(sockets)

    async def version(self) -> Version:
        answer = await self._call("Version", pb.VersionRequest(), pb.VersionResponse)
        return Version(name=answer.runtime_name, version=answer.runtime_version)

    async def runtime_status(self) -> RuntimeStatus:
        answer = await self._call("Status", pb.StatusRequest(verbose=True), pb.StatusResponse)
        return RuntimeStatus(
            conditions=tuple(
                Condition(
                    type=each.type, holds=each.status, reason=each.reason, message=each.message
                )
                for each in answer.status.conditions
            ),
            info=dict(answer.info),
        )

    async def list(self) -> tuple[Sandbox, ...]:
        """List all sandboxes, also those that have ended."""
        answer = await self._call(
            "ListPodSandbox", pb.ListPodSandboxRequest(), pb.ListPodSandboxResponse
        )
        return tuple(
            Sandbox(
                id=each.id,
                uid=each.metadata.uid,
                namespace=each.metadata.namespace,
                name=each.metadata.name,
                ready=each.state == pb.SANDBOX_READY,
            )
            for each in answer.items
        )

    async def status(self, sandbox_id: str) -> SandboxStatus | None:
        """Return the state of a sandbox; None if no sandbox has that id."""
        request = pb.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id, verbose=True)
        try:
            answer = await self._call("PodSandboxStatus", request, pb.PodSandboxStatusResponse)
        except _NotFoundError:
            return None
        status = answer.status
        return SandboxStatus(
            ready=status.state == pb.SANDBOX_READY,
            on_host_network=status.linux.namespaces.options.network == pb.NODE,
            netns=_netns(answer.info.get("info", "")),
        )

    async def stop(self, sandbox_id: str) -> None:
        """End a sandbox and all its containers; kubelet makes a new one. May be called twice."""
        request = pb.StopPodSandboxRequest(pod_sandbox_id=sandbox_id)
        await self._call("StopPodSandbox", request, pb.StopPodSandboxResponse, timeout_s=STOP_S)

    async def _call(
        self, name: str, request: Request, answer: type[Answer], *, timeout_s: float = LOOK_S
    ) -> Answer:
        path = next((each for each in self._sockets if each.exists()), None)
        if path is None:
            tried = ", ".join(map(str, self._sockets)) or "none given"
            raise NoRuntimeError(f"{name}: no socket of the container runtime exists ({tried})")
        with _call_errors(name):
            async with Channel(path=str(path)) as channel:
                method = UnaryUnaryMethod(channel, f"{SERVICE}/{name}", type(request), answer)
                return await method(request, timeout=timeout_s)


class _Namespace(msgspec.Struct):
    type: str = ""
    path: str = ""


class _Linux(msgspec.Struct):
    namespaces: list[_Namespace] = []


class _Spec(msgspec.Struct):
    linux: _Linux = msgspec.field(default_factory=_Linux)


class _Info(msgspec.Struct):
    """What containerd and CRI-O report of a sandbox beyond CRI: its OCI specification."""

    runtimeSpec: _Spec | None = None  # noqa: N815 (the wire's name)


def _netns(info: str) -> str | None:
    try:
        spec = msgspec.json.decode(info, type=_Info).runtimeSpec
    except UNREADABLE:
        return None
    found = spec.linux.namespaces if spec is not None else []
    return next((each.path for each in found if each.type == "network" and each.path), None)


@contextmanager
def _call_errors(call: str) -> Iterator[None]:
    try:
        yield
    except GRPCError as error:
        kind = _NotFoundError if error.status is Status.NOT_FOUND else RuntimeCallError
        raise kind(f"{call}: {error.status.name}: {error.message}") from error
    except (OSError, StreamTerminatedError, TimeoutError) as error:
        raise RuntimeCallError(f"{call}: {str(error) or type(error).__name__}") from error
