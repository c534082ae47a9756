"""What a runtime can call of a plugin, one call at a time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import structlog.testing

from netclaim.nri import Container, RuntimeInfo, StatusError
from netclaim.nri.deadlines import HookRunner
from netclaim.nri.proto import api_pb2 as pb
from netclaim.nri.service import Handlers, PluginService
from netclaim.nri.values import container_to_proto, pod_to_proto
from netclaim.nri.wire import ttrpc
from netclaim.nri.wire.connection import Connection, Methods
from netclaim.tasks import TaskScope
from tests.support.nri.parts import Recorder, a_container, a_pod, never, pair, raising, virtual_time


def ignore(_runtime: RuntimeInfo) -> None:
    """Nobody wants to know that a plugin is synchronized."""


@asynccontextmanager
async def methods_of(handlers: Handlers) -> AsyncIterator[Methods]:
    """What can be called of a plugin."""
    async with TaskScope() as tasks:
        yield PluginService(handlers, HookRunner(tasks), ignore).methods()


@asynccontextmanager
async def runtime_of(handlers: Handlers) -> AsyncIterator[Connection]:
    """The runtime's end of a connection to a plugin."""
    async with methods_of(handlers) as methods, pair(plugin=methods) as (_, runtime):
        yield runtime


async def synchronize(runtime: Connection, request: pb.SynchronizeRequest) -> bool:
    """Call Synchronize; returns the answer's `more`."""
    reply = await runtime.call("Synchronize", request, pb.SynchronizeResponse, timeout_s=2)
    assert not reply.update
    return reply.more


@virtual_time
async def test_events() -> None:
    """The plugin asks for the lowest four events, which every runtime knows."""
    handlers = Recorder()
    async with runtime_of(handlers) as runtime:
        request = pb.ConfigureRequest(
            runtime_name="containerd",
            runtime_version="2.3.4",
            NRI_version="0.12.0",
            request_timeout=2500,
            config="x: 1",
        )
        reply = await runtime.call("Configure", request, pb.ConfigureResponse, timeout_s=2)
    assert reply.events == 0b1111
    assert handlers.runtime == RuntimeInfo("containerd", "2.3.4", "0.12.0", 2.5, "x: 1")


@virtual_time
async def test_pieces() -> None:
    """Pieces of a Synchronize are collected; the handler hears of all with the last, and once."""
    handlers = Recorder()
    pieces = [
        pb.SynchronizeRequest(pods=[pod_to_proto(a_pod(1))], more=True),
        pb.SynchronizeRequest(containers=[container_to_proto(a_container())], more=True),
        pb.SynchronizeRequest(pods=[pod_to_proto(a_pod(2))]),
    ]
    async with runtime_of(handlers) as runtime:
        assert [await synchronize(runtime, piece) for piece in pieces] == [True, True, False]
    assert (handlers.pods, handlers.containers) == ((a_pod(1), a_pod(2)), (a_container(),))
    assert len(handlers.deadlines_s) == 1


@virtual_time
async def test_synchronize_again() -> None:
    """At a second Synchronize, the handler gets what that one says, without the first."""
    handlers = Recorder()
    async with runtime_of(handlers) as runtime:
        for number in (1, 2):
            pod = pod_to_proto(a_pod(number))
            await synchronize(runtime, pb.SynchronizeRequest(pods=[pod]))
    assert handlers.pods == (a_pod(2),)


@virtual_time
async def test_events_not_asked_for() -> None:
    """A StateChange of an event that is none of ours is answered and passed over."""
    handlers = Recorder()
    async with runtime_of(handlers) as runtime:
        for number in (0, 4, 6, 99):
            event = pb.StateChangeEvent.FromString(bytes([8, number]))
            await runtime.call("StateChange", event, pb.Empty, timeout_s=2)
    assert handlers.events == []


@virtual_time
async def test_shutdown() -> None:
    """A runtime that says it goes down is answered; the plugin waits for it to come back."""
    async with runtime_of(Recorder()) as runtime:
        with structlog.testing.capture_logs() as logs:
            await runtime.call("Shutdown", pb.Empty(), pb.Empty, timeout_s=2)
    assert [entry["event"] for entry in logs] == ["nri.runtime_shutdown"]


@virtual_time
async def test_timeout_of_configure() -> None:
    """A request without a timeout of its own has the one that Configure told."""
    handlers = Recorder(stop=never)
    configure = pb.ConfigureRequest(request_timeout=1000).SerializeToString()
    async with methods_of(handlers) as methods:
        await methods["Configure"](ttrpc.Request(1, "", "", configure), None)
        now_s = asyncio.get_running_loop().time()
        response = await methods["StopPodSandbox"](ttrpc.Request(3, "", "", b""), None)
    assert response.text == "StopPodSandbox did not finish within 0.9 s"
    assert handlers.deadlines_s == [pytest.approx(now_s + 0.9)]


@virtual_time
async def test_timeout_of_the_handler() -> None:
    """A TimeoutError that is the handler's own is not taken for the runtime's deadline."""
    async with runtime_of(Recorder(run=raising(TimeoutError("no DHCP answer")))) as runtime:
        with pytest.raises(StatusError, match=r"^TimeoutError: no DHCP answer$"):
            await runtime.call("RunPodSandbox", pb.PodSandboxRequest(), pb.Empty, timeout_s=2)


@virtual_time
async def test_slow_configure() -> None:
    """Configure is answered in time too."""
    async with runtime_of(Recorder(configure=never)) as runtime:
        request = pb.ConfigureRequest(request_timeout=2000)
        with pytest.raises(StatusError, match=r"Configure did not finish within 1\.8 s"):
            await runtime.call("Configure", request, pb.ConfigureResponse, timeout_s=2)


@virtual_time
async def test_no_adjustment() -> None:
    """CreateContainer asks for no change of the container."""
    handlers = Recorder()
    container = Container("c", "sandbox-1", "web")
    request = pb.CreateContainerRequest(
        pod=pod_to_proto(a_pod()), container=container_to_proto(container)
    )
    async with runtime_of(handlers) as runtime:
        reply = await runtime.call("CreateContainer", request, pb.Empty, timeout_s=2)
    assert reply.SerializeToString() == b""
    assert handlers.created == [container]
