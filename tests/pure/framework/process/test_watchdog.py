"""An event loop that is blocked is noticed, while it lasts and afterwards."""

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest
import structlog
from structlog.typing import EventDict

from netclaim.framework.process.driver_thread import own_loop
from netclaim.framework.process.watchdog import Watched, this_loop, watching
from netclaim.framework.telemetry.metrics import Loop, Metrics
from netclaim.framework.testing import FakeClock

LONG_S = 60.0  # a test that waits for so long has failed


class Log:
    """What was logged so far, by whichever thread."""

    def __init__(self) -> None:
        self.events: list[EventDict] = []
        self._more = threading.Condition()

    def __call__(self, _logger: object, _method: str, event: EventDict) -> EventDict:
        """Keep an event."""
        with self._more:
            self.events.append(event)
            self._more.notify_all()
        raise structlog.DropEvent

    def find(self, name: str) -> EventDict | None:
        """The first event of this name."""
        return next((event for event in self.events if event["event"] == name), None)

    def wait(self, name: str) -> EventDict:
        """Block until there is an event of this name."""
        with self._more:
            assert self._more.wait_for(lambda: self.find(name) is not None, LONG_S)
        found = self.find(name)
        assert found is not None
        return found


@pytest.fixture
def log() -> Iterator[Log]:
    """The log of the test."""
    kept = Log()
    before = structlog.get_config()["processors"]
    structlog.configure(processors=[kept])
    try:
        yield kept
    finally:
        structlog.configure(processors=before)


def block_until(fact: Callable[[], object]) -> None:
    """Hold up the thread, as a blocking call does, until the other thread has seen it."""
    fact()


async def test_a_stall_is_reported_while_it_lasts(log: Log) -> None:
    """The log says where the loop hangs, then for how long it did; metrics and readiness follow."""
    clock = FakeClock()
    metrics = Metrics("a.example.com", clock)
    async with watching([this_loop()], metrics, clock) as watchdog:
        assert (watchdog.late(), watchdog.hung()) == ("", "")
        block_until(lambda: log.wait("loop.stalled"))
        stalled = log.find("loop.stalled")
        assert stalled is not None
        assert stalled["loop"] == "main"
        assert "block_until" in stalled["stack"]
        recovered = await asyncio.to_thread(log.wait, "loop.recovered")
        assert recovered["after_s"] >= 1.0  # rounded
        assert "the event loop 'main' was blocked for" in watchdog.late()
        assert watchdog.hung() == ""  # it is over, and a restart would not help
        await clock.sleep(15.5)
        assert (watchdog.late(), watchdog.hung()) == ("", "")
    text = metrics.exposition().decode()
    assert 'netclaim_loop_stalls_total{driver="a.example.com",loop="main"} 1' in text
    assert 'netclaim_loop_lag_seconds_bucket{driver="a.example.com",le="2.0",loop="main"}' in text


async def test_a_loop_of_hooks_is_watched_too(log: Log) -> None:
    """Hooks that block are reported, and make nobody restart the driver that still answers."""
    clock = FakeClock()
    metrics = Metrics("a.example.com", clock)
    async with own_loop("hooks") as hooks:
        watched = Watched("hooks", hooks.loop, hooks.thread.ident or 0)

        async def block() -> None:
            log.wait("loop.stalled")

        async with watching([watched], metrics, clock) as watchdog:
            await hooks.call("attach", block)
            assert log.wait("loop.stalled")["loop"] == "hooks"
            assert "'hooks'" in watchdog.late()
            assert watchdog.hung() == ""


async def test_a_loop_that_hangs_for_long_is_given_up(log: Log) -> None:
    """A loop of hooks that never comes round again is a reason to be restarted."""
    clock = FakeClock()
    go = threading.Event()
    async with own_loop("hooks") as hooks:
        watched = Watched("hooks", hooks.loop, hooks.thread.ident or 0)

        async def hang() -> None:
            assert go.wait(LONG_S)

        metrics = Metrics("a.example.com", clock)
        async with watching([watched], metrics, clock, hung_s=1.0) as watchdog:
            hanging = asyncio.ensure_future(hooks.call("attach", hang))
            await asyncio.to_thread(log.wait, "loop.stalled")
            assert watchdog.hung() == "the event loop 'hooks' has been blocked for 1 s"
            go.set()
            await hanging


class CountedRounds(Metrics):
    """Metrics that say when a loop has run."""

    def __init__(self) -> None:
        super().__init__("a.example.com", FakeClock())
        self.came = threading.Event()

    def note_lag(self, loop: Loop, lag_s: float) -> None:
        """A round is over."""
        super().note_lag(loop, lag_s)
        self.came.set()


async def test_the_thread_ends_with_the_block() -> None:
    """A loop that comes round is counted, and nobody watches it any more after the block."""
    metrics = CountedRounds()
    async with watching([this_loop()], metrics, FakeClock()):
        (watchdog,) = [each for each in threading.enumerate() if each.name == "watchdog"]
        assert await asyncio.to_thread(metrics.came.wait, LONG_S)
    assert not watchdog.is_alive()
    assert b'netclaim_loop_lag_seconds_count{driver="a.example.com",loop="main"}' in (
        metrics.exposition()
    )
