"""A client of the container runtime: what it is, its sandboxes, one of them, have one stopped.

Promise: a call returns within its deadline; whatever goes wrong is a RuntimeCallError; a sandbox
that is gone is no error. Each call opens a connection of its own: they are rare, and the runtime's
socket comes and goes with it.
Limit: asks for nothing that kubelet does not ask for, too, and makes nothing.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

import msgspec
from grpclib.client import Channel, UnaryUnaryMethod
from grpclib.const import Status
from grpclib.exceptions import GRPCError, StreamTerminatedError

from netclaim.cri import runtime_pb2 as pb
from netclaim.errors import PeerError

__all__ = [
    "Condition",
    "CriClient",
    "NoRuntimeError",
    "RuntimeCallError",
    "RuntimeStatus",
    "Sandbox",
    "SandboxStatus",
    "Version",
]

SERVICE: Final = f"/{pb.DESCRIPTOR.services_by_name['RuntimeService'].full_name}"
LOOK_S: Final = 10.0  # answered from the runtime's memory
# Stopping ends the pod's containers and its network, by programs; kubelet gives it four minutes.
STOP_S: Final = 60.0


class RuntimeCallError(PeerError):
    """A call to the container runtime that brought no answer."""


class NoRuntimeError(RuntimeCallError):
    """No container runtime can be asked on this node: there is no socket."""


class Sandbox(msgspec.Struct, frozen=True):
    """A sandbox in the runtime's list. One that is not `ready` has ended, or is about to."""

    id: str
    uid: str
    namespace: str
    name: str
    ready: bool


class SandboxStatus(msgspec.Struct, frozen=True):
    """One sandbox, looked at; `netns` is its network namespace, if the runtime says."""

    ready: bool
    on_host_network: bool
    netns: str | None = None


class Version(msgspec.Struct, frozen=True):
    """What the runtime is, such as `containerd` and `v2.3.4`."""

    name: str
    version: str


class Condition(msgspec.Struct, frozen=True):
    """What the runtime says of itself, such as `NetworkReady`."""

    type: str
    holds: bool
    reason: str
    message: str


class RuntimeStatus(msgspec.Struct, frozen=True):
    """The runtime's conditions, and what it says of its configuration, in its own form."""

    conditions: tuple[Condition, ...]
    info: Mapping[str, str]


class CriClient:
    """The runtime behind a socket; the first of `sockets` that exists."""

    def __init__(self, sockets: Sequence[Path]) -> None:
        self._sockets = tuple(sockets)

    async def version(self) -> Version:
        """What runtime this is."""
        async with self._channel("Version") as channel:
            method = UnaryUnaryMethod(
                channel, f"{SERVICE}/Version", pb.VersionRequest, pb.VersionResponse
            )
            answer = await method(pb.VersionRequest(), timeout=LOOK_S)
        return Version(name=answer.runtime_name, version=answer.runtime_version)

    async def runtime_status(self) -> RuntimeStatus:
        """How the runtime is, and how it is configured."""
        async with self._channel("Status") as channel:
            method = UnaryUnaryMethod(
                channel, f"{SERVICE}/Status", pb.StatusRequest, pb.StatusResponse
            )
            answer = await method(pb.StatusRequest(verbose=True), timeout=LOOK_S)
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
        """All sandboxes, ended ones too."""
        async with self._channel("ListPodSandbox") as channel:
            method = UnaryUnaryMethod(
                channel,
                f"{SERVICE}/ListPodSandbox",
                pb.ListPodSandboxRequest,
                pb.ListPodSandboxResponse,
            )
            answer = await method(pb.ListPodSandboxRequest(), timeout=LOOK_S)
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
        """One sandbox as it is now; None if there is none of that id."""
        async with self._channel("PodSandboxStatus") as channel:
            method = UnaryUnaryMethod(
                channel,
                f"{SERVICE}/PodSandboxStatus",
                pb.PodSandboxStatusRequest,
                pb.PodSandboxStatusResponse,
            )
            request = pb.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id, verbose=True)
            try:
                answer = await method(request, timeout=LOOK_S)
            except GRPCError as error:
                if error.status is Status.NOT_FOUND:
                    return None
                raise
        status = answer.status
        return SandboxStatus(
            ready=status.state == pb.SANDBOX_READY,
            on_host_network=status.linux.namespaces.options.network == pb.NODE,
            netns=_netns(answer.info.get("info", "")),
        )

    async def stop(self, sandbox_id: str) -> None:
        """End a sandbox and all its containers; kubelet makes a new one. Again: nothing."""
        async with self._channel("StopPodSandbox") as channel:
            method = UnaryUnaryMethod(
                channel,
                f"{SERVICE}/StopPodSandbox",
                pb.StopPodSandboxRequest,
                pb.StopPodSandboxResponse,
            )
            await method(pb.StopPodSandboxRequest(pod_sandbox_id=sandbox_id), timeout=STOP_S)

    @asynccontextmanager
    async def _channel(self, call: str) -> AsyncIterator[Channel]:
        path = next((each for each in self._sockets if each.exists()), None)
        if path is None:
            tried = ", ".join(map(str, self._sockets)) or "none given"
            raise NoRuntimeError(f"{call}: no socket of the container runtime exists ({tried})")
        with _call_errors(call):
            async with Channel(path=str(path)) as channel:
                yield channel


class _Namespace(msgspec.Struct):
    type: str = ""
    path: str = ""


class _Linux(msgspec.Struct):
    namespaces: list[_Namespace] = []


class _Spec(msgspec.Struct):
    linux: _Linux = msgspec.field(default_factory=_Linux)


class _Info(msgspec.Struct):
    """What containerd and CRI-O say of a sandbox beyond CRI: its OCI specification."""

    runtimeSpec: _Spec | None = None  # noqa: N815 (the wire's name)


def _netns(info: str) -> str | None:
    try:
        spec = msgspec.json.decode(info, type=_Info).runtimeSpec
    except msgspec.MsgspecError:
        return None
    found = spec.linux.namespaces if spec is not None else []
    return next((each.path for each in found if each.type == "network" and each.path), None)


@contextmanager
def _call_errors(call: str) -> Iterator[None]:
    try:
        yield
    except GRPCError as error:
        raise RuntimeCallError(f"{call}: {error.status.name}: {error.message}") from error
    except (OSError, StreamTerminatedError, TimeoutError) as error:
        raise RuntimeCallError(f"{call}: {str(error) or type(error).__name__}") from error
