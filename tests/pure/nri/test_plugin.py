"""The plugin, against our runtime: the checks for any runtime, and what only the plugin decides."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import structlog.testing

from netclaim.errors import HostError, RequestError
from netclaim.nri import Backoff, Plugin, Runtime, RuntimeSettings
from tests.support.nri.checks import CHECKS, RuntimeUnderTest, a_plugin
from tests.support.nri.parts import (
    Recorder,
    a_pod,
    background,
    never,
    raising,
    serving,
    virtual_time,
)

DIALECTS = {
    "current": RuntimeSettings(),
    "before 0.12": RuntimeSettings(pod_calls=False, nri_version="0.11.0"),
    "in pieces": RuntimeSettings(sync_bytes=10_000),
}


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("settings", DIALECTS.values(), ids=DIALECTS)
@virtual_time
async def test_check(
    check: Callable[[RuntimeUnderTest, Path], Awaitable[None]],
    settings: RuntimeSettings,
    tmp_path: Path,
) -> None:
    """The plugin passes the checks with our runtime, in each dialect that runtimes speak."""
    runtime = Runtime(settings)
    async with serving(runtime, tmp_path / "nri.sock"):
        await check(runtime, tmp_path / "nri.sock")


@virtual_time
async def test_restart(tmp_path: Path) -> None:
    """The plugin comes back to a restarted runtime and is synchronized anew; the log tells both."""
    path = tmp_path / "nri.sock"
    handlers = Recorder()
    plugin = Plugin(handlers, name="p", index="10", socket_path=path)
    with structlog.testing.capture_logs() as logs:
        async with background(plugin.run()):
            async with serving(Runtime(RuntimeSettings(version="1")), path):
                await plugin.wait_connected()
            await plugin.wait_lost()
            assert plugin.runtime is None
            async with serving(Runtime(RuntimeSettings(version="2"), pods=[a_pod()]), path):
                await plugin.wait_connected()
                assert (handlers.runtime and handlers.runtime.version) == "2"
                assert handlers.pods == (a_pod(),)
                told = [entry["event"] for entry in logs]
    assert [event for event in told if event in {"nri.connected", "nri.lost"}] == [
        "nri.connected",
        "nri.lost",
        "nri.connected",
    ]


class Pauses:
    """Writes down how long the plugin would have paused, and lets the test act instead."""

    def __init__(self) -> None:
        self.delays_s: list[float] = []
        self.actions: dict[int, Callable[[], Awaitable[None]]] = {}

    async def __call__(self, delay_s: float) -> None:
        """In place of asyncio.sleep."""
        self.delays_s.append(delay_s)
        await self.actions.get(len(self.delays_s), _go_on)()


async def _go_on() -> None:
    await asyncio.sleep(0)


@virtual_time
async def test_backoff(tmp_path: Path) -> None:
    """Without a runtime the pauses double up to the cap; a good session begins them anew."""
    path = tmp_path / "nri.sock"
    pauses = Pauses()
    plugin = Plugin(
        Recorder(),
        name="p",
        index="10",
        socket_path=path,
        backoff=Backoff(first_s=1.0, cap_s=5.0),
        pause=pauses,
        chance=lambda: 0.0,
    )
    start, ended = asyncio.Event(), asyncio.Event()

    async def wait_for_runtime() -> None:
        start.set()
        await plugin_may_go_on.wait()

    async def stop() -> None:
        ended.set()
        await never()

    plugin_may_go_on = asyncio.Event()
    pauses.actions = {5: wait_for_runtime, 8: stop}
    async with background(plugin.run()):
        await start.wait()
        async with serving(Runtime(RuntimeSettings()), path):
            plugin_may_go_on.set()
            await plugin.wait_connected()
        await ended.wait()
    assert pauses.delays_s == [1, 2, 4, 5, 5, 1, 2, 4]


def test_jitter() -> None:
    """Chance takes at most half of a pause away."""
    delays = Backoff(first_s=2.0, cap_s=2.0).delays(iter([0.0, 0.5, 1.0]).__next__)
    assert [next(delays) for _ in range(3)] == [2.0, 1.5, 1.0]


@virtual_time
async def test_unreachable_told_once(tmp_path: Path) -> None:
    """A runtime that stays away is told of once, not at each attempt."""
    pauses, ended = Pauses(), asyncio.Event()

    async def stop() -> None:
        ended.set()
        await never()

    pauses.actions = {4: stop}
    plugin = Plugin(
        Recorder(), name="p", index="10", socket_path=tmp_path / "nri.sock", pause=pauses
    )
    with structlog.testing.capture_logs() as logs:
        async with background(plugin.run()):
            await ended.wait()
    assert [entry["event"] for entry in logs] == ["nri.unreachable"]


@virtual_time
async def test_failed_synchronize(tmp_path: Path) -> None:
    """A plugin whose synchronize fails is not connected, and tries again."""
    handlers = Recorder(synchronize=raising(RequestError("not now")))
    pauses, tried = Pauses(), asyncio.Event()

    async def note() -> None:
        tried.set()
        await never()

    pauses.actions = {2: note}
    path = tmp_path / "nri.sock"
    plugin = Plugin(handlers, name="p", index="10", socket_path=path, pause=pauses)
    async with serving(Runtime(RuntimeSettings()), path), background(plugin.run()):
        await tried.wait()
        assert plugin.runtime is None


@virtual_time
async def test_lost_while_working(tmp_path: Path) -> None:
    """A hook that is at work when the runtime goes is cancelled, and the plugin comes back."""
    path = tmp_path / "nri.sock"
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        started.set()
        try:
            await never()
        finally:
            cancelled.set()

    plugin = Plugin(Recorder(run=work), name="p", index="10", socket_path=path)
    async with background(plugin.run()):
        runtime = Runtime(RuntimeSettings())
        async with serving(runtime, path):
            await plugin.wait_connected()
            async with background(runtime.run_pod_sandbox(a_pod())):
                await started.wait()
        await cancelled.wait()
        async with serving(Runtime(RuntimeSettings()), path):
            await plugin.wait_connected()


@virtual_time
async def test_deadlines(tmp_path: Path) -> None:
    """A hook's deadline leaves a tenth of the runtime's timeout, at most 0.2 s, for the answer."""
    handlers, path = Recorder(), tmp_path / "nri.sock"
    runtime = Runtime(RuntimeSettings(request_timeout_s=10.0))
    async with serving(runtime, path), a_plugin(handlers, path):
        now_s = asyncio.get_running_loop().time()
        await runtime.run_pod_sandbox(a_pod())
        assert handlers.deadlines_s[-1] == pytest.approx(now_s + 9.8)


@virtual_time
async def test_stopped(tmp_path: Path) -> None:
    """A plugin that is stopped leaves the runtime, which goes on without it."""
    path = tmp_path / "nri.sock"
    runtime = Runtime(RuntimeSettings())
    async with serving(runtime, path):
        async with a_plugin(Recorder(), path) as plugin:
            await runtime.wait_plugins("10-examined")
        await runtime.wait_plugins()
        await plugin.wait_lost()
        await runtime.run_pod_sandbox(a_pod())


@pytest.mark.parametrize("name", ["", "a b", "a/b", "ä"])
def test_bad_name(name: str) -> None:
    """A name that runtimes refuse is refused before they are asked."""
    with pytest.raises(RequestError, match="is not a plugin name"):
        Plugin(Recorder(), name=name, index="10")


@pytest.mark.parametrize("index", ["", "1", "100", "1a", "\u0661\u0661"])
def test_bad_index(index: str) -> None:
    """An index that is not two digits is refused."""
    with pytest.raises(RequestError, match="is not a plugin index"):
        Plugin(Recorder(), name="cni.dra.networking.x-k8s.io", index=index)


def test_long_path() -> None:
    """A socket path that the kernel cannot take is refused with the limit."""
    with pytest.raises(HostError, match="107 bytes"):
        Plugin(Recorder(), name="p", index="10", socket_path=Path("/" + "x" * 107))
