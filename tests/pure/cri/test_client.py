"""The runtime is asked which sandboxes there are, and has one stopped."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from grpclib.const import Cardinality, Handler, Status
from grpclib.exceptions import GRPCError
from grpclib.server import Server, Stream

from netclaim.cri import (
    Condition,
    CriClient,
    NoRuntimeError,
    RuntimeCallError,
    RuntimeStatus,
    Sandbox,
    SandboxStatus,
    Version,
)
from netclaim.cri import runtime_pb2 as pb
from netclaim.cri.client import SERVICE

NETNS = "/var/run/netns/cni-1"
SPEC = {"linux": {"namespaces": [{"type": "pid"}, {"type": "network", "path": NETNS}]}}


class Runtime:
    """A runtime with two sandboxes, one of which has ended."""

    def __init__(self) -> None:
        self.stopped: list[str] = []
        self.info: dict[str, Any] = {"pid": 1, "runtimeSpec": SPEC}

    def __mapping__(self) -> Mapping[str, Handler]:
        unary = Cardinality.UNARY_UNARY
        return {
            f"{SERVICE}/Version": Handler(
                self._version, unary, pb.VersionRequest, pb.VersionResponse
            ),
            f"{SERVICE}/Status": Handler(
                self._runtime_status, unary, pb.StatusRequest, pb.StatusResponse
            ),
            f"{SERVICE}/ListPodSandbox": Handler(
                self._list, unary, pb.ListPodSandboxRequest, pb.ListPodSandboxResponse
            ),
            f"{SERVICE}/PodSandboxStatus": Handler(
                self._status, unary, pb.PodSandboxStatusRequest, pb.PodSandboxStatusResponse
            ),
            f"{SERVICE}/StopPodSandbox": Handler(
                self._stop, unary, pb.StopPodSandboxRequest, pb.StopPodSandboxResponse
            ),
        }

    async def _version(self, stream: Stream[Any, Any]) -> None:
        await stream.recv_message()
        await stream.send_message(
            pb.VersionResponse(runtime_name="containerd", runtime_version="v2.3.4")
        )

    async def _runtime_status(self, stream: Stream[Any, Any]) -> None:
        request = await stream.recv_message()
        assert request is not None
        assert request.verbose
        ready = pb.RuntimeCondition(type="NetworkReady", reason="NoNet", message="no list")
        status = pb.RuntimeStatus(conditions=[ready])
        await stream.send_message(pb.StatusResponse(status=status, info={"config": "{}"}))

    async def _list(self, stream: Stream[Any, Any]) -> None:
        await stream.recv_message()
        metadata = pb.PodSandboxMetadata(name="a", uid="u1", namespace="default")
        states = (pb.SANDBOX_READY, pb.SANDBOX_NOTREADY)
        items = [
            pb.PodSandbox(id=f"s{number}", metadata=metadata, state=state)
            for number, state in enumerate(states)
        ]
        await stream.send_message(pb.ListPodSandboxResponse(items=items))

    async def _status(self, stream: Stream[Any, Any]) -> None:
        request = await stream.recv_message()
        assert request is not None
        if request.pod_sandbox_id != "s0":
            raise GRPCError(Status.NOT_FOUND, "no such sandbox")
        status = pb.PodSandboxStatus(id="s0", state=pb.SANDBOX_READY)
        info = {"info": msgspec.json.encode(self.info).decode()}
        await stream.send_message(pb.PodSandboxStatusResponse(status=status, info=info))

    async def _stop(self, stream: Stream[Any, Any]) -> None:
        request = await stream.recv_message()
        assert request is not None
        if request.pod_sandbox_id == "stuck":
            raise GRPCError(Status.UNKNOWN, "the shim does not answer")
        self.stopped.append(request.pod_sandbox_id)
        await stream.send_message(pb.StopPodSandboxResponse())


@asynccontextmanager
async def runtime_in(directory: Path) -> AsyncIterator[tuple[Runtime, CriClient]]:
    """A runtime on a socket, and a client that tries another first."""
    runtime, path = Runtime(), directory / "cri.sock"
    server = Server([runtime])
    await server.start(path=str(path))
    try:
        yield runtime, CriClient([directory / "absent.sock", path])
    finally:
        server.close()
        await server.wait_closed()


async def test_what_the_runtime_is(tmp_path: Path) -> None:
    """Its name and version; its conditions, and its configuration in its own form."""
    async with runtime_in(tmp_path) as (_, client):
        assert await client.version() == Version("containerd", "v2.3.4")
        assert await client.runtime_status() == RuntimeStatus(
            (Condition("NetworkReady", holds=False, reason="NoNet", message="no list"),),
            {"config": "{}"},
        )


async def test_sandboxes_are_listed(tmp_path: Path) -> None:
    """All of them, with whether they run."""
    async with runtime_in(tmp_path) as (_, client):
        assert await client.list() == (
            Sandbox("s0", "u1", "default", "a", ready=True),
            Sandbox("s1", "u1", "default", "a", ready=False),
        )


async def test_one_is_looked_at(tmp_path: Path) -> None:
    """Its state, its network and its namespace; one that is gone is no error."""
    async with runtime_in(tmp_path) as (_, client):
        expected = SandboxStatus(ready=True, on_host_network=False, netns=NETNS)
        assert await client.status("s0") == expected
        assert await client.status("s9") is None


@pytest.mark.parametrize("info", [{}, {"runtimeSpec": None}, {"runtimeSpec": {"linux": 7}}])
async def test_namespace_that_the_runtime_does_not_say(tmp_path: Path, info: Any) -> None:
    """What is beyond CRI may be anything."""
    async with runtime_in(tmp_path) as (runtime, client):
        runtime.info = info
        status = await client.status("s0")
        assert status is not None
        assert status.netns is None


async def test_one_is_stopped(tmp_path: Path) -> None:
    """And what the runtime says against it is an error of ours."""
    async with runtime_in(tmp_path) as (runtime, client):
        await client.stop("s0")
        assert runtime.stopped == ["s0"]
        with pytest.raises(RuntimeCallError, match="StopPodSandbox: UNKNOWN: the shim does not"):
            await client.stop("stuck")


async def test_no_runtime(tmp_path: Path) -> None:
    """Without a socket that is said, with where it was looked for; a dead one is another error."""
    with pytest.raises(NoRuntimeError, match=r"no socket of the .* exists \(.*/absent.sock\)"):
        await CriClient([tmp_path / "absent.sock"]).list()
    (tmp_path / "dead.sock").touch()
    with pytest.raises(RuntimeCallError, match="ListPodSandbox"):
        await CriClient([tmp_path / "dead.sock"]).list()
