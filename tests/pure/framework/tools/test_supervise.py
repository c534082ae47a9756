"""Trying again has a rhythm, and knows what it does not help against."""

import asyncio
from itertools import islice

import pytest

from netclaim.errors import HostError, PeerError, RequestError
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.testing import FakeClock
from netclaim.framework.tools.clock import SystemClock
from netclaim.framework.tools.locks import KeyedLock
from netclaim.framework.tools.supervise import Backoff, Standing, retry, supervise
from tests.support.framework.parts import UNREACHABLE


class Flaky:
    """Raises what it was given, one after the other, then returns."""

    def __init__(self, clock: FakeClock, *errors: Exception, lasts_s: float = 0.0) -> None:
        self.clock = clock
        self.errors = list(errors)
        self.lasts_s = lasts_s

    async def __call__(self) -> None:
        """One attempt."""
        if self.lasts_s:
            await self.clock.sleep(self.lasts_s)
            self.clock.slept_s.pop()
        if self.errors:
            raise self.errors.pop(0)


def test_delays() -> None:
    """Delays double up to the longest, and are spread by up to half."""
    backoff = Backoff(first_s=1.0, max_s=5.0)
    assert list(islice(backoff.delays(FakeClock()), 5)) == [1.0, 2.0, 4.0, 5.0, 5.0]
    spread = list(islice(backoff.delays(SystemClock()), 50))
    assert all(1.0 <= delay_s <= 7.5 for delay_s in spread)
    assert len(set(spread)) > 40


async def test_retry() -> None:
    """A call is repeated until it succeeds."""
    clock = FakeClock()
    await retry(
        "node",
        Flaky(clock, UNREACHABLE, TimeoutError()),
        backoff=Backoff(),
        clock=clock,
        metrics=Metrics("d", clock),
    )
    assert clock.slept_s == [0.5, 1.0]


@pytest.mark.parametrize("error", [RequestError("no"), HostError("no"), KeyError("bug")])
async def test_retry_does_not_help(error: Exception) -> None:
    """What trying again does not help against goes to the caller at once."""
    clock = FakeClock()
    with pytest.raises(type(error)):
        await retry(
            "node", Flaky(clock, error), backoff=Backoff(), clock=clock, metrics=Metrics("d", clock)
        )
    assert clock.slept_s == []


async def test_supervise() -> None:
    """A part is started again after each failure, and ends when it returns."""
    clock = FakeClock()
    part = Flaky(clock, UNREACHABLE, HostError("not yet"), OSError("gone"))
    await supervise("x", part, backoff=Backoff(), clock=clock, metrics=Metrics("d", clock))
    assert clock.slept_s == [0.5, 1.0, 2.0]


async def test_healthy_part_starts_with_the_shortest_delay() -> None:
    """A part that ran for long before it failed is not made to wait for its earlier failures."""
    clock = FakeClock()
    part = Flaky(clock, *[PeerError("x")] * 3, lasts_s=60.0)
    await supervise("x", part, backoff=Backoff(), clock=clock, metrics=Metrics("d", clock))
    assert clock.slept_s == [0.5, 0.5, 0.5]


async def test_bug_ends_a_part() -> None:
    """A bug is not supervised away."""
    clock = FakeClock()
    with pytest.raises(ZeroDivisionError):
        await supervise(
            "x",
            Flaky(clock, ZeroDivisionError()),
            backoff=Backoff(),
            clock=clock,
            metrics=Metrics("d", clock),
        )


async def test_part_of_several_tasks() -> None:
    """A part that fails of what may pass in each of its tasks is started again; else it is not."""
    clock = FakeClock()
    passing = ExceptionGroup("x", [HostError("no disk"), ExceptionGroup("y", [UNREACHABLE])])
    await supervise(
        "x", Flaky(clock, passing), backoff=Backoff(), clock=clock, metrics=Metrics("d", clock)
    )
    assert clock.slept_s == [0.5]
    bug = ExceptionGroup("x", [HostError("no disk"), ZeroDivisionError()])
    with pytest.raises(ExceptionGroup):
        await supervise(
            "x", Flaky(clock, bug), backoff=Backoff(), clock=clock, metrics=Metrics("d", clock)
        )


async def test_what_a_caller_lets_pass() -> None:
    """A part is started again after other errors where its caller says so."""
    clock = FakeClock()
    part = Flaky(clock, RequestError("refused"))
    await supervise(
        "x",
        part,
        backoff=Backoff(),
        clock=clock,
        metrics=Metrics("d", clock),
        retried=(RequestError,),
    )
    assert clock.slept_s == [0.5]


async def test_standing() -> None:
    """What is wrong with a part is known until it has run for a while, or says that it works."""
    clock = FakeClock()
    standing = Standing(clock)
    assert standing.text() == ""
    standing.well("a")
    standing.started("a")
    standing.failed("a", "no disk")
    standing.failed("b", "no rights")
    assert standing.text() == "a: no disk; b: no rights"
    standing.started("a")
    await clock.sleep(4)
    assert standing.text() == "a: no disk; b: no rights"
    await clock.sleep(2)
    assert standing.text() == "b: no rights"
    standing.well("b")
    assert standing.text() == ""


async def test_supervised_part_has_a_standing() -> None:
    """The last failure is named while the part waits, and while it is to be seen that it runs."""
    clock = FakeClock()
    standing = Standing(clock)
    seen: list[str] = []

    async def part() -> None:
        seen.append(standing.text())
        if len(seen) < 3:
            raise HostError(f"failure {len(seen)}")
        await clock.sleep(6)
        seen.append(standing.text())

    await supervise(
        "x", part, backoff=Backoff(), clock=clock, metrics=Metrics("d", clock), standing=standing
    )
    assert seen == ["", "x: failure 1", "x: failure 2", ""]


async def test_keyed_lock() -> None:
    """One key is held by one at a time, another key is free, and nothing is kept afterwards."""
    locks = KeyedLock()
    order: list[str] = []
    release = asyncio.Event()

    async def first() -> None:
        async with locks.hold("a"):
            await release.wait()
            order.append("first")

    async def second() -> None:
        async with locks.hold("a"):
            order.append("second")

    async with asyncio.TaskGroup() as group:
        group.create_task(first())
        await asyncio.sleep(0)
        waiting = group.create_task(second())
        group.create_task(second()).cancel()
        await asyncio.sleep(0)
        async with locks.hold("b"):
            release.set()
        await waiting
    assert order == ["first", "second"]
    assert locks._locks == {}
