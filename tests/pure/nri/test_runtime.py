"""The runtime's side: what containerd does to plugins, done by ours."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
import structlog.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from netclaim.errors import RequestError
from netclaim.nri import (
    Container,
    Plugin,
    Runtime,
    RuntimeSettings,
    StatusError,
    listening,
)
from netclaim.nri.admission import split_sync
from netclaim.nri.proto import api_pb2 as pb
from netclaim.nri.wire.connection import Connection, Method, Methods, unary
from tests.support.nri.parts import (
    Recorder,
    a_container,
    a_pod,
    connected,
    dial,
    never,
    raising,
    serving,
    taking,
    virtual_time,
)


@asynccontextmanager
async def plugins(path: Path, **handlers: Recorder) -> AsyncIterator[Runtime]:
    """A runtime with connected plugins; p20 is the one with index 20. They connect as given."""
    runtime = Runtime(RuntimeSettings())
    async with serving(runtime, path), AsyncExitStack() as stack:
        for name, recorder in handlers.items():
            plugin = Plugin(recorder, name=name, index=name[1:3], socket_path=path)
            await stack.enter_async_context(connected(plugin))
        await runtime.wait_plugins(*sorted(f"{name[1:3]}-{name}" for name in handlers))
        yield runtime


async def register(end: Connection, name: str = "raw", index: str = "10") -> None:
    """Register as a plugin."""
    request = pb.RegisterPluginRequest(plugin_name=name, plugin_idx=index)
    await end.call("RegisterPlugin", request, pb.Empty, timeout_s=5)


def answering(*, events: int = 0, **calls: Callable[[], Awaitable[None]]) -> Methods:
    """What a plugin needs to be taken on, with these events (0: all), and answers to `calls`."""

    async def configure(_r: pb.ConfigureRequest, _d: float | None) -> pb.ConfigureResponse:
        return pb.ConfigureResponse(events=events)

    async def synchronize(_r: pb.SynchronizeRequest, _d: float | None) -> pb.SynchronizeResponse:
        return pb.SynchronizeResponse()

    def doing(work: Callable[[], Awaitable[None]]) -> Method:
        async def handle(_r: pb.PodSandboxRequest, _d: float | None) -> pb.Empty:
            await work()
            return pb.Empty()

        return unary(pb.PodSandboxRequest, handle)

    return {
        "Configure": unary(pb.ConfigureRequest, configure),
        "Synchronize": unary(pb.SynchronizeRequest, synchronize),
        **{name: doing(work) for name, work in calls.items()},
    }


@virtual_time
async def test_order(tmp_path: Path) -> None:
    """Plugins are told in the order of their index, not of their coming."""
    told: list[str] = []

    def telling(name: str) -> Recorder:
        async def tell() -> None:
            told.append(name)

        return Recorder(run=tell)

    async with plugins(
        tmp_path / "s", p90=telling("90"), p05=telling("05"), p10=telling("10")
    ) as runtime:
        await runtime.run_pod_sandbox(a_pod())
    assert told == ["05", "10", "90"]


@virtual_time
async def test_error_fails_the_sandbox(tmp_path: Path) -> None:
    """After an error, later plugins are skipped, and all are told that the sandbox goes again."""
    first, second, third = Recorder(), Recorder(run=raising(RequestError("no"))), Recorder()
    async with plugins(tmp_path / "s", p10=first, p20=second, p30=third) as runtime:
        with pytest.raises(StatusError, match=r"^no$"):
            await runtime.run_pod_sandbox(a_pod())
        assert runtime.plugins == ("10-p10", "20-p20", "30-p30")
    assert first.names() == second.names() == ["run", "stop", "remove"]
    assert third.names() == ["stop", "remove"]


@virtual_time
async def test_late(tmp_path: Path) -> None:
    """A plugin that is late is closed, and the sandbox goes on as if it had agreed."""
    path = tmp_path / "s"
    first, third = Recorder(), Recorder()
    async with (
        plugins(path, p10=first, p30=third) as runtime,
        dial(path, answering(RunPodSandbox=never)) as late,
    ):
        await register(late, "late", "20")
        await runtime.wait_plugins("10-p10", "20-late", "30-p30")
        with structlog.testing.capture_logs() as logs:
            await runtime.run_pod_sandbox(a_pod())
        assert runtime.plugins == ("10-p10", "30-p30")
        await late.wait_closed()
    assert first.names() == third.names() == ["run"]
    assert "nri.plugin_closed" in [entry["event"] for entry in logs]


@virtual_time
async def test_gone(tmp_path: Path) -> None:
    """A plugin that leaves during an event is forgotten, and the sandbox goes on."""
    path = tmp_path / "s"
    third = Recorder()
    ends: list[Connection] = []

    async def leave() -> None:
        ends[0].close()

    async with (
        plugins(path, p30=third) as runtime,
        dial(path, answering(RunPodSandbox=leave)) as leaving,
    ):
        ends.append(leaving)
        await register(leaving, "leaving", "20")
        await runtime.wait_plugins("20-leaving", "30-p30")
        await runtime.run_pod_sandbox(a_pod())
        assert runtime.plugins == ("30-p30",)
    assert third.names() == ["run"]


@virtual_time
async def test_errors_of_going(tmp_path: Path) -> None:
    """An error at stop is logged, later plugins miss the event, and the sandbox goes."""
    first, second = Recorder(stop=raising(RequestError("no"))), Recorder()
    async with plugins(tmp_path / "s", p10=first, p20=second) as runtime:
        with structlog.testing.capture_logs() as logs:
            await runtime.stop_pod_sandbox(a_pod())
    assert [entry["event"] for entry in logs] == ["nri.event_failed"]
    assert second.names() == []


@virtual_time
async def test_subscription(tmp_path: Path) -> None:
    """A plugin is told only of the events that it asked for."""
    path = tmp_path / "s"
    stopped = asyncio.Event()

    async def stop() -> None:
        stopped.set()

    methods = answering(events=1 << (pb.STOP_POD_SANDBOX - 1), StopPodSandbox=stop)
    runtime = Runtime(RuntimeSettings())
    async with serving(runtime, path), dial(path, methods) as end:
        await register(end)
        await runtime.wait_plugins("10-raw")
        await runtime.run_pod_sandbox(a_pod())  # would be refused: there is no such method
        await runtime.stop_pod_sandbox(a_pod())
        await runtime.remove_pod_sandbox(a_pod())
        assert stopped.is_set()


@virtual_time
async def test_silent_client(tmp_path: Path) -> None:
    """A client that does not register holds up the next plugin for 5 s, and is closed then."""
    path = tmp_path / "s"
    runtime = Runtime(RuntimeSettings())
    async with serving(runtime, path), dial(path) as silent:
        begin_s = asyncio.get_running_loop().time()
        async with connected(Plugin(Recorder(), name="p", index="10", socket_path=path)):
            assert asyncio.get_running_loop().time() == pytest.approx(begin_s + 5)
        await silent.wait_closed()


@virtual_time
async def test_client_that_leaves(tmp_path: Path) -> None:
    """A client that leaves before it registers holds nobody up."""
    path = tmp_path / "s"
    async with serving(Runtime(RuntimeSettings()), path):
        async with dial(path):
            pass
        begin_s = asyncio.get_running_loop().time()
        async with connected(Plugin(Recorder(), name="p", index="10", socket_path=path)):
            assert asyncio.get_running_loop().time() == begin_s


@pytest.mark.parametrize(("name", "index"), [("a/b", "10"), ("", "10"), ("p", "1"), ("p", "x1")])
@virtual_time
async def test_bad_registration(name: str, index: str, tmp_path: Path) -> None:
    """A plugin with a bad name or index is refused."""
    path = tmp_path / "s"
    async with serving(Runtime(RuntimeSettings()), path), dial(path) as end:
        with pytest.raises(StatusError, match="cannot be registered"):
            await register(end, name, index)


@virtual_time
async def test_unknown_events(tmp_path: Path) -> None:
    """A plugin that asks for events that NRI 0.12 does not have is closed."""
    path = tmp_path / "s"
    runtime = Runtime(RuntimeSettings())
    async with serving(runtime, path), dial(path, answering(events=1 << 14)) as end:
        await register(end)
        await end.wait_closed()


@virtual_time
async def test_plugin_that_takes_no_pieces(tmp_path: Path) -> None:
    """A plugin that answers a piece of Synchronize as if it were all of it is closed."""
    path = tmp_path / "s"
    runtime = Runtime(RuntimeSettings(sync_bytes=1), pods=[a_pod(1), a_pod(2)])
    async with serving(runtime, path), dial(path, answering()) as end:
        await register(end)
        await end.wait_closed()
        assert runtime.plugins == ()


@virtual_time
async def test_time_for_all_pieces(tmp_path: Path) -> None:
    """A plugin has one request timeout for all pieces of Synchronize, not one for each."""

    async def slowly(
        request: pb.SynchronizeRequest, _deadline_s: float | None
    ) -> pb.SynchronizeResponse:
        await taking(0.9)()
        return pb.SynchronizeResponse(more=request.more)

    path = tmp_path / "s"
    methods = {**answering(), "Synchronize": unary(pb.SynchronizeRequest, slowly)}
    for count, taken_on in ((2, True), (3, False)):
        runtime = Runtime(RuntimeSettings(sync_bytes=1), pods=map(a_pod, range(count)))
        async with serving(runtime, path), dial(path, methods) as end:
            await register(end)
            await (runtime.wait_plugins("10-raw") if taken_on else end.wait_closed())


@virtual_time
async def test_inventory(tmp_path: Path) -> None:
    """A plugin that comes later hears of what is left: a stopped sandbox has no namespace."""
    path, late = tmp_path / "s", Recorder()
    runtime = Runtime(RuntimeSettings(), pods=[a_pod(1)], containers=[a_container(1)])
    kept = Container("c3", a_pod(3).id, "web")
    async with serving(runtime, path):
        await runtime.run_pod_sandbox(a_pod(2))
        await runtime.run_pod_sandbox(a_pod(3))
        await runtime.create_container(a_pod(3), kept)
        await runtime.stop_pod_sandbox(a_pod(2))
        await runtime.remove_pod_sandbox(a_pod(1))
        async with connected(Plugin(late, name="late", index="10", socket_path=path)):
            assert late.pods == (a_pod(2, netns=None), a_pod(3))
            assert late.containers == (kept,)


@virtual_time
async def test_refused_is_not_kept(tmp_path: Path) -> None:
    """A sandbox or container that was refused is not there for a plugin that comes later."""
    no = raising(RequestError("no"))
    path, late = tmp_path / "s", Recorder()
    async with plugins(path, p10=Recorder(run=no, create=no)) as runtime:
        with pytest.raises(StatusError):
            await runtime.run_pod_sandbox(a_pod())
        with pytest.raises(StatusError):
            await runtime.create_container(a_pod(), a_container())
        async with connected(Plugin(late, name="late", index="20", socket_path=path)):
            assert (late.pods, late.containers) == ((), ())


@virtual_time
async def test_one_event_at_a_time(tmp_path: Path) -> None:
    """While a plugin works on one sandbox, the next one waits."""
    async with plugins(tmp_path / "s", p10=Recorder(run=taking(1.0))) as runtime:
        begin_s = asyncio.get_running_loop().time()
        async with asyncio.TaskGroup() as tasks:
            for number in range(3):
                tasks.create_task(runtime.run_pod_sandbox(a_pod(number)))
        assert asyncio.get_running_loop().time() == pytest.approx(begin_s + 3.0)


@virtual_time
async def test_end(tmp_path: Path) -> None:
    """A runtime that ends closes its plugins and takes its socket away."""
    path = tmp_path / "deep" / "s"
    async with AsyncExitStack() as stack:
        async with serving(Runtime(RuntimeSettings()), path):
            end = await stack.enter_async_context(dial(path, answering()))
            await register(end)
        await end.wait_closed()
        assert not path.exists()


def test_stale_socket(tmp_path: Path) -> None:
    """A socket that a killed runtime left is replaced."""
    path = tmp_path / "s"
    with listening(path) as left_behind, listening(path) as listener:
        assert listener.getsockname() == left_behind.getsockname()


@settings(deadline=None)
@given(st.integers(0, 12), st.integers(0, 12), st.integers(1, 3000))
def test_split(pod_count: int, container_count: int, limit: int) -> None:
    """However small the pieces, together they are all there is, and all but the last say more."""
    pods = [a_pod(number, size=number * 20) for number in range(pod_count)]
    containers = [a_container(number) for number in range(container_count)]
    requests = split_sync(pods, containers, limit)
    assert [pod.id for request in requests for pod in request.pods] == [pod.id for pod in pods]
    assert [one.id for request in requests for one in request.containers] == [
        container.id for container in containers
    ]
    assert [request.more for request in requests] == [True] * (len(requests) - 1) + [False]
    for request in requests:
        assert request.ByteSize() <= limit + 2 or len(request.pods) + len(request.containers) == 1
